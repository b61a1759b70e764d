package clock

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// tag is an event that is only looked at.
type tag struct {
	entity uint64
	name   int
}

func (tag) Fire(Time)        {}
func (e tag) Entity() uint64 { return e.entity }

func popAll(q *queue) []int {
	var out []int
	for len(q.items) > 0 {
		_, e := q.pop(&mark{})
		out = append(out, e.(*tag).name)
	}
	return out
}

// TestQueueOrderIsThatOfTheKey: any order of adding gives the same order of firing
// by (time, rank, entity), and equal keys keep the order of adding.
func TestQueueOrderIsThatOfTheKey(t *testing.T) {
	type key struct {
		at     Time
		rank   Rank
		entity uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) key {
			return key{
				Time(rapid.Int64Range(0, 5).Draw(t, "at")),
				Rank(rapid.IntRange(0, int(RankSample)).Draw(t, "rank")),
				rapid.Uint64Range(0, 3).Draw(t, "entity"),
			}
		}), 0, 60).Draw(t, "keys")
		order := rapid.Permutation(indices(len(keys))).Draw(t, "order")

		var q queue
		for _, i := range order {
			q.push(keys[i].at, keys[i].rank, &tag{keys[i].entity, i})
		}
		want := slices.Clone(order)
		slices.SortStableFunc(want, func(i, j int) int {
			a, b := keys[i], keys[j]
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank), cmp.Compare(a.entity, b.entity))
		})
		if got := popAll(&q); !slices.Equal(got, want) {
			t.Fatalf("fired %v, want %v", got, want)
		}
	})
}

// TestQueueMixesPushAndPop compares with a sorted slice under any mix of the two.
func TestQueueMixesPushAndPop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		var model []Time
		for i, at := range rapid.SliceOfN(rapid.Int64Range(-20, 20), 0, 100).Draw(t, "script") {
			if at < 0 {
				if len(model) > 0 {
					got, _ := q.pop(&mark{})
					if got != model[0] {
						t.Fatalf("step %d: popped %d, want %d", i, got, model[0])
					}
					model = model[1:]
				}
				continue
			}
			q.push(Time(at), 0, &tag{})
			model = append(model, Time(at))
			slices.Sort(model)
		}
		if len(model) != len(q.items) {
			t.Fatalf("%d events are left, want %d", len(q.items), len(model))
		}
	})
}

// fickle changes its entity each time it is asked.
type fickle struct{ asked uint64 }

func (*fickle) Fire(Time)        {}
func (e *fickle) Entity() uint64 { e.asked++; return e.asked }

func TestEntityIsReadOnce(t *testing.T) {
	var q queue
	e := &fickle{}
	q.push(0, 0, e)
	for range 20 {
		q.push(0, 0, &tag{})
	}
	for len(q.items) > 0 {
		q.pop(&mark{})
	}
	if e.asked != 1 {
		t.Errorf("entity was read %d times", e.asked)
	}
}

func TestPopForgetsTheEvent(t *testing.T) {
	var q queue
	q.push(1, 0, &tag{})
	q.push(2, 0, &tag{})
	q.pop(&mark{})
	q.pop(&mark{})
	for i, x := range q.items[:cap(q.items)] {
		if x.event != nil {
			t.Errorf("slot %d still holds its event", i)
		}
	}
}

func BenchmarkQueuePopPush(b *testing.B) {
	for _, n := range []int{16, 1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			gaps := rand.New(rand.NewPCG(1, 1))
			q := filled(n, gaps)
			b.ReportAllocs()
			for b.Loop() {
				t, e := q.pop(&mark{})
				q.push(t+Time(gaps.Uint32()), RankStep, e)
			}
		})
	}
}

func TestQueueAllocatesNothing(t *testing.T) {
	gaps := rand.New(rand.NewPCG(1, 1))
	q := filled(1000, gaps)
	if n := testing.AllocsPerRun(1000, func() {
		t, e := q.pop(&mark{})
		q.push(t+Time(gaps.Uint32()), RankStep, e)
	}); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}

func filled(n int, gaps *rand.Rand) *queue {
	q := &queue{}
	for i := range n {
		q.push(Time(gaps.Uint32()), RankStep, &tag{entity: uint64(i)})
	}
	return q
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
