package steptime_test

import (
	"math"
	"testing"

	"goodput/fakeengine/steptime"
	"goodput/profiles"
)

// TestWorkByHand counts a step of Llama-3.1-8B on its own: 6.98e9 weights in the
// layers, 0.525e9 in the output head, 128 KiB of KV cache for each token.
func TestWorkByHand(t *testing.T) {
	gpu, err := profiles.LoadGPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	model, err := profiles.LoadModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	a, err := steptime.New(gpu, model, 1, 64)
	if err != nil {
		t.Fatal(err)
	}
	const layers, head = 32 * (4096*128*(2*32+2*8) + 3*4096*14336), 128256 * 4096
	var b steptime.Batch
	for range 4 {
		b.Add(999, 1)
	}
	b.Emit = 4
	w := a.Work(&b)
	for name, v := range map[string][2]float64{
		"matrices": {w.Matrices, 4 * 2 * layers},
		"rest":     {w.Rest, 4*2*head + 4*32*128*32*4000},
		"read":     {w.Read, 2*(layers+head) + 131072*4000},
		"FLOPs":    {w.FLOPs(), w.Matrices + w.Rest},
	} {
		if math.Abs(v[0]-v[1]) > 1e-9*v[1] {
			t.Errorf("%s: %v, want %v", name, v[0], v[1])
		}
	}
}
