package dispatch

import (
	"slices"
	"strings"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

// SessionCounts is the account of all sessions at one instant. Invariant 1 says that
// Scheduled is the sum of the others, StepsUnsent aside.
type SessionCounts struct {
	// Scheduled sessions became due; Waiting are those that have not begun for want of
	// a place, Live those that have begun and not ended.
	Scheduled, Waiting, Live int64
	// Outcomes counts those that have.
	Outcomes [record.NumSessionOutcome]int64
	// StepsUnsent are the steps that ended sessions did not come to.
	StepsUnsent int64
}

// session is one session on its way: a causal chain of requests for each of its
// threads. It is used again for another session once nothing points to it any more.
type session struct {
	d       *Dispatcher
	plan    datasets.Session
	class   *Class
	number  uint16 // of the class
	name    uint64 // of all sessions of the run
	id      string // the same
	tenant  string
	arrival clock.Time
	began   clock.Time // when it had a place among the live ones
	threads []thread

	inFlight int // steps that were sent, or have a place kept for them
	pending  int // events of the loop that will fire one of the threads
	running  int // threads that have steps left
	queue    []*thread
	stopped  bool // nothing is sent any more
	row      record.Session
	turn     turn

	prev, next *session
}

// progress says how far a thread is.
type progress uint8

const (
	unborn   progress = iota // its parent has not come to it
	blocked                  // waits for sub-agents
	waiting                  // its step is planned for an instant
	queued                   // its step is due, and the session has too many in flight
	admitted                 // it got the place of a step that ended
	sent                     // its step is in flight
	over
)

// spent is the time since the session's arrival along the chain of steps that leads
// here, by cause.
type spent struct{ model, wait int64 }

// thread is one line of steps. As an event of the loop it is its next step coming due.
type thread struct {
	s       *session
	plan    *datasets.Thread
	number  int
	next    int // index of the step that is due next, or in flight
	state   progress
	context []datasets.Span // of the step before, with its answer
	tokens  int             // in context
	quotes  []target.Quote  // answers in context that are quoted as they came
	// due is the intended instant of the next step, ready when the loop took it up,
	// and sent when it had a place in flight.
	due, ready, sent clock.Time
	ended            clock.Time // of the step before
	cost             spent      // until ended
}

var _ clock.Event = (*thread)(nil)

// Entity orders threads that come due at one instant.
func (t *thread) Entity() uint64 {
	return uint64(max(1, t.s.number)-1)<<ClassBit ^ t.s.plan.ID<<16 | uint64(t.number)&0xffff
}

// sessions is the list of live ones in order of arrival, and a stack of idle ones.
type sessions struct {
	first, last *session
	idle        []*session
	waiting     []schedule.Arrival // for a place
	lane        lanes
	counts      SessionCounts
	requests    uint64 // sent so far: the next one's number
}

// startSession makes a session live that arrived when it was due.
func (d *Dispatcher) startSession(now clock.Time, due schedule.Arrival) {
	l, s := &d.sessions, d.newSession(now, due)
	s.prev, s.next = l.last, nil
	if l.last != nil {
		l.last.next = s
	} else {
		l.first = s
	}
	l.last = s
	l.counts.Live++
	s.birth(&s.threads[0], due.At, spent{})
}

// birth lets a thread start after what ended then, and with it the sub-agents that
// start with it.
func (s *session) birth(t *thread, ended clock.Time, cost spent) {
	t.state, t.ended, t.cost = blocked, ended, cost
	s.proceed(t)
	for k := t.number + 1; k < len(s.threads); k++ {
		if c := &s.threads[k]; c.plan.Parent == t.number && c.plan.Spawn < 0 {
			s.birth(c, ended, cost)
		}
	}
}

// newSession plans a session in memory of one that ended, if there is any.
func (d *Dispatcher) newSession(now clock.Time, due schedule.Arrival) *session {
	l := &d.sessions
	var s *session
	if n := len(l.idle); n > 0 {
		s, l.idle = l.idle[n-1], l.idle[:n-1]
	} else {
		s = &session{d: d}
	}
	s.number = d.classOf(due)
	s.class = d.class(s.number)
	s.class.Sessions.Session(int(due.Item-s.class.First), &s.plan)
	s.name = s.plan.ID ^ uint64(max(1, s.number)-1)<<ClassBit
	s.begin(d, due)
	s.began = max(now, due.At)
	s.row.Queued = int64(s.began.Sub(due.At))
	return s
}

func (s *session) begin(d *Dispatcher, due schedule.Arrival) {
	s.id, s.tenant = d.texts.number(s.name), d.texts.number(uint64(s.plan.Tenant))
	s.arrival, s.inFlight, s.pending, s.stopped = due.At, 0, 0, false
	s.queue = s.queue[:0]
	n := len(s.plan.Threads)
	for cap(s.threads) < n {
		s.threads = append(s.threads[:cap(s.threads)], thread{})
	}
	s.threads = s.threads[:n]
	s.running = n
	for k := range s.threads {
		s.threads[k] = thread{s: s, plan: &s.plan.Threads[k], number: k, context: s.threads[k].context[:0], due: clock.Never, ready: clock.Never, sent: clock.Never}
	}
	s.row = record.Session{
		SessionID: s.id, Class: s.class.Name, Tenant: s.tenant, Arrival: due.At, Ended: clock.Never, Threads: int32(n), StepsPlanned: int32(s.plan.Steps()),
		Underway: s.plan.Underway,
		SCT:      record.Null, ModelTime: record.Null, WaitTime: record.Null, Lag: record.Null, Unloaded: record.Null,
		Turns: s.row.Turns[:0],
	}
}

// proceed plans the thread's next step, if all that it waits for has ended.
func (s *session) proceed(t *thread) {
	if s.stopped || t.state != blocked {
		return
	}
	from, cost := t.ended, t.cost
	for k := t.number + 1; k < len(s.threads); k++ {
		c := &s.threads[k]
		if c.plan.Parent != t.number || c.plan.Join != t.next {
			continue
		}
		if c.state != over {
			return
		}
		if c.ended > from {
			from, cost = c.ended, c.cost
		}
	}
	wait := t.plan.Steps[t.next].Wait
	t.cost = spent{cost.model, cost.wait + int64(wait)}
	t.due, t.state = from.Add(wait), waiting
	s.pending++
	s.d.cfg.Loop.At(max(t.due, s.began), clock.RankArrival, t)
}

// Fire is the next step coming due, or its place in flight becoming free.
func (t *thread) Fire(now clock.Time) {
	s := t.s
	s.pending--
	if s.stopped {
		if t.state == admitted {
			s.inFlight--
			s.endIfOver()
			s.d.finishIfEmpty()
			return
		}
		s.d.retire(s)
		return
	}
	if t.state == waiting {
		// A session that waited for its place was ready when it was due.
		t.ready = now - max(0, s.began-t.due)
		if most := s.class.MaxInFlight; most > 0 && s.inFlight >= most {
			t.state = queued
			s.queue = append(s.queue, t)
			return
		}
		s.inFlight++
	}
	t.state, t.sent = sent, now
	s.d.send(now, t)
}

// admit gives the place of a step that ended to the first that waits for one.
func (s *session) admit(now clock.Time) {
	if s.stopped || len(s.queue) == 0 {
		return
	}
	t := s.queue[0]
	s.queue = append(s.queue[:0], s.queue[1:]...)
	t.state = admitted
	s.inFlight++
	s.pending++
	s.d.cfg.Loop.At(now, clock.RankArrival, t)
}

// prompt makes the thread's context the prompt of its next step. The target holds it
// until the step has ended, and nothing touches it until then.
func (t *thread) prompt() {
	st := &t.plan.Steps[t.next]
	if st.Keep < t.tokens {
		// Cut writes each span where it stands already.
		t.context = datasets.Cut(t.context[:0], t.context, st.Keep)
		t.keepQuotes()
	}
	t.context = append(t.context, st.Append...)
	t.tokens = st.In
}

// quoted reports whether a later step may begin with the next one and its answer.
func (t *thread) quoted() bool {
	if t.next+1 < len(t.plan.Steps) {
		return true
	}
	for k := t.number + 1; k < len(t.s.threads); k++ {
		if c := t.s.threads[k].plan; c.Parent == t.number && c.Spawn == t.next {
			return true
		}
	}
	return false
}

// mainThread is the name of a session's first thread; the others have their number.
const mainThread = "main"

// describe fills in whose step the row is of.
func (d *Dispatcher) describe(t *thread, row *record.Request) {
	s := t.s
	row.SessionID, row.Trigger = s.id, t.plan.Steps[t.next].Trigger.String()
	if row.Tenant == "" {
		row.Tenant = s.tenant
	}
	row.Thread = d.threadName(t.number)
	if t.plan.Parent >= 0 {
		row.ParentThread = d.threadName(t.plan.Parent)
	}
}

func (d *Dispatcher) threadName(k int) string {
	if k == 0 {
		return mainThread
	}
	return d.texts.number(uint64(k))
}

// tooLong reports whether a server refused a step because it does not fit into the
// model's context.
func tooLong(r *record.Request) bool {
	if r.Outcome != record.HTTP4xx || r.HTTPStatus != 400 {
		return false
	}
	text := strings.ToLower(r.Error)
	return strings.Contains(text, "context length") || strings.Contains(text, "context_length")
}

// closing is what a session needs to know of the row of its step.
type closing struct {
	outcome  record.Outcome
	met      record.Tri
	overflow bool
	from, at clock.Time    // when it was handed over and when it was over
	said     *target.Quote // the answer, if later prompts quote it; nil: as planned
}

// landed goes on after a step that has its row.
func (s *session) landed(t *thread, c closing) {
	now := s.d.cfg.Loop.Now()
	s.inFlight--
	st := &t.plan.Steps[t.next]
	switch {
	case c.outcome == record.OK:
		s.row.StepsOK++
		s.row.PromptTokens += int64(st.In)
		s.row.OutputTokens += int64(st.Out)
	case c.outcome == record.Censored:
		s.stop(record.SessionCensored)
	default:
		s.row.StepsFailed++
		switch {
		case c.overflow:
			s.stop(record.SessionOverflow)
		case !s.class.ContinueOnError:
			s.stop(record.SessionFailed)
		}
	}
	switch c.met {
	case record.Yes:
		s.row.StepsMet++
	case record.No:
		s.row.StepsMissed++
	}
	if !c.at.Known() || c.at > now {
		c.at = now
	}
	t.cost.model += int64(max(0, c.at-max(c.from, t.sent)))
	t.ended = max(c.at, t.sent)
	t.context = append(t.context, st.Answer())
	t.tokens += st.Out
	if c.said != nil {
		t.quotes = append(t.quotes, *c.said)
	}
	if t.number == 0 {
		s.turn.step(t, c.outcome == record.OK, &s.row)
	}
	t.next++
	s.spawn(t)
	t.state = blocked
	if t.next == len(t.plan.Steps) {
		t.state = over
		s.running--
		if p := t.plan.Parent; p >= 0 {
			s.proceed(&s.threads[p])
		}
	} else {
		s.proceed(t)
	}
	s.admit(now)
	s.endIfOver()
}

// spawn starts the sub-agents of the step that t has just ended.
func (s *session) spawn(t *thread) {
	for k := t.number + 1; k < len(s.threads); k++ {
		c := &s.threads[k]
		if c.plan.Parent != t.number || c.plan.Spawn != t.next-1 {
			continue
		}
		c.tokens = c.plan.Steps[0].Keep
		c.context = datasets.Cut(c.context[:0], t.context, c.tokens)
		if len(t.quotes) > 0 {
			c.quotes = datasets.KeepQuotes(slices.Clone(t.quotes), c.context)
		}
		s.birth(c, t.ended, t.cost)
	}
}

// stop lets no more steps be sent. The first reason counts.
func (s *session) stop(why record.SessionOutcome) {
	if !s.stopped {
		s.stopped, s.row.Outcome = true, why
		s.queue = s.queue[:0]
	}
}

// endIfOver writes the session's row, once nothing of it is in flight or to come.
func (s *session) endIfOver() {
	if s.inFlight > 0 || s.running > 0 && !s.stopped {
		return
	}
	d, r, main := s.d, &s.row, &s.threads[0]
	for k := range s.threads {
		t := &s.threads[k]
		if t.next > 0 {
			r.Ended = max(r.Ended, t.ended)
		}
		t.quotes = nil // an attempt that was abandoned may still read them
	}
	if !s.stopped && r.StepsFailed > 0 {
		r.Outcome = record.SessionFailed
	}
	if r.Outcome == record.SessionCompleted && !r.Underway {
		r.SCT = int64(main.ended - s.arrival)
		r.ModelTime, r.WaitTime = main.cost.model, main.cost.wait
		r.Lag = r.SCT - r.ModelTime - r.WaitTime
	}
	r.StepsUnsent = r.StepsPlanned - r.StepsOK - r.StepsFailed - s.censored()
	l := &d.sessions
	l.counts.Live--
	l.counts.Outcomes[r.Outcome]++
	l.counts.StepsUnsent += int64(r.StepsUnsent)
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		l.first = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		l.last = s.prev
	}
	s.prev, s.next, s.stopped, s.running = nil, nil, true, 0
	if d.cfg.RecordSession != nil {
		d.cfg.RecordSession(r)
	}
	d.retire(s)
	d.freed()
}

// censored counts the steps that were sent and have neither succeeded nor failed.
func (s *session) censored() int32 {
	n := int32(0)
	for k := range s.threads {
		n += int32(s.threads[k].next)
	}
	return n - s.row.StepsOK - s.row.StepsFailed
}

// retire keeps an ended session for another one, unless an event still points to it.
func (d *Dispatcher) retire(s *session) {
	if s.pending == 0 && s.inFlight == 0 && s.running == 0 && d.stage <= draining {
		d.sessions.idle = append(d.sessions.idle, s)
	}
}

// stopSessions censors the sessions that are live; those with steps in flight end with
// these.
func (d *Dispatcher) stopSessions() {
	for s := d.sessions.first; s != nil; {
		next := s.next
		s.stop(record.SessionCensored)
		s.endIfOver()
		s = next
	}
}

// SessionCounts is the account of sessions so far.
func (d *Dispatcher) SessionCounts() SessionCounts { return d.sessions.counts }
