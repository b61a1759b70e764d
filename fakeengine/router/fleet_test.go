package router_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

// ended is the end of a request that had no answer.
var ended = router.End{FirstToken: clock.Never}

// emptiest takes the replica with the least KV in use, and writes down what it
// is told.
type emptiest struct {
	log []string
}

var (
	_ router.Policy  = (*emptiest)(nil)
	_ router.Reader  = (*emptiest)(nil)
	_ router.Learner = (*emptiest)(nil)
)

func (p *emptiest) Reads() router.Signals { return router.EngineLoad }

func (p *emptiest) Pick(_ *router.Request, up []router.Load) int {
	best := 0
	for i, l := range up {
		if l.KVUsed < up[best].KVUsed {
			best = i
		}
	}
	p.log = append(p.log, fmt.Sprintf("picked %d with %d out", best, up[best].Outstanding))
	return best
}

func (p *emptiest) Placed(r *router.Request, i int) {
	p.log = append(p.log, fmt.Sprintf("placed %d on %d", r.Session, i))
}

func (p *emptiest) Done(r *router.Request, i int, _ *router.End) {
	p.log = append(p.log, fmt.Sprintf("done %d on %d", r.Session, i))
}

func (p *emptiest) String() string { return "emptiest" }

func TestFleetObservesAndTeaches(t *testing.T) {
	kv := []float64{.9, .5, .2}
	p := &emptiest{}
	f, err := router.NewFleet(p, 3, func(i int, _ *router.Request, l *router.Load) {
		if l.AsOf != clock.Never && l.AsOf != clock.Time(7) {
			t.Errorf("replica %d was seen at %v before", i, l.AsOf)
		}
		l.KVUsed, l.AsOf = kv[i], clock.Time(7)
	})
	if err != nil {
		t.Fatal(err)
	}
	a, b := &router.Request{Session: 1, InTokens: 10}, &router.Request{Session: 2, InTokens: 5}
	i := f.Pick(a)
	j := f.Pick(b)
	if i != 2 || j != 2 {
		t.Errorf("picked %d and %d, want 2", i, j)
	}
	want := router.Load{ID: 2, Since: 2, Outstanding: 2, Tokens: 15, KVUsed: .2, AsOf: 7}
	if diff := cmp.Diff(want, f.Load(2)); diff != "" {
		t.Error(diff)
	}
	kv[2] = 1
	if i := f.Pick(a); i != 1 {
		t.Errorf("picked %d, want 1", i)
	}
	f.Done(a, i, ended)
	f.Done(b, j, ended)
	f.Done(a, 1, ended)
	wantLog := []string{
		"picked 2 with 0 out", "placed 1 on 2", "picked 2 with 1 out", "placed 2 on 2",
		"picked 1 with 0 out", "placed 1 on 1", "done 1 on 2", "done 2 on 2", "done 1 on 1",
	}
	if diff := cmp.Diff(wantLog, p.log); diff != "" {
		t.Error(diff)
	}
}

// TestFleetObservesOnDemand: a rule that reads nothing costs no observation.
func TestFleetObservesOnDemand(t *testing.T) {
	for _, info := range router.Names() {
		p := build(t, info.Name, 0)
		if _, ok := p.(router.Reader); ok {
			continue
		}
		f, err := router.NewFleet(p, 2, func(int, *router.Request, *router.Load) { t.Errorf("%s: observed", p) })
		if err != nil {
			t.Fatal(err)
		}
		f.Pick(&router.Request{InTokens: 1})
		if f.Reads(router.EngineLoad | router.PrefixHashes) {
			t.Errorf("%s reads signals", p)
		}
		if got := f.Load(0).AsOf; got != clock.Never {
			t.Errorf("%s: seen at %v", p, got)
		}
	}
}

func TestNewFleetErrors(t *testing.T) {
	for name, make := range map[string]func() (*router.Fleet, error){
		"no policy":   func() (*router.Fleet, error) { return router.NewFleet(nil, 1, nil) },
		"no replica":  func() (*router.Fleet, error) { return router.NewFleet(build(t, "random", 0), 0, nil) },
		"no observer": func() (*router.Fleet, error) { return router.NewFleet(&emptiest{}, 1, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			if f, err := make(); err == nil {
				t.Errorf("got %s", f)
			}
		})
	}
}

func TestFleetPanicsOnDoneWithoutPick(t *testing.T) {
	f, err := router.NewFleet(build(t, "round-robin", 0), 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	r := &router.Request{InTokens: 1}
	f.Pick(r) // replica 0
	f.Done(r, 1, ended)
}

func ExampleFleet() {
	p, err := router.New("least-outstanding:tie=first", 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := router.NewFleet(p, 2, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := &router.Request{InTokens: 100}
	a, b := f.Pick(r), f.Pick(r)
	f.Done(r, b, router.End{FirstToken: clock.Never})
	c := f.Pick(r)
	fmt.Println(a, b, c, f.Load(0).Outstanding, f.Load(1).Tokens)
	// Output: 0 1 1 1 100
}
