package steptime

import (
	"fmt"
	"math"
	"os"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"goodput/profiles"
)

// load reads profiles. The GPU "complete" is one whose figures no fit changes, so
// that tests can write out what follows from them.
func load(t testing.TB, gpu, model string) (profiles.GPU, profiles.Model) {
	t.Helper()
	g, err := profiles.LoadGPU(gpu)
	if gpu == "complete" {
		text, readErr := os.ReadFile("../../profiles/testdata/complete.yaml")
		if readErr != nil {
			t.Fatal(readErr)
		}
		g, err = profiles.ParseGPU(gpu, text)
	}
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
	g, m := load(t, "complete", "llama-3.1-8b")
	a, err := New(g, m, tp, maxTokens)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// part is one sequence of a batch: tokens that were there, and new ones.
type part struct{ computed, n int }

// drawRows makes rows, and the batch that they add up to.
func drawRows(t *rapid.T) ([]part, Batch) {
	var rows []part
	for range rapid.IntRange(0, 6).Draw(t, "prefills") {
		rows = append(rows, part{rapid.IntRange(0, 100_000).Draw(t, "history"), rapid.IntRange(1, 4000).Draw(t, "new")})
	}
	decodes := rapid.IntRange(0, 512).Draw(t, "decodes")
	if len(rows) == 0 {
		decodes++
	}
	context := rapid.IntRange(0, 20_000).Draw(t, "context")
	for range decodes {
		rows = append(rows, part{context, 1})
	}
	var b Batch
	for _, r := range rows {
		b.Add(r.computed, r.n)
	}
	b.Emit = rapid.IntRange(0, b.Seqs).Draw(t, "emit")
	return rows, b
}

func drawBatch(t *rapid.T) Batch {
	_, b := drawRows(t)
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

// engine is one combination of profiles.
type engine struct {
	gpu   profiles.GPU
	model profiles.Model
	tp    int
	step  *Analytic
}

// everyEngine makes all combinations of GPU, model, degree, quantization and KV
// type that the profiles allow, whether the weights fit or not. The table is
// short, so that both ways through Step are taken.
func everyEngine(t *testing.T) []engine {
	var out []engine
	var models []profiles.Model
	for _, name := range profiles.Models() {
		_, m := load(t, "h100-sxm", name)
		models = append(models, m)
	}
	for _, gpu := range profiles.GPUs() {
		g, _ := load(t, gpu, "llama-3.1-8b")
		for i := range models {
			m := models[i]
			for _, q := range profiles.Quantizations() {
				for _, kv := range profiles.KVCacheDTypes() {
					stored, err := m.Stored(string(q), string(kv))
					if err != nil {
						continue // MXFP4 without experts
					}
					for _, tp := range []int{1, 2, 4, 8} {
						if stored.CheckTP(tp) != nil {
							continue
						}
						a, err := New(g, stored, tp, 40)
						if err != nil {
							t.Fatal(err)
						}
						out = append(out, engine{g, stored, tp, a})
					}
				}
			}
		}
	}
	return out
}

// Invariant 10: every step of every profile takes at least as long as its
// arithmetic at the peak rate, and as its memory traffic at the full bandwidth.
func TestInvariant10NoStepBeatsPhysics(t *testing.T) {
	engines := everyEngine(t)
	if len(engines) < 1000 {
		t.Fatalf("only %d combinations of profiles", len(engines))
	}
	rapid.Check(t, func(rt *rapid.T) {
		rows, b := drawRows(rt)
		// One in so many, another start each time: the checks together see all.
		for i := rapid.IntRange(0, 49).Draw(rt, "engine"); i < len(engines); i += 50 {
			e := &engines[i]
			got := e.step.Step(&b)
			name := func() string {
				return fmt.Sprintf("%s %s tp %d %s weights %s KV: %+v", e.gpu.Name, e.model.Name, e.tp, e.model.Quantization, e.model.KVCacheDType, b)
			}
			if floor := e.arithmetic(rows, b.Emit); float64(got) < floor*1e12 {
				rt.Fatalf("%d ps, the arithmetic alone takes %.9f s: %s", got, floor, name())
			}
			floor := e.traffic(rows, b.Emit) / e.gpu.HBM.Value
			if float64(got) < floor*1e12 {
				rt.Fatalf("%d ps, reading memory alone takes %.9f s: %s", got, floor, name())
			}
			// What jitter respects is not more than a step, and little less than
			// the larger of the two.
			best := max(floor, e.arithmetic(rows, b.Emit))
			if f := e.step.Floor(&b); f > got || float64(f) > best*1e12*1.000001 {
				rt.Fatalf("a floor of %d ps, want at most %.0f: %s", f, best*1e12, name())
			} else if e.model.SlidingLayers == 0 && float64(f) < best*1e12*0.999 {
				rt.Fatalf("a floor of %d ps, want %.0f: %s", f, best*1e12, name())
			}
		}
	})
}

// arithmetic is the least time in seconds for the FLOPs of one rank: a multiply
// and an add for each weight that a token meets, in FP8 only if both sides can;
// four operations for each head dimension and causal pair within the window.
func (e *engine) arithmetic(rows []part, emit int) float64 {
	m := &e.model
	attn := m.Hidden * m.HeadDim * 2 * (m.Heads + m.KVHeads)
	active := float64(attn + e.matrices()*m.Hidden*(m.Intermediate+m.ExpertsPerToken*m.ExpertIntermediate) + m.Hidden*m.Experts)
	peak := e.gpu.Peak.Value
	layerPeak := peak
	if m.Quantization == profiles.FP8 && e.gpu.FP8 != nil {
		layerPeak = e.gpu.FP8.Peak.Value
	}
	var tokens, pairs float64 // pairs summed over layers
	for _, r := range rows {
		tokens += float64(r.n)
		n, s := float64(r.n), float64(r.computed)
		pairs += float64(m.Layers-m.SlidingLayers) * (n*s + n*n/2)
		if r.n == 1 {
			pairs += float64(m.Layers-m.SlidingLayers) / 2 // the token itself
		}
	}
	seconds := 2 * float64(m.Layers) * active * tokens / layerPeak
	seconds += 2 * float64(m.Vocab) * float64(m.Hidden) * float64(emit) / peak
	seconds += 4 * float64(m.Heads*m.HeadDim) * pairs / peak
	return seconds / float64(e.tp)
}

// matrices is the number of them in an MLP.
func (e *engine) matrices() int {
	if e.model.GatedMLP {
		return 3
	}
	return 2
}

// traffic is the bytes that one rank must read: its weights, as stored, and the
// cached context that the rows attend to.
func (e *engine) traffic(rows []part, emit int) float64 {
	m := &e.model
	bits := map[profiles.Quantization]float64{
		profiles.Unquantized: 16, profiles.FP8: 8, profiles.AWQ: 4 + 20/128.0, profiles.GPTQ: 4 + 20/128.0, profiles.MXFP4: 4 + 8/32.0,
	}[m.Quantization]
	sharedBits := bits
	if m.Quantization == profiles.MXFP4 {
		sharedBits = 16
	}
	attn := m.Hidden * m.HeadDim * 2 * (m.Heads + m.KVHeads)
	tokens, missed := 0, 1.0
	for _, r := range rows {
		tokens += r.n
	}
	experts := 0.0
	if m.Experts > 0 {
		missed = math.Pow(float64(m.Experts-m.ExpertsPerToken)/float64(m.Experts), float64(tokens))
		experts = float64(m.Experts) * (1 - missed)
	}
	attnBits := sharedBits
	if m.PlainAttention {
		attnBits = 16
	}
	layer := float64(attn)*attnBits/8 + float64(e.matrices()*m.Hidden*m.Intermediate)*sharedBits/8 +
		experts*float64(e.matrices()*m.Hidden*m.ExpertIntermediate)*bits/8
	if m.Experts > 0 {
		layer += float64(m.Hidden*m.Experts) * 2
	}
	weights := float64(m.Layers) * layer
	if emit > 0 {
		weights += float64(m.Vocab*m.Hidden) * 2
	}
	kvHeads := max(1, m.KVHeads/e.tp)
	element := 2.0
	if m.KVCacheDType == profiles.KVFP8 {
		element = 1
	}
	context := 0.0 // tokens, summed over layers
	for _, r := range rows {
		seen := r.computed
		if r.n == 1 {
			seen++
		}
		context += float64((m.Layers-m.SlidingLayers)*seen + m.SlidingLayers*min(seen, m.SlidingWindow))
	}
	return weights/float64(e.tp) + 2*float64(kvHeads*m.HeadDim)*element*context
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
	engines := everyEngine(t)
	rapid.Check(t, func(rt *rapid.T) {
		b := drawBatch(rt)
		for i := rapid.IntRange(0, 49).Draw(rt, "engine"); i < len(engines); i += 50 {
			e := &engines[i]
			bill := e.step.Bill(&b)
			if step := e.step.Step(&b); bill.Total() != step {
				rt.Fatalf("%s %s: a bill of %d ps for a step of %d ps: %+v", e.gpu.Name, e.model.Name, bill.Total(), step, bill)
			}
		}
	})
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

// Engines in several goroutines fill in the same tables.
func TestStepsFillTheTablesConcurrently(t *testing.T) {
	a := analytic(t, 1, 512)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := 1; n <= 512; n++ {
				b := Batch{Tokens: n, Seqs: n, Emit: n, DecodeCtx: int64(100 * n)}
				bill := a.Bill(&b)
				for range 2 { // before and after it is remembered
					if got := a.Step(&b); got != bill.Total() {
						t.Errorf("%d tokens: %d ps, want the sum of the bill, %d", n, got, bill.Total())
					}
				}
			}
		})
	}
	all.Wait()
}

// A short run needs few sizes of steps, so none is computed before it occurs.
func TestNewComputesNoStep(t *testing.T) {
	a := analytic(t, 1, 8192)
	for n := range a.tokens {
		if a.tokens[n].Load() != 0 || a.head[n].Load() != 0 {
			t.Fatalf("steps of %d tokens are computed already", n)
		}
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
