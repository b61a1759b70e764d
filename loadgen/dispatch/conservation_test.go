package dispatch_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// scripts draws how a target may treat a request, well or badly.
func scripts() *rapid.Generator[script] {
	within := func(max int) *rapid.Generator[time.Duration] {
		return rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, max).Draw(t, "ms")) * time.Millisecond
		})
	}
	return rapid.Custom(func(t *rapid.T) script {
		return script{
			First: within(60).Draw(t, "first"), Gap: within(20).Draw(t, "gap"),
			Tokens: rapid.IntRange(0, 4).Draw(t, "tokens"),
			Hang:   rapid.IntRange(0, 4).Draw(t, "hang") == 0,
			Status: rapid.SampledFrom([]int{0, 0, 0, 429, 500}).Draw(t, "status"),
			Cause:  rapid.SampledFrom([]target.Cause{target.CauseEOF, target.CauseEOF, target.CauseReset}).Draw(t, "cause"),
			Strays: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "strays"), StrayGap: within(30).Draw(t, "stray gap"),
			OnCancel: rapid.SampledFrom([]string{"", "", "later", "never", "much later"}).Draw(t, "on cancel"),
		}
	})
}

// auditor keeps books of its own, from what target and recorder see.
type auditor struct {
	t       *rapid.T
	d       *dispatch.Dispatcher
	started int64
	rows    map[uint64]record.Request
	ends    [record.NumOutcomes]int64
}

// audit is invariant 1 at one instant.
func (a *auditor) audit() {
	c := a.d.Counts()
	if sum := c.Completed() + c.Failed() + c.Canceled() + c.Dropped() + c.Censored() + c.InFlight; sum != c.Scheduled {
		a.t.Fatalf("conservation: %d scheduled, %d accounted for: %+v", c.Scheduled, sum, c)
	}
	if c.Scheduled != a.started || c.InFlight != a.started-int64(len(a.rows)) || c.Outcomes != a.ends {
		a.t.Fatalf("the books differ: %+v, but %d started and %v ended", c, a.started, a.ends)
	}
}

func (a *auditor) record(r *record.Request) {
	seq := uint64(r.Seq)
	if _, dup := a.rows[seq]; dup {
		a.t.Fatalf("request %d has two rows", seq)
	}
	if !r.Final || r.Attempt != 0 {
		a.t.Fatalf("request %d: final %v, attempt %d", seq, r.Final, r.Attempt)
	}
	a.rows[seq] = kept(r)
	a.ends[r.Outcome]++
	checkCausality(a.t, r)
	a.audit()
}

// checkCausality is invariant 2, of the instants that were seen.
func checkCausality(t *rapid.T, r *record.Request) {
	last := r.Intended
	for i, at := range []clock.Time{r.Intended, r.Dispatched, r.Writing, r.Wrote, r.FirstByte, r.FirstEvent, r.FirstToken, r.LastToken, r.Done, r.Closed} {
		if !at.Known() {
			continue
		}
		if at < last {
			t.Fatalf("causality: instant %d of request %d is %v, before %v", i, r.Seq, at, last)
		}
		last = at
	}
}

// TestConservation is invariant 1, with targets that answer, fail, hang, end twice
// or long after they were cancelled, and people who interrupt.
func TestConservation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := clock.NewVirtual()
		src := &list{}
		var at clock.Time
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			at += clock.Time(rapid.IntRange(0, 30).Draw(t, "gap")) * ms
			src.at = append(src.at, at)
		}
		plays := rapid.SliceOfN(scripts(), 1, 10).Draw(t, "scripts")
		of := func(seq uint64) script { return plays[seq%uint64(len(plays))] }
		drain := time.Duration(rapid.IntRange(0, 150).Draw(t, "drain")) * time.Millisecond
		cancels := rapid.Bool().Draw(t, "cancels")

		a := &auditor{t: t, rows: map[uint64]record.Request{}}
		f := newFake(l, of)
		f.started = func(*target.Request) { a.started++; a.audit() }
		var late int64 // Ends of requests that have their row
		f.canceled = func(seq uint64) {
			if _, done := a.rows[seq]; done {
				late++
			}
		}
		var tg target.Target = f
		if cancels {
			tg = fakeCanceler{f}
		}
		var finished []clock.Time
		d, err := dispatch.New(dispatch.Config{
			Loop: l, Source: src, Set: items(100), Target: tg, Drain: drain, Record: a.record,
			PlannedCached: func(*datasets.Item, uint64) int32 { a.audit(); return 0 },
			Finished:      func() { finished = append(finished, l.Now()) },
		})
		if err != nil {
			t.Fatal(err)
		}
		a.d = d
		interrupts := rapid.SliceOfN(rapid.IntRange(0, 1500), 0, 3).Draw(t, "interrupts")
		for _, i := range interrupts {
			l.At(clock.Time(i)*ms, clock.RankControl, do(func(clock.Time) { d.Interrupt() }))
		}
		for i := range 100 {
			l.At(clock.Time(17*i)*ms, clock.RankSample, do(func(clock.Time) { a.audit() }))
		}
		d.Begin()
		l.Run()

		a.audit()
		c := d.Counts()
		if len(finished) != 1 || c.InFlight != 0 {
			t.Fatalf("finished %v with %d in flight", finished, c.InFlight)
		}
		if latest := at.Add(drain) + 2000*ms; finished[0] > latest {
			t.Fatalf("finished at %v, after %v", finished[0], latest)
		}
		k := d.Counters()
		if got, want := sum(k.Anomalies[:]), f.strays; got != want {
			t.Fatalf("%d stray events counted, %d delivered", got, want)
		}
		if cancels && k.LateEnds != late {
			t.Fatalf("%d late ends counted, %d delivered", k.LateEnds, late)
		}
		if len(interrupts) == 0 {
			checkFates(t, src.at, of, at.Add(drain), a.rows)
		}
	})
}

// checkFates: without interruption, what becomes of each request follows from its
// script and the end of the drain.
func checkFates(t *rapid.T, at []clock.Time, of func(uint64) script, cutoff clock.Time, rows map[uint64]record.Request) {
	if len(rows) != len(at) {
		t.Fatalf("%d rows of %d requests", len(rows), len(at))
	}
	for i, due := range at {
		s, row := of(uint64(i)), rows[uint64(i)]
		want := s.outcome()
		if s.Hang || due.Add(s.ends()) > cutoff {
			want = record.Censored
		}
		if row.Outcome != want || row.Intended != due || row.Lag() != 0 {
			t.Fatalf("request %d, due at %v, ends as %v, want %v (cutoff %v): %+v", i, due, row.Outcome, want, cutoff, s)
		}
	}
}

func sum(n []int64) int64 {
	var s int64
	for _, x := range n {
		s += x
	}
	return s
}
