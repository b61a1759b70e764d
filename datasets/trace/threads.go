package trace

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"goodput/datasets"
)

// threads is what a table knows of sessions: one entry per row.
type threads struct {
	session []uint32 // 1 + index into sessions; 0: the row stands alone
	turn    []uint16 // number in its thread; stays at the largest
	prev    []int32  // the row whose context is kept; -1: none
	keep    []int32
	kept    []bool // a later row keeps some of what the row appends
	before  []time.Duration
	after   []time.Duration
	trigger []datasets.Trigger

	sessions []session
}

// session lists the rows of a session by thread.
type session struct {
	name    string
	called  string // by the source of a planned file
	tenant  uint32
	threads []thread
}

type thread struct {
	parent, spawn, join int
	rows                []int32
}

// place returns the session, from 1, and the turn of row i.
func (t *threads) place(i int) (id uint64, turn uint16) { return uint64(t.session[i]), t.turn[i] }

// threadBuilder collects threads row by row.
type threadBuilder struct {
	threads
	path  string
	index map[string]uint32 // of sessions
}

func newThreadBuilder(path string) *threadBuilder {
	return &threadBuilder{path: path, index: map[string]uint32{}}
}

// add takes row i, whose lengths are not yet in the table. Only the first row of a
// session costs more than its place in the arrays; a file without sessions costs
// nothing.
func (b *threadBuilder) add(r *Row, i int, t *Table) error {
	if r.Session == "" {
		if b.session != nil {
			b.push(0, 0, -1, r)
		}
		return nil
	}
	for len(b.session) < i {
		b.push(0, 0, -1, &Row{})
	}
	s, ok := b.index[r.Session]
	if !ok {
		s = uint32(len(b.sessions))
		b.index[r.Session] = s
		b.sessions = append(b.sessions, session{name: r.Session, called: r.Name, tenant: r.Tenant})
	}
	th, err := b.thread(&b.sessions[s], r)
	if err != nil {
		return err
	}
	prev, err := b.previous(&b.sessions[s], th, r, t)
	if err != nil {
		return err
	}
	b.push(s+1, len(th.rows), prev, r)
	if prev >= 0 && r.Keep > int(b.keep[prev]) {
		b.kept[prev] = true
	}
	th.rows = append(th.rows, int32(i))
	return nil
}

func (b *threadBuilder) push(session uint32, turn int, prev int32, r *Row) {
	b.session = append(b.session, session)
	b.turn = append(b.turn, uint16(min(turn, math.MaxUint16)))
	b.prev = append(b.prev, prev)
	b.keep = append(b.keep, int32(r.Keep))
	b.kept = append(b.kept, false)
	b.before = append(b.before, r.Before)
	b.after = append(b.after, r.After)
	b.trigger = append(b.trigger, r.Trigger)
}

// thread finds or makes the row's thread.
func (b *threadBuilder) thread(s *session, r *Row) (*thread, error) {
	switch n := len(s.threads); {
	case r.Thread < n:
		th := &s.threads[r.Thread]
		th.join = max(th.join, r.Join)
		return th, nil
	case r.Thread > n:
		return nil, fmt.Errorf("%s:%d: thread: found thread %d of session %s, expected %d or less: threads are numbered in the order of their first rows", b.path, r.Line, r.Thread, r.Session, n)
	case (r.Thread == 0) != (r.Parent == -1) || r.Parent < -1 || r.Parent >= r.Thread:
		return nil, fmt.Errorf("%s:%d: parent: found %d for thread %d of session %s, expected a thread before it, or -1 for thread 0", b.path, r.Line, r.Parent, r.Thread, r.Session)
	}
	s.threads = append(s.threads, thread{parent: r.Parent, spawn: r.Spawn, join: r.Join})
	return &s.threads[r.Thread], nil
}

// previous is the row whose context the row keeps from: that of the thread, or of
// the parent's step that spawned it.
func (b *threadBuilder) previous(s *session, th *thread, r *Row, t *Table) (int32, error) {
	if n := len(th.rows); n > 0 {
		return th.rows[n-1], nil
	}
	if th.parent < 0 || r.Keep == 0 {
		return -1, nil
	}
	spawners := s.threads[th.parent].rows
	if th.spawn < 0 || th.spawn >= len(spawners) {
		return -1, fmt.Errorf("%s:%d: spawn: found step %d for thread %d of session %s, expected a step of thread %d before this row", b.path, r.Line, th.spawn, r.Thread, r.Session, th.parent)
	}
	prev := spawners[th.spawn]
	if had := int(t.in[prev] + t.out[prev]); r.Keep > had {
		return -1, fmt.Errorf("%s:%d: keep: found %d tokens, expected at most the %d of the step that spawned the thread", b.path, r.Line, r.Keep, had)
	}
	return prev, nil
}

