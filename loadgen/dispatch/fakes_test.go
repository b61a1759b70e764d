package dispatch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

const ms = clock.Time(time.Millisecond)

// items is a set of n prompts, no two alike.
type items int

func (n items) Len() int       { return int(n) }
func (n items) Timed() bool    { return false }
func (n items) String() string { return fmt.Sprintf("items(%d)", int(n)) }

func (n items) Item(i int, dst *datasets.Item) {
	prompt := append(dst.Prompt[:0], datasets.Span{Key: 1, Tokens: 32}, datasets.Span{Key: uint64(100 + i), Tokens: 1 + i%7, Private: true})
	*dst = datasets.Item{Prompt: prompt, In: 33 + i%7, Out: 3, OutKey: uint64(i), Prefix: uint64(i % 2)}
}

// list is a schedule of given instants.
type list struct {
	at   []clock.Time
	next int
}

func (l *list) Next() (schedule.Arrival, bool) {
	if l.next == len(l.at) {
		return schedule.Arrival{}, false
	}
	a := schedule.Arrival{Seq: uint64(l.next), At: l.at[l.next], Item: uint64(l.next)}
	l.next++
	return a, true
}

// every is n arrivals, one each gap, the first one a gap after the epoch.
func every(gap clock.Time, n int) *list {
	l := &list{}
	for i := range n {
		l.at = append(l.at, gap*clock.Time(i+1))
	}
	return l
}

// script says how the fake target treats a request. The zero value answers within
// Start, without a token.
type script struct {
	First, Gap time.Duration // until the first token, and between tokens
	Tokens     int
	Hang       bool // neither ends nor sends anything after its tokens
	Status     int  // 0 is 200
	Cause      target.Cause
	RetryAfter time.Duration
	Strays     int           // Ends after the End
	StrayGap   time.Duration // between them
	OnCancel   string        // "": End within Cancel; "later"; "never"; "much later"
	Rank       clock.Rank    // of the steps; 0 is RankStep
}

func (s script) ends() time.Duration { return s.First + time.Duration(max(0, s.Tokens-1))*s.Gap }

// outcome is what must become of a request that is not cut off.
func (s script) outcome() record.Outcome {
	switch {
	case s.Cause == target.CauseReset:
		return record.Reset
	case s.Status == 429:
		return record.HTTP429
	case s.Status == 500:
		return record.HTTP5xx
	case s.Tokens == 0:
		return record.Truncated
	}
	return record.OK
}

// fake is a target on the loop. fakeCanceler is the same with Cancel.
type fake struct {
	loop   clock.Loop
	script func(seq uint64) script
	// started is told of each Start; nil: nobody.
	started func(r *target.Request)
	lag     time.Duration // Dispatched comes as late as this
	// plays goes before script and knows the attempt; nil: script it is.
	plays func(r *target.Request) script

	live   map[*target.Request]*job
	idle   []*job
	strays int64 // second Ends delivered
	// canceled is told of each End that comes some time after Cancel, before it is
	// delivered; nil: nobody.
	canceled func(seq uint64)
}

func newFake(l clock.Loop, s func(uint64) script) *fake {
	return &fake{loop: l, script: s, live: map[*target.Request]*job{}}
}

func always(s script) func(uint64) script { return func(uint64) script { return s } }

// job is an attempt at the fake target, and the event of its next step.
type job struct {
	t      *fake
	r      *target.Request
	s      target.Sink
	seq    uint64
	script script
	sent   int
	over   bool
	result target.Result
}

func (f *fake) Start(r *target.Request, s target.Sink) {
	if f.started != nil {
		f.started(r)
	}
	var j *job
	if n := len(f.idle); n > 0 {
		j, f.idle = f.idle[n-1], f.idle[:n-1]
	} else {
		j = new(job)
	}
	*j = job{t: f, r: r, s: s, seq: r.Seq, script: f.play(r)}
	if j.script.Rank == 0 {
		j.script.Rank = clock.RankStep
	}
	f.live[r] = j
	now := f.loop.Now()
	if f.lag != 0 {
		s.Event(target.Event{At: now.Add(f.lag), Kind: target.Dispatched})
	}
	s.Event(target.Event{At: now, Kind: target.Writing})
	s.Event(target.Event{At: now, Kind: target.Wrote})
	if j.script.First == 0 {
		j.Fire(now)
		return
	}
	f.loop.At(now.Add(j.script.First), j.script.Rank, j)
}

