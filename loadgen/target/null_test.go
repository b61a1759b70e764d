package target_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// events keeps what a sink is told.
type events []target.Event

func (e *events) Event(v target.Event) {
	if v.Usage != nil {
		u := *v.Usage
		v.Usage = &u
	}
	*e = append(*e, v)
}

// at is a clock that stands still.
type at clock.Time

func (a at) Stamp() clock.Time { return clock.Time(a) }

func TestNullAnswersWithinStart(t *testing.T) {
	n := target.NewNull(at(7))
	for _, r := range []target.Request{{In: 3, Out: 5}, {In: 1, Out: 1}} {
		var got events
		n.Start(&r, &got)
		var kinds []target.Kind
		for i, e := range got {
			kinds = append(kinds, e.Kind)
			if e.At != 7 {
				t.Errorf("event %d is of %v", i, e.At)
			}
			if e.Kind == target.Token && e.N != r.Out {
				t.Errorf("%d tokens of %d", e.N, r.Out)
			}
			if e.Usage != nil && (e.Usage.Prompt != r.In || e.Usage.Completion != r.Out) {
				t.Errorf("usage %+v of %+v", *e.Usage, r)
			}
		}
		want := []target.Kind{
			target.Dispatched, target.Writing, target.Wrote, target.Header, target.FirstByte,
			target.Token, target.Finished, target.UsageSeen, target.Done, target.End,
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Error(diff)
		}
		if last := got[len(got)-1].Result; last == nil || last.Cause != target.CauseEOF {
			t.Errorf("result %+v", last)
		}
	}
}

// nobody drops what it is told.
type nobody struct{}

func (nobody) Event(target.Event) {}

func TestNullAllocatesNothing(t *testing.T) {
	n := target.NewNull(at(1))
	r := &target.Request{In: 10, Out: 10}
	if got := testing.AllocsPerRun(100, func() { n.Start(r, nobody{}) }); got != 0 {
		t.Errorf("%v allocations a request", got)
	}
}

func BenchmarkNull(b *testing.B) {
	b.ReportAllocs()
	n := target.NewNull(at(1))
	r := &target.Request{In: 10, Out: 10}
	for b.Loop() {
		n.Start(r, nobody{})
	}
}

func ExampleNull() {
	var got events
	target.NewNull(at(0)).Start(&target.Request{In: 8, Out: 4}, &got)
	fmt.Println(len(got), "events, the answer has", got[5].N, "tokens")
	// Output: 10 events, the answer has 4 tokens
}
