package schedule_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/loadgen/schedule"
)

func every(t interface{ Fatal(...any) }, s schedule.Source, err error) []schedule.Arrival {
	if err != nil {
		t.Fatal(err)
	}
	var out []schedule.Arrival
	for a, ok := s.Next(); ok; a, ok = s.Next() {
		out = append(out, a)
	}
	return out
}

// Invariant 4: the union of n shards is the whole schedule, in order. It holds with a
// warm-up and with classes as well.
func TestShardsMakeTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, n := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 200).Draw(t, "n")
		other, warm := rapid.IntRange(0, 50).Draw(t, "other"), rapid.IntRange(0, 20).Draw(t, "warm")
		whole := func() schedule.Source {
			make := func(rate float64, n int, seed uint64) schedule.Source {
				s, err := schedule.New(schedule.Config{Process: schedule.Gamma, Burstiness: 0.5, Rate: rate, N: n, Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			s := make(20, n, seed)
			if other > 0 {
				s = schedule.Merge([]schedule.Source{s, make(5, other, seed+1)}, []uint64{0, uint64(n)})
			}
			if warm > 0 {
				s = schedule.Warm(make(10, warm, seed+2), uint64(n+other), s)
			}
			return s
		}
		want := every(t, whole(), nil)
		of := rapid.IntRange(1, 9).Draw(t, "of")
		var union []schedule.Arrival
		for i := range of {
			x := schedule.Shard{Index: i, Of: of}
			source, err := x.Source(whole())
			part := every(t, source, err)
			measured := 0
			for k, a := range part {
				if k > 0 && !part[k-1].Warm && a.At < part[k-1].At {
					t.Fatalf("shard %v is out of order at %v", x, a)
				}
				if !a.Warm {
					measured++
				}
			}
			if got := x.Count(uint64(n + other)); got != uint64(measured) {
				t.Fatalf("shard %v has %d arrivals, Count says %d", x, measured, got)
			}
			union = append(union, part...)
		}
		at := func(a schedule.Arrival) (int, uint64) {
			if a.Warm {
				return 0, a.Seq
			}
			return 1, a.Seq
		}
		slices.SortFunc(union, func(a, b schedule.Arrival) int {
			i, x := at(a)
			j, y := at(b)
			if i != j {
				return i - j
			}
			return int(x) - int(y)
		})
		if d := cmp.Diff(want, union); d != "" {
			t.Fatal(d)
		}
	})
}

func TestShardsThatThereAreNot(t *testing.T) {
	for _, s := range []schedule.Shard{{Index: 2, Of: 2}, {Index: -1, Of: 2}, {Index: 1}, {Of: -1}} {
		if _, err := s.Source(nil); err == nil {
			t.Errorf("part %d of %d was accepted", s.Index, s.Of)
		}
	}
}

func ExampleShard_Source() {
	whole, _ := schedule.New(schedule.Config{Process: schedule.Constant, Rate: 10, N: 5})
	source, _ := schedule.Shard{Index: 1, Of: 2}.Source(whole)
	for a, ok := source.Next(); ok; a, ok = source.Next() {
		fmt.Println(a.Seq, a.At.Sub(0))
	}
	// Output:
	// 1 100ms
	// 3 300ms
}
