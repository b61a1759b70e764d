package steptime_test

import (
	"testing"

	"pgregory.net/rapid"

	"goodput/fakeengine/steptime"
	"goodput/profiles"
)

// drafted is Llama 3.1 8B on one H100 with a draft layer.
func drafted(t testing.TB, k int) (target, drafter *steptime.Analytic, both *steptime.Drafted) {
	t.Helper()
	gpu, err := profiles.LoadGPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	model, err := profiles.LoadModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	if target, err = steptime.New(gpu, model, 1, 8192); err != nil {
		t.Fatal(err)
	}
	if drafter, err = steptime.New(steptime.DraftGPU(gpu), steptime.DraftLayer(model), 1, 8192); err != nil {
		t.Fatal(err)
	}
	if both, err = steptime.NewDrafted(target, drafter, k); err != nil {
		t.Fatal(err)
	}
	return target, drafter, both
}

func TestDraftedAddsAPassForEachDraft(t *testing.T) {
	target, drafter, one := drafted(t, 1)
	_, _, three := drafted(t, 3)
	// Four sequences of 1,000 tokens verify three drafts each.
	var b, next steptime.Batch
	for range 4 {
		b.Add(1000, 4)
		b.Emit, b.Drafts = b.Emit+4, b.Drafts+3
		next.Add(1003, 1)
		next.Emit++
	}
	first := b
	first.Emit, first.Drafts = 4, 0
	if got, want := one.Step(&b), target.Step(&b)+drafter.Step(&first); got != want {
		t.Errorf("one draft: %d ps, want %d", got, want)
	}
	if got, want := three.Step(&b)-one.Step(&b), 2*drafter.Step(&next); got != want {
		t.Errorf("two drafts more: %d ps, want %d", got, want)
	}
	// A layer of 32 and the head, which is as large as two of them, without a host.
	if share := float64(drafter.Step(&next)) / float64(target.Step(&b)); share < 0.04 || share > 0.2 {
		t.Errorf("a draft takes %.3f of a step, want roughly a tenth", share)
	}
}

// A chunk of a prompt that gives no token has no draft behind it, but the drafter
// computes its KV.
func TestDraftedPrompts(t *testing.T) {
	target, drafter, three := drafted(t, 3)
	var b steptime.Batch
	b.Add(0, 2048)
	if got, want := three.Step(&b), target.Step(&b)+drafter.Step(&b); got != want {
		t.Errorf("%d ps, want %d", got, want)
	}
}

// Invariant 10: drafting can only add to a step, and what it adds obeys physics too.
func TestDraftedIsBounded(t *testing.T) {
	target, _, three := drafted(t, 3)
	rapid.Check(t, func(rt *rapid.T) {
		var b steptime.Batch
		for range rapid.IntRange(1, 40).Draw(rt, "rows") {
			n := rapid.SampledFrom([]int{1, 1, 4, 4, 4, 200}).Draw(rt, "tokens")
			b.Add(rapid.IntRange(0, 20_000).Draw(rt, "context"), n)
			switch n {
			case 1:
				b.Emit++
			case 4:
				b.Emit, b.Drafts = b.Emit+4, b.Drafts+3
			}
		}
		if three.Step(&b) < three.Floor(&b) {
			rt.Fatalf("%d ps, at least %d", three.Step(&b), three.Floor(&b))
		}
		if three.Drafting(&b) <= 0 || three.Floor(&b) < target.Floor(&b) {
			rt.Fatalf("drafting takes %d ps, floor %d, the target's %d", three.Drafting(&b), three.Floor(&b), target.Floor(&b))
		}
	})
}

func TestDraftedRefusesNoDrafts(t *testing.T) {
	target, drafter, _ := drafted(t, 1)
	if _, err := steptime.NewDrafted(target, drafter, 0); err == nil {
		t.Error("a drafter without drafts was accepted")
	}
}
