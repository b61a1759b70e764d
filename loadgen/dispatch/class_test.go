package dispatch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

// twoClasses sends ten requests of each of two classes, of items 0 to 9 and 10 to 19, to
// answers of 35 ms. The adapters of the second go by turns.
func twoClasses(t *testing.T, change func(*dispatch.Config)) (*run, map[uint64]target.Request) {
	t.Helper()
	l := clock.NewVirtual()
	f := newFake(l, always(script{First: 35 * time.Millisecond, Tokens: 1}))
	sent := map[uint64]target.Request{}
	f.started = func(r *target.Request) { sent[r.Seq] = *r }
	turns, err := dispatch.NewAssignment([]string{"x", "y"}, dispatch.RoundRobin, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := prepare(t, l, every(10*ms, 20), f, func(c *dispatch.Config) {
		c.Source = schedule.Merge([]schedule.Source{every(10*ms, 10), every(7*ms, 10)}, []uint64{0, 10})
		c.SLO = observe.SLO{TTFT: time.Nanosecond} // of a load without classes
		c.Classes = []dispatch.Class{
			{Name: "chat", SLO: observe.SLO{TTFT: 40 * time.Millisecond}},
			{Name: "batch", First: 10, SLO: observe.SLO{TTFT: 30 * time.Millisecond}, Priority: 5, Assign: turns},
		}
		if change != nil {
			change(c)
		}
	})
	r.play()
	return r, sent
}

// TestClasses: each request has the name, the SLO, the priority and the adapter of its
// class, and adapters go by the number within it.
func TestClasses(t *testing.T) {
	r, sent := twoClasses(t, nil)
	count := map[string]int{}
	for i := range r.rows {
		row := &r.rows[i]
		req := sent[uint64(row.Seq)]
		count[row.Class]++
		met, class, priority := record.Yes, uint16(1), 0
		if row.Class == "batch" {
			met, class, priority = record.No, 2, 5
			if want := []string{"y", "x"}[int(row.Intended/(7*ms))%2]; row.Adapter != want {
				t.Errorf("request %d at %v asks for adapter %q, want %q", row.Seq, row.Intended, row.Adapter, want)
			}
		} else if row.Adapter != "" {
			t.Errorf("request %d of class chat asks for adapter %q", row.Seq, row.Adapter)
		}
		if row.SLOMet != met || req.Class != class || req.Priority != priority {
			t.Errorf("request %d of class %s: SLO met %v, class %d, priority %d", row.Seq, row.Class, row.SLOMet, req.Class, req.Priority)
		}
	}
	if diff := cmp.Diff(map[string]int{"chat": 10, "batch": 10}, count); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestClassesOfAClosedLoop: items say of which class requests are that no schedule names.
func TestClassesOfAClosedLoop(t *testing.T) {
	r, _ := twoClasses(t, func(c *dispatch.Config) {
		c.Source, c.Closed = nil, &dispatch.Closed{Concurrency: 1, N: 6, Items: []uint64{0, 10, 19}}
	})
	var got []string
	for i := range r.rows {
		got = append(got, r.rows[i].Class)
	}
	if diff := cmp.Diff([]string{"chat", "batch", "batch", "chat", "batch", "batch"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestClassesOutOfOrder(t *testing.T) {
	l := clock.NewVirtual()
	for name, list := range map[string][]dispatch.Class{
		"a beginning that is nobody's": {{Name: "a", First: 1}},
		"not sorted":                   {{Name: "a"}, {Name: "b", First: 5}, {Name: "c", First: 4}},
	} {
		_, err := dispatch.New(dispatch.Config{
			Loop: l, Source: every(ms, 1), Set: items(9), Target: newFake(l, always(script{})), Classes: list,
			Record: func(*record.Request) {}, Finished: l.Stop,
		})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
