package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/spec"
)

func speculation(t testing.TB, k int, a spec.Acceptance) Speculation {
	t.Helper()
	m, err := spec.New(a, k, 1)
	if err != nil {
		t.Fatal(err)
	}
	return Speculation{Model: m}
}

// exactly has the first n of k drafts accepted in each step.
func exactly(t testing.TB, n, k int) Speculation {
	t.Helper()
	a := spec.Acceptance{Proposes: 1}
	for i := range k {
		rate := 0.0
		if i < n {
			rate = 1
		}
		a.Rates = append(a.Rates, rate)
	}
	return speculation(t, k, a)
}

func drawSpeculation(t *rapid.T, cfg *Config) Speculation {
	k := rapid.IntRange(1, 4).Draw(t, "drafts")
	a := spec.Acceptance{Rates: []float64{0.6, 0.8}, Proposes: 1}
	a.Spread = rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "spread")
	if !cfg.AsyncScheduling {
		a.Proposes = rapid.SampledFrom([]float64{1, 0.5}).Draw(t, "proposes")
	}
	m, err := spec.New(a, k, rapid.Uint64Range(0, 3).Draw(t, "luck"))
	if err != nil {
		t.Fatal(err)
	}
	return Speculation{
		Model:              m,
		Lookahead:          rapid.SampledFrom([]int{0, k}).Draw(t, "lookahead"),
		AdmissionLookahead: rapid.Bool().Draw(t, "admission lookahead"),
		DropLastHit:        rapid.Bool().Draw(t, "drop last hit"),
	}
}

// burst is the most tokens that a step can give of one sequence.
func (e *Engine) burst() int { return 1 + e.cfg.Speculation.Drafts() }

func checkSpeculated(rt *rapid.T, got Speculated, drafts, drafted, accepted int64) {
	sum, last := int64(0), got.Drafts
	for i, n := range got.AcceptedAt {
		if n > last {
			rt.Fatalf("draft %d was accepted %d times, the one before it %d times", i, n, last)
		}
		last = n
		sum += n
	}
	if got.Drafts != drafts || got.DraftTokens != drafted || got.Accepted != accepted || sum != accepted {
		rt.Fatalf("account %+v differs from the sequences' %d verifications of %d drafts, %d accepted", got, drafts, drafted, accepted)
	}
}

func TestR27StepsVerifyDrafts(t *testing.T) {
	for _, c := range []struct {
		name     string
		async    bool
		accepted int
		steps    []string
		outputs  []string
	}{
		{
			"none accepted", false, 0,
			[]string{"1:4", "1:8", "1:9", "1:10"},
			[]string{"1 token 1 at 1", "1 token 2 at 2", "1 token 3 at 3", "1 token 4 at 4", "1 length at 4"},
		},
		{
			"one accepted", false, 1,
			[]string{"1:4", "1:8", "1:10"},
			[]string{"1 token 1 at 1", "1 token 2 at 2", "1 token 3 at 2", "1 token 4 at 3", "1 length at 3"},
		},
		{
			"all accepted", false, 3,
			[]string{"1:4", "1:8"},
			[]string{"1 token 1 at 1", "1 token 2 at 2", "1 token 3 at 2", "1 token 4 at 2", "1 length at 2"},
		},
		{
			// The third step is scheduled when the first ends, as if all drafts of the
			// second had been accepted; one of them was.
			"one accepted, ahead", true, 1,
			[]string{"1:4", "1:8", "1:12"},
			[]string{"1 token 1 at 1", "1 token 2 at 2", "1 token 3 at 2", "1 token 4 at 3", "1 length at 3"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := small()
			cfg.AsyncScheduling, cfg.Speculation = c.async, exactly(t, c.accepted, 3)
			l := newLab(t, cfg)
			l.submit(0, 4, 4)
			l.wantSteps(c.steps...)
			if diff := cmp.Diff(c.outputs, l.outputs); diff != "" {
				t.Errorf("outputs (-want +got):\n%s", diff)
			}
		})
	}
}
