package dispatch_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/loadgen/dispatch"
	"goodput/loadgen/target"
)

func shares(t *testing.T, a *dispatch.Assignment, n int) (adapters, salts map[string]float64) {
	t.Helper()
	adapters, salts = map[string]float64{}, map[string]float64{}
	for i := range n {
		r := target.Request{Seq: uint64(i)}
		a.Fill(&r)
		adapters[r.Adapter.Name] += 1 / float64(n)
		salts[r.CacheSalt] += 1 / float64(n)
	}
	return adapters, salts
}

func TestAssignmentRules(t *testing.T) {
	names := []string{"a", "b", "c"}
	for rule, want := range map[dispatch.Rule]map[string]float64{
		dispatch.Random:     {"a": 1. / 3, "b": 1. / 3, "c": 1. / 3},
		dispatch.RoundRobin: {"a": 1. / 3, "b": 1. / 3, "c": 1. / 3},
		dispatch.Zipf:       {"a": 6. / 11, "b": 3. / 11, "c": 2. / 11},
	} {
		a, err := dispatch.NewAssignment(names, rule, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		adapters, salts := shares(t, a, 30_000)
		for name, share := range want {
			if math.Abs(adapters[name]-share) > 0.01 { // three standard deviations
				t.Errorf("%s: %s has a share of %v, want %v", rule, name, adapters[name], share)
			}
		}
		if len(adapters) != 3 || len(salts) != 2 || math.Abs(salts["tenant-1"]-0.5) > 0.01 {
			t.Errorf("%s: adapters %v, salts %v", rule, adapters, salts)
		}
	}
}

// What a request gets depends on its number and the seed alone (invariant 3).
func TestAssignmentIsAFunctionOfTheNumber(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rule := rapid.SampledFrom([]dispatch.Rule{dispatch.Random, dispatch.RoundRobin, dispatch.Zipf}).Draw(rt, "rule")
		seed := rapid.Uint64().Draw(rt, "seed")
		a, err := dispatch.NewAssignment([]string{"x", "y", "z"}, rule, 3, seed)
		if err != nil {
			rt.Fatal(err)
		}
		order := rapid.SliceOfN(rapid.Uint64Range(0, 20), 1, 40).Draw(rt, "order")
		got := map[uint64]target.Request{}
		for _, n := range order {
			r := target.Request{Seq: n}
			a.Fill(&r)
			if before, again := got[n]; again {
				if diff := cmp.Diff(before, r); diff != "" {
					rt.Fatalf("request %d (-before +now):\n%s", n, diff)
				}
			}
			got[n] = r
			if r.Adapter.Number < 1 || string("xyz"[r.Adapter.Number-1]) != r.Adapter.Name {
				rt.Fatalf("adapter %+v: name and number differ", r.Adapter)
			}
		}
	})
}

func TestNewAssignmentRefuses(t *testing.T) {
	if _, err := dispatch.NewAssignment([]string{"a"}, "sometimes", 0, 1); err == nil {
		t.Error("an unknown rule was accepted")
	}
	if _, err := dispatch.NewAssignment(nil, dispatch.Random, -1, 1); err == nil {
		t.Error("fewer than no salts were accepted")
	}
	if _, err := dispatch.NewAssignment(make([]string, 1<<16), dispatch.Random, 0, 1); err == nil {
		t.Error("more adapters than numbers were accepted")
	}
}

func TestFillDoesNotAllocate(t *testing.T) {
	a, err := dispatch.NewAssignment([]string{"x", "y"}, dispatch.Zipf, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	var r target.Request
	if n := testing.AllocsPerRun(100, func() { r.Seq++; a.Fill(&r); _ = r.Scope() }); n != 0 {
		t.Errorf("%v allocations a request, want 0", n)
	}
}

// TestAssignmentByTenant: all requests of a tenant have its adapter and its salt, and
// those of no tenant the base model and no salt.
func TestAssignmentByTenant(t *testing.T) {
	a, err := dispatch.NewAssignment([]string{"a", "b"}, dispatch.ByTenant, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for tenant, want := range []target.Request{
		{}, {Adapter: target.Adapter{Name: "a", Number: 1}}, {Adapter: target.Adapter{Name: "b", Number: 2}}, {Adapter: target.Adapter{Name: "a", Number: 1}},
	} {
		for seq := range uint64(5) {
			want.Seq, want.CacheSalt = seq, ""
			got := target.Request{Seq: seq}
			a.FillFor(uint32(tenant), &got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("tenant %d (-want +got):\n%s", tenant, diff)
			}
			if tenant > 0 {
				want.CacheSalt = "tenant-" + string(rune('0'+tenant))
			}
			got = target.Request{Seq: seq}
			a.Isolated().FillFor(uint32(tenant), &got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("tenant %d, isolated (-want +got):\n%s", tenant, diff)
			}
		}
	}
}
