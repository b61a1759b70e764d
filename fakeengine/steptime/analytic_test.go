package steptime

import (
	"testing"

	"pgregory.net/rapid"

	"goodput/profiles"
)

func load(t testing.TB, gpu, model string) (profiles.GPU, profiles.Model) {
	t.Helper()
	g, err := profiles.LoadGPU(gpu)
	if err != nil {
		t.Fatal(err)
	}
	m, err := profiles.LoadModel(model)
	if err != nil {
		t.Fatal(err)
	}
	return g, m
}

func analytic(t testing.TB, tp, maxTokens int) *Analytic {
	t.Helper()
	g, m := load(t, "h100-sxm", "llama-3.1-8b")
	a, err := New(g, m, tp, maxTokens)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// drawBatch makes a batch that rows could add up to.
func drawBatch(t *rapid.T) Batch {
	var b Batch
	for range rapid.IntRange(0, 6).Draw(t, "prefills") {
		b.Add(rapid.IntRange(0, 100_000).Draw(t, "history"), rapid.IntRange(1, 4000).Draw(t, "new"))
	}
	decodes := rapid.IntRange(0, 512).Draw(t, "decodes")
	if b.Tokens == 0 {
		decodes++
	}
	context := rapid.IntRange(0, 20_000).Draw(t, "context")
	for range decodes {
		b.Add(context, 1)
	}
	b.Emit = rapid.IntRange(0, b.Seqs).Draw(t, "emit")
	return b
}

func TestNewRefuses(t *testing.T) {
	g, m := load(t, "h100-sxm", "llama-3.1-8b")
	for _, c := range []struct {
		name          string
		tp, maxTokens int
	}{
		{"no rank", 0, 1},
		{"heads not divisible", 3, 1},
		{"no all-reduce figure", 16, 1},
		{"empty table", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := New(g, m, c.tp, c.maxTokens); err == nil {
				t.Error("no error")
			}
		})
	}
}

// Invariant 10: every step of every profile takes at least as long as its
// arithmetic at the peak rate, and as its memory traffic at the full bandwidth.
func TestInvariant10NoStepBeatsPhysics(t *testing.T) {
	for _, gpu := range profiles.GPUs() {
		for _, model := range profiles.Models() {
			g, m := load(t, gpu, model)
			degrees := []int{1}
			for _, b := range g.Bus {
				degrees = append(degrees, b.TP)
			}
			for _, tp := range degrees {
				if m.CheckTP(tp) != nil {
					continue
				}
				a, err := New(g, m, tp, 8192)
				if err != nil {
					t.Fatal(err)
				}
				rapid.Check(t, func(rt *rapid.T) {
					b := drawBatch(rt)
					got := float64(a.Step(&b)) / 1e12
					if floor := arithmetic(&m, &b) / float64(tp) / g.Peak.Value; got < floor {
						rt.Errorf("%s %s tp %d: %.9f s, the arithmetic alone takes %.9f s: %+v", gpu, model, tp, got, floor, b)
					}
					if floor := traffic(&m, &b, tp) / g.HBM.Value; got < floor {
						rt.Errorf("%s %s tp %d: %.9f s, reading memory alone takes %.9f s: %+v", gpu, model, tp, got, floor, b)
					}
				})
			}
		}
	}
}

// arithmetic is the FLOPs of b on all ranks: a multiply and an add for each
// weight and token, four operations for each head dimension and causal pair.
func arithmetic(m *profiles.Model, b *Batch) float64 {
	linear := 2 * float64(m.Layers) * float64(m.LayerWeights()) * float64(b.Tokens)
	head := 2 * float64(m.HeadWeights()) * float64(b.Emit)
	pairs := float64(b.PrefillPairs2)/2 + float64(b.DecodeCtx)
	return linear + head + 4*float64(m.Layers*m.Heads*m.HeadDim)*pairs
}

