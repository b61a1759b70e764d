package steptime

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"goodput/profiles"
)

// changed makes an engine of the complete profile with other figures.
func changed(t testing.TB, model string, change func(*Analytic)) *Analytic {
	t.Helper()
	g, m := load(t, "complete", model)
	a := &Analytic{gpu: g, model: m}
	change(a)
	out, err := New(a.gpu, a.model, 1, 64)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The host's share is paid in full, or as far as it exceeds the GPU's work.
func TestHostOverlap(t *testing.T) {
	for _, c := range []struct {
		name    string
		step    float64 // seconds of the host
		exposed bool
	}{
		{"short", 1e-3, false},
		{"long", 50e-3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			serial := changed(t, "llama-3.1-8b", func(a *Analytic) { a.gpu.Step.Value = c.step })
			overlapped := serial.Overlap()
			b := uniform(8, 500, 1)
			one, two := serial.Bill(&b), overlapped.Bill(&b)
			host := one.Host
			if want := ps(c.step) + 8*serial.seq; host != want {
				t.Errorf("in turn the host takes %d ps, want %d", host, want)
			}
			if (two.Host > 0) != c.exposed {
				t.Errorf("overlapped it takes %d ps", two.Host)
			}
			if c.exposed && two.Total()-two.KV != host {
				t.Errorf("a step of %d ps without KV, want the host's %d", two.Total()-two.KV, host)
			}
			if !c.exposed && two.Total() != one.Total()-host {
				t.Errorf("a step of %d ps, want %d", two.Total(), one.Total()-host)
			}
		})
	}
}

// Steps without prompts grow by PerContext for each token of context, overlapped or
// not; beside a prompt by the profile's factor more.
func TestStepsAreLinearInContext(t *testing.T) {
	a := changed(t, "llama-3.1-8b", func(a *Analytic) { a.gpu.MixedKV.Value, a.gpu.Step.Value = 3, 20e-3 })
	var _ Linear = a
	rapid.Check(t, func(rt *rapid.T) {
		m := a
		if rapid.Bool().Draw(rt, "overlap") {
			m = a.Overlap()
		}
		b := uniform(rapid.IntRange(1, 200).Draw(rt, "answers"), rapid.IntRange(1, 5000).Draw(rt, "context"), 1)
		more := int64(rapid.IntRange(1, 1_000_000).Draw(rt, "more"))
		grown := b
		grown.DecodeCtx += more
		if got := m.Step(&grown) - m.Step(&b); got != more*m.PerContext() {
			rt.Errorf("%d tokens of context cost %d ps, want %d", more, got, more*m.PerContext())
		}
		b.Add(0, 100)
		grown = b
		grown.DecodeCtx += more
		if got, plain := m.Step(&grown)-m.Step(&b), more*m.PerContext(); got < 3*plain-3*more || got > 3*plain+3*more {
			rt.Errorf("beside a prompt %d ps, want three times %d", got, plain)
		}
	})
}

// Routed experts have their own share of the rates, and a launch.
func TestExpertsCostMore(t *testing.T) {
	plain := changed(t, "mixtral-8x7b", func(*Analytic) {})
	slow := changed(t, "mixtral-8x7b", func(a *Analytic) { a.gpu.ExpertShare.Value, a.gpu.ExpertLaunch.Value = 0.5, 10e-6 })
	b := uniform(64, 100, 1)
	one, two := plain.Bill(&b), slow.Bill(&b)
	if two.Launch-one.Launch != 32*10_000_000 {
		t.Errorf("launches grow by %d ps, want 320 us", two.Launch-one.Launch)
	}
	// 45.1e9 of 46.4e9 weights of the layers are experts'.
	if r := float64(two.Matmul) / float64(one.Matmul); r < 1.9 || r > 2 {
		t.Errorf("matrix products take %.3f times as long, want almost twice", r)
	}
}

// TestExpertKernels: where kernels of experts were measured, reading and multiplying
// add up at their shares, for weights of 8 and 16 bits alone.
func TestExpertKernels(t *testing.T) {
	share := func(v float64) profiles.Coefficient { return profiles.Coefficient{Value: v} }
	for _, c := range []struct {
		name, quantization string
		want               float64 // beyond the step without kernels, in its products of experts
	}{
		// 8 experts are read by 64 tokens, of which each is multiplied with 2.
		{"16 bits", "", 1},
		{"4 bits", "awq", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := profiles.LoadModel("mixtral-8x7b")
			if err != nil {
				t.Fatal(err)
			}
			if m, err = m.Stored(c.quantization, ""); err != nil {
				t.Fatal(err)
			}
			g, err := profiles.LoadGPU("h100-sxm")
			if err != nil {
				t.Fatal(err)
			}
			matmul := func(k *profiles.ExpertKernels) float64 {
				g.ExpertKernels = k
				a, err := New(g, m, 2, 64)
				if err != nil {
					t.Fatal(err)
				}
				bill := a.Bill(&Batch{Tokens: 64, Seqs: 64, Emit: 64, DecodeCtx: 64})
				return float64(bill.Matmul) / 1e12
			}
			fast := matmul(&profiles.ExpertKernels{Bandwidth: share(1), Matmul: share(1)})
			slow := matmul(&profiles.ExpertKernels{Bandwidth: share(0.5), Matmul: share(0.25)})
			read := float64(m.Layers) * m.ExpertBytes(64) / 2 / g.HBM.Value
			multiply := float64(m.Layers) * 2 * float64(m.ActiveExpertWeights()) / 2 * 64 / g.Peak.Value
			if got, want := slow-fast, c.want*(read+3*multiply); math.Abs(got-want) > 1e-9 {
				t.Errorf("%v s more at half and a quarter of the rates, want %v", got, want)
			}
		})
	}
}
