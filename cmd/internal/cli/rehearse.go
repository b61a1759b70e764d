package cli

import (
	"fmt"
	"io"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

// rehearsed is the most sessions that a dry run sends through the pool's cache. A cache
// that evicts has to be asked step by step, which a context of hundreds of parts makes
// slow.
const rehearsed = 2000

// paced answers each request when the plan's pace says, on the loop's goroutine.
type paced struct {
	loop clock.Loop
	null *target.Null
	pace datasets.Pace
}

var (
	_ target.Target   = paced{}
	_ clock.Event     = (*pacedAnswer)(nil)
	_ schedule.Source = (*firstArrivals)(nil)
)

// String names it.
func (t paced) String() string { return "paced" }

// Start implements target.Target.
func (t paced) Start(r *target.Request, s target.Sink) {
	t.loop.At(t.loop.Now().Add(t.pace.Answer(r.Out)), clock.RankTransit, &pacedAnswer{t.null, r, s})
}

// pacedAnswer is a request under way.
type pacedAnswer struct {
	null *target.Null
	r    *target.Request
	s    target.Sink
}

func (a *pacedAnswer) Fire(clock.Time) { a.null.Start(a.r, a.s) }
func (a *pacedAnswer) Entity() uint64  { return a.r.Seq }

// firstSessions are the first n of a set, and firstArrivals those of a schedule.
type firstSessions struct {
	datasets.SessionSet
	n int
}

func (f firstSessions) Sessions() int { return f.n }

type firstArrivals struct {
	schedule.Source
	left int
}

// Next implements schedule.Source.
func (f *firstArrivals) Next() (schedule.Arrival, bool) {
	if f.left == 0 {
		return schedule.Arrival{}, false
	}
	f.left--
	return f.Source.Next()
}

// rehearsal is what caches find of the first sessions that arrive.
type rehearsal struct {
	sessions       int
	blocks         int // of the pool's cache
	tokens         int64
	endless, found int64
	unknown        bool // for one request at least
}

// rehearse offers the sessions to a target that answers at the plan's pace, in virtual
// time, and asks for each step what an endless cache and one of so many blocks would
// hold, as a run does. Steps of sessions that are live at a time take turns as they
// would there, which decides what is evicted.
func rehearse(p *plan.Plan, load *sessionLoad, blocks int) (rehearsal, error) {
	arriving := *load
	arriving.sessionSet, arriving.underway = load.arriving(), nil
	r := rehearsal{sessions: min(arriving.Sessions(), rehearsed), blocks: blocks}
	assign, err := newAssignment(p)
	if err != nil {
		return r, err
	}
	loop := clock.NewVirtual()
	c := dispatch.Config{
		Loop: loop, Target: paced{loop, target.NewNull(loop), paceOf(p)},
		Sessions: firstSessions{arriving.sessionSet, r.sessions}, Assign: assign, Live: p.LiveHistory(),
		MaxInFlight: p.AgentInFlight, MaxSessions: p.MaxLiveSessions, DropSessions: p.SessionsOverflow == "drop",
		Concurrent: p.SessionsConcurrency, Drain: aloneFor,
		PlannedCached: plannedCached(nil, p.EngineBlockSize), PoolCached: poolCached(nil, p.EngineBlockSize, blocks),
		Record: r.add, RecordSession: func(*record.Session) {}, Finished: func() {},
	}
	if c.Concurrent == 0 {
		source, err := sessionArrivals(p, &arriving)
		if err != nil {
			return r, err
		}
		c.Source = &firstArrivals{source, r.sessions}
	}
	d, err := dispatch.New(c)
	if err != nil {
		return r, fmt.Errorf("rehearsing the sessions: %w", err)
	}
	d.Begin()
	loop.Run()
	return r, nil
}

// add counts what was found of a request.
func (r *rehearsal) add(row *record.Request) {
	if row.PlannedCachedTokens == record.Null32 || row.PoolCachedTokens == record.Null32 {
		r.unknown = true
		return
	}
	r.tokens += int64(row.PlannedPromptTokens)
	r.endless += int64(row.PlannedCachedTokens)
	r.found += int64(row.PoolCachedTokens)
}

// write prints it.
func (r *rehearsal) write(w io.Writer, p *plan.Plan) {
	if r.unknown || r.tokens == 0 {
		fmt.Fprintf(w, "pool's hit unknown: there is more distinct content than a cache is followed for\n")
		return
	}
	share := func(n int64) float64 { return 100 * float64(n) / float64(r.tokens) }
	fmt.Fprintf(w, "pool's hit %.1f %% by one cache of the pool's %d blocks of %d tokens, %.1f %% by an endless one (first %d sessions, at the pace below)\n",
		share(r.found), r.blocks, p.EngineBlockSize, share(r.endless), r.sessions)
}

// writePoolHit prints what a cache of the plan's pool would find. It says nothing of a
// server, of engines without prefix caching, and of a trace that tells no prefixes.
func writePoolHit(w io.Writer, p *plan.Plan, load *sessionLoad) error {
	if !p.InPool() || load.recorded != nil && load.recorded.PrefixesUnknown() {
		return nil
	}
	setup, err := newEngineSetup(p)
	if err != nil {
		return err
	}
	blocks := cacheBlocks(p, &setup)
	if blocks == 0 {
		return nil
	}
	r, err := rehearse(p, load, blocks)
	if err == nil {
		r.write(w, p)
	}
	return err
}