// finish returns the threads; nil if no row belongs to a session. Content that a
// later row keeps is shared.
func (b *threadBuilder) finish(t *Table) (*threads, error) {
	if b.session == nil {
		return nil, nil
	}
	for i := range b.sessions {
		s := &b.sessions[i]
		for j := range s.threads {
			th := &s.threads[j]
			if th.parent < 0 {
				continue
			}
			if n := len(s.threads[th.parent].rows); th.spawn < -1 || th.join < -1 || th.spawn >= n || th.join >= n || th.join >= 0 && th.join <= th.spawn {
				return nil, fmt.Errorf("%s: session %s: thread %d starts after step %d of thread %d and ends before step %d, expected two of its %d steps in this order",
					b.path, s.name, j, th.spawn, th.parent, th.join, n)
			}
		}
	}
	for i := range b.session {
		prev := b.prev[i]
		if prev < 0 {
			continue
		}
		end := int(b.keep[prev])
		for j, last := t.span(int(prev)); j < last && end < int(b.keep[i]); j++ {
			t.shared[t.spans[j]] = true
			end += int(t.tokens[j])
		}
	}
	return &b.threads, nil
}

// planned replaces arrivals of sessions by the earliest instants at which the
// steps can start, if answers took no time: the arrival and the waits so far.
func (t *threads) planned(times []int64) {
	for i := range t.sessions {
		s := &t.sessions[i]
		start := times[s.threads[0].rows[0]]
		for _, th := range s.threads {
			at, wait := start, time.Duration(0)
			if th.parent >= 0 && th.spawn >= 0 {
				at = times[s.threads[th.parent].rows[th.spawn]]
			}
			for _, row := range th.rows {
				at += int64(wait + t.before[row])
				times[row] = at
				wait = t.after[row]
			}
		}
	}
}

// reorder moves row order[i] to place i.
func (t *threads) reorder(order []int) {
	to := make([]int32, len(order))
	for i, from := range order {
		to[from] = int32(i)
	}
	for i, p := range t.prev {
		if p >= 0 {
			t.prev[i] = to[p]
		}
	}
	for i := range t.sessions {
		for j := range t.sessions[i].threads {
			for k, row := range t.sessions[i].threads[j].rows {
				t.sessions[i].threads[j].rows[k] = to[row]
			}
		}
	}
	t.session, t.turn, t.prev = permuted(t.session, order), permuted(t.turn, order), permuted(t.prev, order)
	t.keep, t.kept, t.trigger = permuted(t.keep, order), permuted(t.kept, order), permuted(t.trigger, order)
	t.before, t.after = permuted(t.before, order), permuted(t.after, order)
}

// orderSessions puts sessions in the order of their arrivals; those of one time stay in
// the order of the file.
func (t *threads) orderSessions(start func(i int) time.Duration) {
	order := make([]int, len(t.sessions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(start(a), start(b)) })
	to := make([]uint32, len(order)+1)
	for i, from := range order {
		to[from+1] = uint32(i) + 1
	}
	for i, s := range t.session {
		t.session[i] = to[s]
	}
	t.sessions = permuted(t.sessions, order)
}

func permuted[T any](from []T, order []int) []T {
	out := make([]T, len(from))
	for i, j := range order {
		out[i] = from[j]
	}
	return out
}

// Sessions is the number of sessions.
func (t *Table) Sessions() int {
	if t.threads == nil {
		return 0
	}
	return len(t.threads.sessions)
}

// arrival is when session i arrives: its first row is sent then if times of rows are
// recorded, and otherwise after the wait before it.
func (t *Table) arrival(i int) time.Duration {
	row := t.threads.sessions[i].threads[0].rows[0]
	if t.traits.Recorded {
		return t.at[row]
	}
	return t.at[row] - t.threads.before[row]
}

// Session fills dst with session i, in order of arrival, or of the file if the trace
// has no times.
func (t *Table) Session(i int, dst *datasets.Session) {
	s := &t.threads.sessions[i]
	*dst = datasets.Session{ID: uint64(i) + 1, Name: s.name, Tenant: s.tenant, Recorded: t.traits.Timed && t.traits.Recorded}
	if t.planned != nil {
		dst.Name = s.called
	}
	var start time.Duration
	if t.traits.Timed {
		start = t.arrival(i)
		dst.At = start
	}
	for _, th := range s.threads {
		out := datasets.Thread{Parent: th.parent, Spawn: th.spawn, Join: th.join}
		for n, row := range th.rows {
			step := t.step(int(row))
			if n > 0 {
				step.Wait += t.threads.after[th.rows[n-1]]
			}
			if t.traits.Timed {
				step.At = t.at[row] - start
			}
			out.Steps = append(out.Steps, step)
		}
		dst.Threads = append(dst.Threads, out)
	}
}

// step is row i as a step.
func (t *Table) step(i int) datasets.Step {
	s := datasets.Step{
		Keep: t.keep(i), In: int(t.in[i]), Out: int(t.out[i]), OutKey: t.outKey(i),
		Wait: t.threads.before[i], Trigger: t.threads.trigger[i],
	}
	if t.planned != nil {
		s.Reasoning = int(t.planned.reasoning[i])
	}
	kept := s.Keep
	if t.threads.prev[i] < 0 && kept > 0 {
		s.Append, s.Keep = t.before(nil, i, kept), 0
	}
	if s.In > kept {
		s.Append = t.own(s.Append, i, s.In-kept)
	}
	return s
}
