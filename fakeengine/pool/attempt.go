package pool

import (
	"time"

	"goodput/fakeengine/disagg"
	"goodput/fakeengine/engine"
	"goodput/fakeengine/router"
	"goodput/fakeengine/shaper"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// The statuses that a server would give: accepted, and not servable as asked.
const (
	statusOK          = 200
	statusBadRequest  = 400
	statusUnavailable = 503
)

// attempt is one request in the pool. It hears of the engine's progress and
// tells the sender. It is used again and again, with all that it points to.
type attempt struct {
	pool *Pool
	req  *target.Request
	sink target.Sink

	route   router.Request
	gate    *gate
	replica int // that answers
	seq     engine.Seq
	// shape is what shapers know of it, of which it has passed so many; waits: the next
	// one holds it; absorbed: one has answered it.
	shape           shaper.Request
	passed          int
	wish            time.Duration // Retry-After of the replica that refused it
	sends           int           // times that it was sent on, or refused behind a shaper
	waits, absorbed bool
	watched         bool // the sender's patience is measured
	// remote: a prefill replica computes the prompt, routed there as prompted, and
	// handed over.
	remote   bool
	prompted router.Request
	handoff  disagg.Handoff
	source   int
	hashes   []uint64
	whole    []target.Span // a prompt and its answer, if that is quoted
	answered bool          // the header is out
	cause    target.Cause  // of the End, if the engine drops the request
	why      string        // the same in words; "": the cause says it all
	refused  bool          // no engine took it

	// runs is sink if it takes runs of tokens, else nil. held are the instants of
	// steps that brought heldN tokens each and were not told yet.
	runs  target.RunSink
	held  []clock.Time
	heldN int
	parts parts

	ttft, total clock.Deadline

	usage  target.Usage
	server target.Server
	result target.Result
	next   *attempt // in the pool's free list
}

var (
	_ engine.Sink    = (*attempt)(nil)
	_ engine.RunSink = (*attempt)(nil)
	_ clock.Event    = (*attempt)(nil)
	_ clock.Expirer  = (*attempt)(nil)
)

// begin fills in what the router and the engine may know of r.
func (a *attempt) begin(r *target.Request, s target.Sink) {
	p := a.pool
	a.req, a.sink, a.answered, a.cause, a.remote = r, s, false, target.CauseCanceled, false
	a.why, a.refused, a.parts = "", false, parts{}
	a.replica, a.passed, a.sends, a.waits, a.absorbed, a.watched = router.None, 0, 0, false, false, false
	if len(p.fronts) > 0 {
		a.shape = shape(r)
	}
	a.parts.shaped = r.Shape != target.Shape{}
	a.runs, _ = s.(target.RunSink)
	shared := sharedTokens(r.Prompt)
	quoted := r.Quoted && shared == r.In
	if quoted {
		shared += r.Out
	}
	a.hashes = a.hashes[:0]
	a.wish, a.route = 0, router.Request{Refused: a.route.Refused[:0], Session: r.Session, InTokens: r.In, MaxOut: r.Out, Class: r.Class, Adapter: r.Adapter.Number, Tenant: tenant(r)}
	useful := p.cached && shared >= p.block
	switch {
	case useful && quoted:
		a.hashes, a.whole = r.ContextHashes(a.hashes, a.whole, p.block)
	case useful || p.routed:
		a.hashes = r.PrefixHashes(a.hashes, p.block)
	}
	if p.routed {
		a.route.Prefix, a.route.Block = a.hashes[:min(len(a.hashes), r.In/p.block)], p.block
	}
	a.seq.Reset()
	// Numbers in order of starting: the senders' own may repeat, because of
	// retries.
	a.seq.ID = p.n.started
	a.seq.Prompt, a.seq.MaxTokens, a.seq.Adapter = r.In, r.Out, r.Adapter.Number
	a.seq.Priority = r.Priority
	if useful {
		a.seq.Hashes, a.seq.Shared = a.hashes, shared
	}
	a.seq.Sink = a
	if a.runs != nil && !p.cuts && len(p.meters) == 0 {
		a.seq.Runs = a
	}
}

// sharedTokens is the number of leading tokens that another request could have
// in common: those before the first private span.
func sharedTokens(prompt []target.Span) int {
	n := 0
	for _, s := range prompt {
		if s.Private {
			break
		}
		n += s.Tokens
	}
	return n
}

// Tokens implements engine.Sink.
func (a *attempt) Tokens(s *engine.Seq, now clock.Time, n int) {
	if !a.answered {
		a.answered = true
		a.pool.ttft.Remove(&a.ttft)
		a.gate.fleet.FirstToken(&a.route, a.replica-a.pool.first, now)
		a.head(now, statusOK)
	}
	if a.garbled() {
		return
	}
	a.meter(n)
	if a.parts.shaped {
		a.shaped(now, n)
		return
	}
	if a.runs == nil {
		a.sink.Event(target.Event{At: now, Kind: target.Token, Content: target.Text, N: n})
		return
	}
	if n != a.heldN {
		a.tell()
		a.heldN = n
	}
	a.held = append(a.held, now)
}

// Run implements engine.RunSink.
func (a *attempt) Run(_ *engine.Seq, at []clock.Time) {
	a.tell()
	if a.parts.shaped {
		a.shapedRun(at)
		return
	}
	a.runs.Run(at, target.Text, 1)
}

// tell hands on the tokens that are held.
func (a *attempt) tell() {
	if len(a.held) > 0 {
		a.runs.Run(a.held, target.Text, a.heldN)
		a.held = a.held[:0]
	}
}

// Finished implements engine.Sink.
func (a *attempt) Finished(s *engine.Seq, now clock.Time, why engine.Finish) {
	a.tell()
	if why == engine.Aborted {
		a.leave(0)
		if a.why == "" {
			a.pool.n.canceled++
			a.pool.n.orphaned += uint64(s.Output)
		} else {
			a.pool.n.broken++
		}
		a.account(clock.Never)
		a.result.Cause, a.result.Err = a.cause, a.why
		if a.answered {
			a.result.Status = statusOK
		}
		a.later()
		return
	}
	a.leave(statusOK)
	a.pool.n.completed++
	reason := a.reason(why)
	a.account(now)
	a.usage = target.Usage{Prompt: s.Prompt, Completion: s.Output, Cached: a.server.CachedTokens, Reasoning: target.Unknown}
	if a.parts.shaped {
		a.usage.Reasoning = a.req.Shape.Reasoning
	}
	a.misreport(&a.usage)
	a.result.Cause, a.result.Status = target.CauseEOF, statusOK
	a.sink.Event(target.Event{At: now, Kind: target.Finished, Reason: reason})
	a.sink.Event(target.Event{At: now, Kind: target.UsageSeen, Usage: &a.usage})
	a.sink.Event(target.Event{At: now, Kind: target.Done})
	a.end(now)
}

// refuse ends an attempt that no engine took.
func (a *attempt) refuse(status int, why string) {
	a.leave(status)
	a.refused = true
	a.result = target.Result{
		Cause: target.CauseEOF, Status: status, Err: why, BytesIn: target.Unknown, BytesOut: target.Unknown,
	}
	if a.replica != router.None {
		a.result.Replica = a.pool.names[a.replica]
	}
	a.later()
}

// watch starts the clocks of the sender's patience.
func (a *attempt) watch() {
	p := a.pool
	if a.watched {
		return
	}
	a.watched = true
	if d := p.patience[0]; d > 0 {
		p.ttft.Add(&a.ttft, a.req.Intended.Add(a.req.Later+d), a)
	}
	if d := p.patience[1]; d > 0 {
		p.total.Add(&a.total, a.req.Intended.Add(d), a)
	}
}

// Expire implements clock.Expirer: the sender's patience is over, and the replica
// drops the request as if it had been cancelled.
func (a *attempt) Expire(id uint64) {
	a.cause = target.Cause(id)
	a.abort()
}

// leave takes the attempt off the books of the pool and the router, with the
// status that the router sees; 0: none.
func (a *attempt) leave(status int) {
	a.pool.ttft.Remove(&a.ttft)
	a.pool.total.Remove(&a.total)
	delete(a.pool.live, a.req)
	a.release(0)
	a.quit(status)
}

// quit takes it off the books of the router, with the status that this sees.
func (a *attempt) quit(status int) {
	if a.replica == router.None {
		return
	}
	e := router.End{At: a.pool.loop.Now(), FirstToken: clock.Never, Out: a.seq.Output, Status: status, RetryAfter: a.wish}
	if a.answered {
		e.FirstToken = a.seq.FirstToken
	}
	a.gate.fleet.Done(&a.route, a.replica-a.pool.first, e)
	if s := a.pool.scaler; s != nil {
		s.Released(a.replica)
	}
}

// account fills in the result with what the engine measured; ended is Never if
// the answer was not completed. The definitions are those of vLLM's v1 metrics:
// TTFT and E2E count from the arrival at the front end, the others between the
// engine core's own events.
func (a *attempt) account(ended clock.Time) {
	s := &a.seq
	a.server = target.Server{
		Source:         target.SourceInProcess,
		Queue:          between(s.Queued, s.Scheduled),
		Prefill:        between(s.Scheduled, s.FirstToken),
		Decode:         -1,
		TTFT:           between(s.Arrival, s.FirstToken),
		E2E:            between(s.Arrival, ended),
		Preempted:      s.PreemptedNS,
		CachedTokens:   s.Cached,
		Preemptions:    s.Preemptions,
		RecomputedToks: s.Recomputed,
		Spent:          spent(&s.Spent),
	}
	if a.pool.drafts {
		a.server.Speculation = target.Speculation{Known: true, Drafts: s.Verified, Tokens: s.Drafted, Accepted: s.Accepted}
	}
	if ended.Known() {
		a.server.Decode = between(s.FirstToken, s.LastToken)
	}
	if a.remote {
		a.accountBoth(ended)
	} else if !s.Scheduled.Known() {
		a.server.CachedTokens = target.Unknown
	}
	a.result = target.Result{
		BytesIn: target.Unknown, BytesOut: target.Unknown,
		Replica: a.pool.names[a.replica], Server: &a.server,
	}
}

func spent(s *engine.Spent) target.Spent {
	return target.Spent{
		Known: true, FrontEnd: s.FrontEndNS, Queue: s.QueueNS,
		Prefill: s.PrefillNS, Decode: s.DecodeNS, Interference: s.InterferenceNS, Transfer: s.TransferNS,
	}
}

// between is the time from one instant to another in nanoseconds, -1 if either
// is unknown.
func between(from, to clock.Time) int64 {
	if !from.Known() || !to.Known() {
		return -1
	}
	return int64(to - from)
}

// later has the End delivered by an event of its own, still at this instant: a
// sender need not expect it from within Start or Cancel.
func (a *attempt) later() { a.pool.loop.At(a.pool.loop.Now(), clock.RankTransit, a) }

// Fire implements clock.Event.
func (a *attempt) Fire(now clock.Time) {
	switch {
	case a.refused:
		a.head(now, a.result.Status)
	case a.absorbed:
		a.replay(now)
	}
	a.end(now)
}

// Entity implements clock.Event.
func (a *attempt) Entity() uint64 { return a.seq.ID }

// end delivers End. The attempt can be used again only after the sink has seen
// the result, which may start the next request.
func (a *attempt) end(now clock.Time) {
	if a.pool.redoes {
		a.result.Attempts = a.sends
	}
	a.sink.Event(target.Event{At: now, Kind: target.End, Result: &a.result})
	a.pool.give(a)
}