// traffic is the bytes that one rank must read: its weights and the cached
// context.
func traffic(m *profiles.Model, b *Batch, tp int) float64 {
	weights := int64(m.Layers) * m.LayerWeights()
	if b.Emit > 0 {
		weights += m.HeadWeights()
	}
	return float64(weights*int64(m.WeightBytes))/float64(tp) +
		float64(m.KVBytesPerToken(tp)*(b.DecodeCtx+b.PrefillHist))
}

func TestStepGrowsWithEachField(t *testing.T) {
	a := analytic(t, 2, 4096) // some batches are beyond the table
	rapid.Check(t, func(rt *rapid.T) {
		b := drawBatch(rt)
		base := a.Step(&b)
		if base <= 0 {
			rt.Fatalf("%d ps for %+v", base, b)
		}
		for _, f := range []struct {
			name string
			more func(*Batch)
		}{
			{"Tokens", func(b *Batch) { b.Tokens += rapid.IntRange(1, 5000).Draw(rt, "tokens") }},
			{"Seqs", func(b *Batch) { b.Seqs++ }},
			{"Emit", func(b *Batch) { b.Emit += rapid.IntRange(1, 500).Draw(rt, "emit more") }},
			{"DecodeCtx", func(b *Batch) { b.DecodeCtx++ }},
			{"PrefillHist", func(b *Batch) { b.PrefillHist++ }},
			{"PrefillPairs2", func(b *Batch) { b.PrefillPairs2 += 2 }},
		} {
			more := b
			f.more(&more)
			if got := a.Step(&more); got < base {
				rt.Errorf("%s: %d ps after %d ps for %+v", f.name, got, base, more)
			}
		}
	})
}

func TestBillAddsUpToTheStep(t *testing.T) {
	for _, tp := range []int{1, 4} {
		a := analytic(t, tp, 2048)
		rapid.Check(t, func(rt *rapid.T) {
			b := drawBatch(rt)
			bill := a.Bill(&b)
			if step := a.Step(&b); bill.Total() != step {
				rt.Errorf("bill of %d ps for a step of %d ps: %+v", bill.Total(), step, bill)
			}
		})
	}
}

// The form is written out once more, in floating point, for one decode and one
// prefill step.
func TestStepFollowsTheForm(t *testing.T) {
	a := analytic(t, 1, 8192)
	for _, c := range []struct {
		name                      string
		rows, history, new, emits int
		wantMS, tolerance         float64
	}{
		// matmul 4.66 + 0.16, KV 64*1025*0.0559e-3, elementwise 0.17, head 0.35, host 1.5 + 0.32.
		{"64 decodes at 1,024", 64, 1024, 1, 64, 10.83, 0.02},
		// matmul 4.63 + 0.16, elementwise 0.07, head 0.35, host 1.505.
		{"one decode", 1, 127, 1, 1, 6.72, 0.02},
		// matmul 2*6.98e9*8192/(0.7*989.5e12) = 165.1 + 0.16, attention 32*4*4096*8192^2/2/(0.6*989.5e12) = 29.6,
		// elementwise 0.06 + 13.96, head 0.35, host 1.505.
		{"a prompt of 8,192", 1, 0, 8192, 1, 210.7, 0.2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b Batch
			for range c.rows {
				b.Add(c.history, c.new)
			}
			b.Emit = c.emits
			got := float64(a.Step(&b)) / 1e9
			if got < c.wantMS-c.tolerance || got > c.wantMS+c.tolerance {
				t.Errorf("%.3f ms, want %.3f: %+v", got, c.wantMS, a.Bill(&b))
			}
		})
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	a := analytic(t, 1, 8192)
	b := Batch{Tokens: 300, Seqs: 64, Emit: 64, DecodeCtx: 64_000, PrefillPairs2: 50_000}
	if n := testing.AllocsPerRun(100, func() { a.Step(&b) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkStep(b *testing.B) {
	a := analytic(b, 1, 8192)
	batch := Batch{Tokens: 300, Seqs: 64, Emit: 64, DecodeCtx: 64_000, PrefillPairs2: 50_000}
	b.ReportAllocs()
	for b.Loop() {
		a.Step(&batch)
	}
}