func (f *fake) play(r *target.Request) script {
	if f.plays != nil {
		return f.plays(r)
	}
	return f.script(r.Seq)
}

func (j *job) Entity() uint64 { return j.seq }

func (j *job) Fire(now clock.Time) {
	if j.over {
		return
	}
	if j.sent < j.script.Tokens {
		j.s.Event(target.Event{At: now, Kind: target.Token, Content: target.Text, N: 1})
		if j.sent++; j.sent < j.script.Tokens {
			j.t.loop.At(now.Add(j.script.Gap), j.script.Rank, j)
			return
		}
	}
	if j.script.Hang {
		return
	}
	j.s.Event(target.Event{At: now, Kind: target.Finished, Reason: "length"})
	j.s.Event(target.Event{At: now, Kind: target.Done})
	j.end(now, j.script.Cause)
}

func (j *job) end(now clock.Time, c target.Cause) {
	j.over = true
	delete(j.t.live, j.r)
	j.result = target.Result{Cause: c, Status: j.script.Status, RetryAfter: int64(j.script.RetryAfter)}
	if j.result.Status == 0 {
		j.result.Status = 200
	}
	for i := range j.script.Strays {
		j.t.loop.At(now.Add(time.Duration(i)*j.script.StrayGap), clock.RankTransit, stray{j.t, j.s})
	}
	j.s.Event(target.Event{At: now, Kind: target.End, Result: &j.result})
	j.t.idle = append(j.t.idle, j)
}

// stray is an End too many.
type stray struct {
	t *fake
	s target.Sink
}

func (e stray) Entity() uint64 { return 0 }
func (e stray) Fire(now clock.Time) {
	e.t.strays++
	e.s.Event(target.Event{At: now, Kind: target.End, Result: &target.Result{Cause: target.CauseReset}})
}

type fakeCanceler struct{ *fake }

var _ target.Canceler = fakeCanceler{}

func (f fakeCanceler) Cancel(r *target.Request) {
	j := f.live[r]
	now := f.loop.Now()
	switch {
	case j == nil:
	case j.script.OnCancel == "never":
		j.over = true
	case j.script.OnCancel == "later":
		j.over = true
		f.loop.At(now+20*ms, clock.RankTransit, ending{j})
	case j.script.OnCancel == "much later":
		j.over = true
		f.loop.At(now+60_000*ms, clock.RankTransit, ending{j})
	default:
		j.end(now, target.CauseCanceled)
	}
}

type ending struct{ j *job }

func (e ending) Entity() uint64 { return e.j.seq }
func (e ending) Fire(now clock.Time) {
	if tell := e.j.t.canceled; tell != nil {
		tell(e.j.seq)
	}
	e.j.end(now, target.CauseCanceled)
}

// do is an event made of a function.
type do func(now clock.Time)

func (f do) Fire(now clock.Time) { f(now) }
func (f do) Entity() uint64      { return 0 }

// kept is a copy of r that outlives Record.
func kept(r *record.Request) record.Request {
	c := *r
	c.TokenGapsUS, c.ChunkTokens = slices.Clone(c.TokenGapsUS), slices.Clone(c.ChunkTokens)
	return c
}

// run is a dispatcher with what came out of it.
type run struct {
	*dispatch.Dispatcher
	loop     clock.Runner
	rows     []record.Request
	finished []clock.Time
}

// prepare makes a run on a virtual loop; edit may change its configuration.
func prepare(t testing.TB, l clock.Runner, s schedule.Source, tg target.Target, edit func(*dispatch.Config)) *run {
	t.Helper()
	r := &run{loop: l}
	c := dispatch.Config{
		Loop: l, Source: s, Set: items(1 << 20), Target: tg, Drain: time.Second,
		Record: func(row *record.Request) { r.rows = append(r.rows, kept(row)) },
		Finished: func() {
			r.finished = append(r.finished, l.Now())
		},
	}
	if edit != nil {
		edit(&c)
	}
	d, err := dispatch.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r.Dispatcher = d
	return r
}

// play runs it to the last event.
func (r *run) play() *run {
	r.Begin()
	r.loop.Run()
	return r
}

func (r *run) outcomes() map[string]int {
	out := map[string]int{}
	for i := range r.rows {
		out[r.rows[i].Outcome.String()]++
	}
	return out
}
