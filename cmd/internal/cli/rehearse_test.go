package cli

import (
	"math"
	"testing"

	"goodput/loadgen/plan"
)

// TestRehearsal: a cache that has room for all finds what an endless one does, which is
// what the sessions plan; one that has not finds less, and more the larger it is.
func TestRehearsal(t *testing.T) {
	p := plan.Default()
	p.DatasetName, p.AgentPreset = "agent", "coding-128k"
	p.SessionsRate, p.NumSessions = 0.1, 300
	_, load, p, err := openLoad(p)
	if err != nil {
		t.Fatal(err)
	}
	e := preview(load.arriving(), p.EngineBlockSize, p.LiveHistory(), paceOf(&p))
	planned := float64(e.hit) / float64(e.in)
	last := 0.0
	for _, blocks := range []int{1000, 50_000, 200_000, 10_000_000} {
		r, err := rehearse(&p, load, blocks)
		if err != nil {
			t.Fatal(err)
		}
		if r.unknown || r.sessions != 300 || r.tokens != e.in {
			t.Fatalf("%d blocks: %+v, want 300 sessions and %d tokens", blocks, r, e.in)
		}
		if endless := float64(r.endless) / float64(r.tokens); math.Abs(endless-planned) > 0.002 {
			t.Errorf("%d blocks: an endless cache finds %.4f, the sessions plan %.4f", blocks, endless, planned)
		}
		found := float64(r.found) / float64(r.tokens)
		if found <= last || r.found > r.endless {
			t.Errorf("%d blocks: found %.4f after %.4f of fewer, endless %d of %d", blocks, found, last, r.endless, r.tokens)
		}
		if last = found; blocks == 10_000_000 && r.found != r.endless {
			t.Errorf("with room for all, found %d, want %d", r.found, r.endless)
		}
	}
}
