package steptime

import "testing"

// stored makes an Analytic of a model stored otherwise.
func stored(t testing.TB, gpu, model string, tp int, quantization, kv string) *Analytic {
	t.Helper()
	g, m := load(t, gpu, model)
	m, err := m.Stored(quantization, kv)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(g, m, tp, 8192)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// uniform is a batch of so many rows of n new tokens behind the same number of
// old ones, all of which emit.
func uniform(rows, computed, n int) Batch {
	var b Batch
	for range rows {
		b.Add(computed, n)
	}
	b.Emit = rows
	return b
}

func TestBound(t *testing.T) {
	for _, c := range []struct {
		name string
		a    *Analytic
		b    Batch
		want Bound
	}{
		{"one answer", stored(t, "h100-sxm", "llama-3.1-8b", 1, "", ""), uniform(1, 100, 1), WeightBound},
		{"a prompt", stored(t, "h100-sxm", "llama-3.1-8b", 1, "", ""), uniform(1, 0, 4096), ComputeBound},
		{"many long answers", stored(t, "h100-sxm", "llama-3.1-8b", 1, "", ""), uniform(100, 8000, 1), KVBound},
		{"a small model on many GPUs", stored(t, "h100-sxm", "llama-3.1-8b", 8, "fp8", ""), uniform(1, 100, 1), LaunchBound},
		{"a prompt over a slow link", stored(t, "mi300x", "qwen3-30b-a3b", 8, "", ""), uniform(1, 0, 8192), LinkBound},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ps := c.a.Bound(&c.b)
			if got != c.want || ps > c.a.Step(&c.b) || 5*ps < c.a.Step(&c.b) {
				t.Errorf("%s with %d ps, want %s with a fifth of the step or more: %+v", got, ps, c.want, c.a.Bill(&c.b))
			}
		})
	}
}

// What storage, degree and experts change in one part of the bill, in
// milliseconds written out by hand.
func TestBillOfOtherShapes(t *testing.T) {
	matmul := func(b Bill) int64 { return b.Matmul }
	kv := func(b Bill) int64 { return b.KV }
	attention := func(b Bill) int64 { return b.Attention }
	for _, c := range []struct {
		name   string
		a      *Analytic
		b      Batch
		part   func(Bill) int64
		wantMS float64
	}{
		// 6.98e9 weights in FP8: 1 byte at 0.78 * 3.35e12 B/s.
		{"FP8 weights", stored(t, "complete", "llama-3.1-8b", 1, "fp8", ""), uniform(1, 0, 1), matmul, 2.671},
		// 8192 tokens: 2*6.98e9*8192 / (0.62*1978.9e12).
		{"FP8 arithmetic", stored(t, "complete", "llama-3.1-8b", 1, "fp8", ""), uniform(1, 0, 8192), matmul, 93.2},
		// A GPU without FP8 multiplies FP8 weights at 16 bits: 2*6.98e9*8192 / (0.70*989.5e12).
		{"FP8 weights without FP8 arithmetic", withoutFP8(t), uniform(1, 0, 8192), matmul, 165.1},
		// 6.98e9 * 0.5195 bytes at 0.90 * 3.35e12 B/s.
		{"AWQ weights", stored(t, "complete", "llama-3.1-8b", 1, "awq", ""), uniform(1, 0, 1), matmul, 1.203},
		{"AWQ arithmetic is bf16", stored(t, "complete", "llama-3.1-8b", 1, "awq", ""), uniform(1, 0, 8192), matmul, 165.1},
		// A quarter of 141 GB of layers less head and embedding.
		{"TP 4", stored(t, "complete", "llama-3.1-70b", 4, "", ""), uniform(1, 0, 1), matmul, 11.35},
		// One token reads 2 of 8 experts, 12.8e9 weights in all without head and
		// embedding; 64 tokens read all, 46.4e9.
		{"Mixtral, one token", stored(t, "complete", "mixtral-8x7b", 2, "", ""), uniform(1, 0, 1), matmul, 4.19},
		{"Mixtral, 64 tokens", stored(t, "complete", "mixtral-8x7b", 2, "", ""), uniform(64, 0, 1), matmul, 15.41},
		// 100 * 1000 tokens of 131072 bytes at 0.70 * 3.35e12 B/s, and half of it.
		{"bf16 KV", stored(t, "complete", "llama-3.1-8b", 1, "", ""), uniform(100, 999, 1), kv, 5.589},
		{"FP8 KV", stored(t, "complete", "llama-3.1-8b", 1, "", "fp8"), uniform(100, 999, 1), kv, 2.795},
		// 4 KV heads over 8 ranks: each holds one.
		{"KV heads copied", stored(t, "complete", "qwen3-30b-a3b", 8, "", ""), uniform(100, 999, 1), kv, 1.048},
		// 18 layers of 2048 bytes see 1000 tokens, 18 see 128.
		{"sliding windows", stored(t, "complete", "gpt-oss-120b", 1, "", ""), uniform(100, 999, 1), kv, 1.773},
		// 18 layers of 4*64*64 operations per pair see 1000*1000/2 pairs, 18 see
		// 1000*128, at 0.60 * 989.5e12.
		{"sliding windows of a prompt", stored(t, "complete", "gpt-oss-120b", 1, "", ""), uniform(1, 0, 1000), attention, 0.3120},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := float64(c.part(c.a.Bill(&c.b))) / 1e9
			if got < c.wantMS*0.998 || got > c.wantMS*1.002 {
				t.Errorf("%.3f ms, want %.3f", got, c.wantMS)
			}
		})
	}
}

// The volume of an all-reduce grows with 2(tp-1)/tp, and all layers have two.
func TestAllReduce(t *testing.T) {
	one := stored(t, "complete", "llama-3.1-8b", 1, "", "")
	b := uniform(1, 0, 1000)
	if bill := one.Bill(&b); bill.AllReduce != 0 {
		t.Errorf("one GPU pays %d ps", bill.AllReduce)
	}
	for _, c := range []struct {
		tp     int
		wantMS float64
	}{
		// 64 * (4 us + 2(tp-1)/tp * 1000*4096*2 bytes / bus)
		{2, 2.169},
		{4, 2.737},
		{8, 2.770},
	} {
		a := stored(t, "complete", "llama-3.1-8b", c.tp, "", "")
		bill := a.Bill(&b)
		if got := float64(bill.AllReduce) / 1e9; got < c.wantMS*0.999 || got > c.wantMS*1.001 {
			t.Errorf("tp %d: %.3f ms, want %.3f", c.tp, got, c.wantMS)
		}
	}
}

func TestFloorDoesNotAllocate(t *testing.T) {
	a := stored(t, "complete", "mixtral-8x7b", 2, "fp8", "fp8")
	b := uniform(64, 1000, 1)
	if n := testing.AllocsPerRun(100, func() { a.Floor(&b); a.Step(&b); a.Bound(&b) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// withoutFP8 is an engine of FP8 weights on a GPU that cannot multiply them.
func withoutFP8(t testing.TB) *Analytic {
	t.Helper()
	g, m := load(t, "complete", "llama-3.1-8b")
	g.FP8 = nil
	m, err := m.Stored("fp8", "")
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(g, m, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
