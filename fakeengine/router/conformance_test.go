package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

// specs is every rule with its defaults, and those variants that take another
// path.
func specs() []string {
	var out []string
	for _, info := range router.Names() {
		if info.Name == "maglev" {
			info.Name = "maglev:size=5003" // a table is built in each property's every step
		}
		out = append(out, info.Name)
	}
	return append(out, "consistent-hash:key=prefix", "consistent-hash:key=tenant,pick=nearest", "maglev:key=prefix,size=5003",
		"bounded-hash:key=session,load=1.01", "kv-queue:waiting=4,running=1,kv=0,own=1", "cache-aware:threshold=0.5,abs=32,rel=1.1,evict=30s,max=2500", "least-reported:own=1,d=2",
		"dynamo-kv:temperature=0.5,index=approx", "dynamo-kv:policy=lmetric", "envoy-least-request:weights=2/1",
		"llm-d:index=precise,lora=1,active=1", "llm-d:variant=fixed,load=1,tokens=1", "llm-d:session=1", "litellm-least-busy:variant=fixed", "litellm-simple-shuffle:failover=3", "ewma:reply=e2e", "round-robin:start=7", "least-outstanding:tie=first", "p2c:d=5", "p2c:d=64", "p2c:replace=true", "session:points=1")
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
	up := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) router.Load {
		return router.Load{
			Outstanding: rapid.IntRange(0, 4).Draw(t, "outstanding"),
			Cached:      rapid.IntRange(0, 1<<10).Draw(t, "cached"),
			Adapter:     router.AdapterState(rapid.IntRange(0, 4).Draw(t, "adapter")),
			Since:       rapid.IntRange(0, 3).Draw(t, "since"),
			Tokens:      rapid.IntRange(0, 1<<20).Draw(t, "tokens"),
			Waiting:     rapid.IntRange(0, 4).Draw(t, "waiting"),
			Running:     rapid.IntRange(0, 4).Draw(t, "running"),
			KVUsed:      rapid.Float64Range(0, 1).Draw(t, "kv"),
		}
	}), 1, 20).Draw(t, "up")
	gap := rapid.IntRange(1, 3).Draw(t, "numbers apart")
	for i := range up {
		up[i].ID = gap * i
	}
	return up
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

// engines are what a fleet is shown of engines that have no more than its requests.
func engines(now *clock.Time) router.Observe {
	return func(_ int, _ *router.Request, l *router.Load) {
		l.Running, l.Waiting, l.AsOf = min(8, l.Outstanding), max(0, l.Outstanding-8), *now
		l.KVUsed = min(1, float64(l.Outstanding)/50)
	}
}

// unequal rules give one replica more than another by design: the cheapest or the
// provisioned one all,
// and one with a single point on the ring what lies before it.
func unequal(spec string) bool {
	return strings.HasPrefix(spec, "litellm-cost") || spec == "ptu-spillover" || spec == "session:points=1"
}

// checkNoStarvation runs alike requests of sessions and prefixes of their own
// through a fleet, at an even load of ten per replica. Every replica has to get
// between half and twice its share.
func checkNoStarvation(t *testing.T, spec string) {
	if unequal(spec) {
		t.Skip("shares are unequal by design")
	}
	const n, perReplica, inFlight = 8, 1000, 80
	var now clock.Time
	f, err := router.NewFleet(build(t, spec, 11), n, engines(&now))
	if err != nil {
		t.Fatal(err)
	}
	var got, live [n]int
	type sent struct {
		r     *router.Request
		i     int
		first clock.Time
	}
	var order []sent
	for k := range n * perReplica {
		now = now.Add(10 * time.Millisecond)
		key := uint64(k+1) * 0x9e3779b97f4a7c15
		r := &router.Request{InTokens: 100, MaxOut: 10, Session: key, Tenant: key, Prefix: []uint64{key, key + 1}, Block: 16, Adapter: 1, At: now}
		i := f.Pick(r)
		got[i]++
		live[i]++
		order = append(order, sent{r, i, now})
		if k >= inFlight/2 { // it is answered half-way
			s := &order[len(order)-inFlight/2-1]
			s.first = now
			f.FirstToken(s.r, s.i, now)
		}
		if k >= inFlight { // the oldest one ends
			s := order[0]
			f.Done(s.r, s.i, router.End{At: now, FirstToken: s.first, Out: 10, Status: 200})
			live[s.i]--
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

// keyed rules move only the keys of a replica that leaves.
func TestRemovalMovesOnlyItsKeys(t *testing.T) {
	for _, spec := range []string{"session", "consistent-hash", "consistent-hash:pick=nearest", "consistent-hash:key=prefix", "bounded-hash:key=session,load=100", "prefix-hash"} {
		t.Run(spec, func(t *testing.T) {
			f, err := router.NewFleet(build(t, spec, 1), 8, nil)
			if err != nil {
				t.Fatal(err)
			}
			owners := func() (out []int) {
				for k := range 2000 {
					key := uint64(k+1) * 0x9e3779b97f4a7c15
					r := &router.Request{InTokens: 32, Session: key, Prefix: []uint64{key}, Block: 16}
					i := f.Pick(r)
					f.Done(r, i, ended)
					out = append(out, i)
				}
				return out
			}
			before := owners()
			f.SetUp(3, false)
			moved := 0
			for k, i := range owners() {
				switch {
				case i == 3:
					t.Fatalf("key %d went to a replica that is down", k)
				case before[k] != 3 && before[k] != i:
					t.Fatalf("key %d moved from %d to %d, though replica 3 left", k, before[k], i)
				case before[k] == 3:
					moved++
				}
			}
			if moved < 2000/8/2 || moved > 2000/8*2 {
				t.Errorf("%d of 2000 keys were on the replica", moved)
			}
			f.SetUp(3, true)
			if diff := cmp.Diff(before, owners()); diff != "" {
				t.Error("keys are elsewhere when it is back")
			}
		})
	}
}

// All rules go on when replicas leave, and refuse when none is left.
func TestReplicasLeave(t *testing.T) {
	for _, spec := range specs() {
		var now clock.Time
		f, err := router.NewFleet(build(t, spec, 1), 4, engines(&now))
		if err != nil {
			t.Fatal(err)
		}
		for gone := range 4 {
			for k := range 50 {
				now = now.Add(time.Millisecond)
				r := &router.Request{InTokens: 32, Session: uint64(k + 1), Prefix: []uint64{uint64(k%7 + 1)}, Block: 16, At: now}
				i := f.Pick(r)
				if i < gone {
					t.Fatalf("%s: picked %d, which is down", spec, i)
				}
				f.Done(r, i, router.End{At: now, FirstToken: clock.Never, Status: 200})
			}
			f.SetUp(gone, false)
		}
		if i := f.Pick(&router.Request{InTokens: 1, At: now}); i != router.None {
			t.Errorf("%s: picked %d of none", spec, i)
		}
	}
}

func checkAllocs(t *testing.T, spec string) {
	var now clock.Time
	f, err := router.NewFleet(build(t, spec, 1), 100, engines(&now))
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
				var now clock.Time
				f, err := router.NewFleet(build(b, spec, 1), n, engines(&now))
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
