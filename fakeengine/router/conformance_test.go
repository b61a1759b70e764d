package router_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/router"
)

// specs is every rule with its defaults, and those variants that take another
// path.
func specs() []string {
	var out []string
	for _, info := range router.Names() {
		out = append(out, info.Name)
	}
	return append(out, "round-robin:start=7", "least-outstanding:tie=first", "p2c:d=5", "p2c:d=64", "p2c:replace=true", "session:points=1")
}

// TestConformance holds every rule to the contract of Policy.
func TestConformance(t *testing.T) {
	for _, spec := range specs() {
		t.Run(spec, func(t *testing.T) {
			t.Run("stays in range and changes nothing", rapid.MakeCheck(func(t *rapid.T) { checkRange(t, spec) }))
			t.Run("same seed, same picks", rapid.MakeCheck(func(t *rapid.T) { checkDeterminism(t, spec) }))
			t.Run("starves nobody", func(t *testing.T) { checkNoStarvation(t, spec) })
			t.Run("allocates nothing", func(t *testing.T) { checkAllocs(t, spec) })
			t.Run("prints what New reads", func(t *testing.T) {
				p := build(t, spec, 1)
				if got := build(t, p.String(), 1).String(); got != p.String() {
					t.Errorf("%q became %q", p, got)
				}
			})
		})
	}
}

// drawLoads draws the state of 1 to 20 replicas, with ties.
func drawLoads(t *rapid.T) []router.Load {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) router.Load {
		return router.Load{
			Outstanding: rapid.IntRange(0, 4).Draw(t, "outstanding"),
			Tokens:      rapid.IntRange(0, 1<<20).Draw(t, "tokens"),
			Waiting:     rapid.IntRange(0, 4).Draw(t, "waiting"),
			Running:     rapid.IntRange(0, 4).Draw(t, "running"),
			KVUsed:      rapid.Float64Range(0, 1).Draw(t, "kv"),
		}
	}), 1, 20).Draw(t, "up")
}

func drawRequest(t *rapid.T) *router.Request {
	return &router.Request{
		Session:  rapid.Uint64Range(0, 5).Draw(t, "session"),
		Prefix:   rapid.SliceOfN(rapid.Uint64(), 0, 5).Draw(t, "prefix"),
		InTokens: rapid.IntRange(1, 1<<20).Draw(t, "in"),
		MaxOut:   rapid.IntRange(1, 1<<10).Draw(t, "out"),
	}
}

// checkRange: also when the set of replicas changes size from pick to pick. A
// single replica gets everything.
func checkRange(t *rapid.T, spec string) {
	p, err := router.New(spec, rapid.Uint64().Draw(t, "seed"))
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 20).Draw(t, "picks") {
		up, r := drawLoads(t), drawRequest(t)
		before := slices.Clone(up)
		if i := p.Pick(r, up); i < 0 || i >= len(up) {
			t.Fatalf("picked %d of %d", i, len(up))
		}
		if diff := cmp.Diff(before, up); diff != "" {
			t.Fatal(diff)
		}
		if i := p.Pick(r, up[:1]); i != 0 {
			t.Fatalf("picked %d of a single replica", i)
		}
	}
}

func checkDeterminism(t *rapid.T, spec string) {
	seed := rapid.Uint64().Draw(t, "seed")
	p, err := router.New(spec, seed)
	if err != nil {
		t.Fatal(err)
	}
	q, err := router.New(spec, seed)
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 20).Draw(t, "picks") {
		up, r := drawLoads(t), drawRequest(t)
		if i, j := p.Pick(r, up), q.Pick(r, up); i != j {
			t.Fatalf("picked %d and %d", i, j)
		}
	}
}

// checkNoStarvation runs equal requests through a fleet, at an even load of ten
// per replica. Every replica has to get between half and twice its share.
func checkNoStarvation(t *testing.T, spec string) {
	const n, perReplica = 8, 1000
	f, err := router.NewFleet(build(t, spec, 11), n, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got, live [n]int
	var order []int
	r := router.Request{InTokens: 100, MaxOut: 10}
	for k := range n * perReplica {
		i := f.Pick(&r)
		got[i]++
		live[i]++
		order = append(order, i)
		if k >= 10*n { // the oldest one ends
			f.Done(&r, order[0], ended)
			live[order[0]]--
			order = order[1:]
		}
	}
	for i := range n {
		if got[i] < perReplica/2 || got[i] > 2*perReplica {
			t.Errorf("replica %d got %d of %d requests", i, got[i], n*perReplica)
		}
		if l := f.Load(i); l.Outstanding != live[i] || l.Tokens != 100*live[i] {
			t.Errorf("replica %d: %d requests and %d tokens outstanding, want %d and %d", i, l.Outstanding, l.Tokens, live[i], 100*live[i])
		}
	}
}

func checkAllocs(t *testing.T, spec string) {
	f, err := router.NewFleet(build(t, spec, 1), 100, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := router.Request{InTokens: 100}
	if n := testing.AllocsPerRun(1000, func() { f.Done(&r, f.Pick(&r), ended) }); n != 0 {
		t.Errorf("%v allocations per pick", n)
	}
}

func TestSeedsDiffer(t *testing.T) {
	for _, spec := range []string{"random", "least-outstanding", "p2c"} {
		t.Run(spec, func(t *testing.T) {
			p, q := build(t, spec, 1), build(t, spec, 2)
			up, same := outstanding(make([]int, 16)...), 0
			for range 1000 {
				if p.Pick(&router.Request{}, up) == q.Pick(&router.Request{}, up) {
					same++
				}
			}
			if same > 150 { // 62.5 by chance
				t.Errorf("%d of 1000 picks are the same", same)
			}
		})
	}
}

func BenchmarkPick(b *testing.B) {
	for _, spec := range specs() {
		for _, n := range []int{8, 64, 1024} {
			b.Run(fmt.Sprintf("%s/%d", spec, n), func(b *testing.B) {
				f, err := router.NewFleet(build(b, spec, 1), n, nil)
				if err != nil {
					b.Fatal(err)
				}
				// The oldest request of a window ends with each pick, so that loads
				// differ and move.
				r := router.Request{InTokens: 100}
				window := make([]int, 10*n)
				for k := range window {
					window[k] = f.Pick(&r)
				}
				b.ReportAllocs()
				k := 0
				for b.Loop() {
					f.Done(&r, window[k], ended)
					window[k] = f.Pick(&r)
					if k++; k == len(window) {
						k = 0
					}
				}
			})
		}
	}
}
