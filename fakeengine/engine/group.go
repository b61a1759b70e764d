package engine

import (
	"math"

	"goodput/fakeengine/steptime"
)

// group is the running sequences of which nothing is to be said: each gets one
// row of one token in every step, and nobody wants to hear of it. Their state is
// not kept up to date; it follows from the number of steps since they joined, and
// a step adds the group to its batch as a whole. Only what changes costs time: a
// sequence that joins or leaves, and one that needs another KV block.
//
// Everything else works on sequences that are not in the group. So ungroup is
// called before a sequence's last row is scheduled, before it is aborted, and, for
// all of them, before blocks or budget could run out in a step.
type group struct {
	n int
	// ctx is the sum of the tokens that the next step's rows will attend to, and
	// lead the largest number of computed tokens minus scheduled steps; stale: its
	// sequence may have left.
	ctx   int64
	lead  int64
	stale bool
	// phases holds the members, those that take their next block in the same step
	// together, in order of admission.
	phases []list
	// ends is a heap of the members by their last step.
	ends []member
	// youngest is at least the largest order of admission, and rest the last step
	// in which nobody may join.
	youngest uint64
	rest     int64
}

// member is a sequence in the group and the step of its last row, which it
// takes outside.
type member struct {
	last int64
	s    *Seq
}

// pause is how many steps the group stays away after it was dissolved.
const pause = 16

// least is how many rows in the group make joining worth while.
const least = 3

// seqs is the number of running sequences.
func (e *Engine) seqs() int { return e.running.n + e.group.n }

// due is the list of members that take a block in step n.
func (g *group) due(n int64) *list {
	return g.phase(0, n)
}

// phase is the list of a sequence that has computed so many tokens before step
// n: due gives it in the steps before which they fill their blocks.
func (g *group) phase(computed int, n int64) *list {
	size := int64(len(g.phases))
	at := int64(computed) - n
	if size&(size-1) == 0 { // saves a division
		return &g.phases[at&(size-1)]
	}
	return &g.phases[(at%size+size)%size]
}

// plain reports whether s, which is about to be scheduled, could do without being
// looked at in the steps to come.
func (e *Engine) plain(s *Seq) bool {
	c := &s.sched
	return s.Runs != nil && s.Output > 0 && s.lacks() == 1 &&
		c.computed >= c.goal && c.computed >= c.peak && // no prefill
		c.upto+int64(c.pending) == e.scheduled && // a token from every step since
		c.table.Private() &&
		s.rest() >= least
}

// rest is the number of output tokens that no scheduled step will give.
func (s *Seq) rest() int {
	n := s.MaxTokens
	if s.StopAt > s.Output && s.StopAt < n {
		n = s.StopAt
	}
	return n - s.Output - s.sched.pending
}

// join takes s into the group in place of a row in st. There is room for it.
func (e *Engine) join(st *step, s *Seq) {
	g := &e.group
	c := &s.sched
	e.kv.Grow(&c.table, c.computed+1)
	e.running.remove(s)
	c.since = st.no
	if lead := int64(c.computed) - e.scheduled; g.n == 0 || lead > g.lead {
		g.lead, g.stale = lead, false
	}
	phase := g.phase(c.computed, st.no)
	phase.insertAfter(phase.lastBefore(c.order), s)
	c.grouped = true
	g.push(member{last: e.scheduled + int64(s.rest()), s: s})
	if g.n == 0 {
		g.youngest = 0
	}
	g.youngest = max(g.youngest, c.order)
	g.n++
	g.ctx += int64(c.computed) + 1
	st.grouped++
	extend(&st.decodes, c.computed, 1, true)
}

// lastBefore is the last sequence of the list that was admitted before order, or
// nil.
func (l *list) lastBefore(order uint64) *Seq {
	at := l.tail
	for at != nil && at.sched.order > order {
		at = at.sched.prev
	}
	return at
}

// include puts the group into a step.
func (g *group) include(e *Engine, st *step) {
	st.grouped = g.n
	if g.n == 0 {
		return
	}
	st.decodes = steptime.Batch{Tokens: g.n, Seqs: g.n, Emit: g.n, DecodeCtx: g.ctx}
	if e.linear == nil {
		st.decodes.DecodeMax = e.longest() + 1
	}
}

// longest is the largest number of computed tokens in the group.
func (e *Engine) longest() int64 {
	g := &e.group
	if g.stale {
		g.lead, g.stale = math.MinInt64, false
		for i := range g.phases {
			for s := g.phases[i].head; s != nil; s = s.sched.next {
				g.lead = max(g.lead, s.lead())
			}
		}
	}
	return g.lead + e.scheduled
}

// lead is the number of computed tokens of a member minus that of scheduled
// steps; it does not change.
func (s *Seq) lead() int64 { return int64(s.sched.computed) - (s.sched.since - 1) }

// done is the last finished step whose token s has been given.
func (e *Engine) done(s *Seq) int64 {
	if e.finishing && s.sched.order > e.cursor {
		return e.finished - 1
	}
	return e.finished
}

// ungroup makes s one of the running sequences again, as if it had always been:
// with its rows in the steps under way.
func (e *Engine) ungroup(s *Seq) {
	c := &s.sched
	done, before := e.done(s), c.since-1
	e.group.remove(e, s)
	c.grouped = false
	if done > before {
		s.Output += int(done - before)
		s.DecodeNS += e.log.between(before, done)
		s.LastToken = e.log.end(done)
		c.upto = done
	}
	c.computed += int(e.scheduled - before)
	c.pending += int(e.scheduled - max(done, before))
	// The names that its blocks had got by the last scheduling.
	e.kv.Fill(&c.table, s.tokens()-int(done-e.scheduledAt))
	e.running.insertAfter(e.running.lastBefore(c.order), s)
	for i := range e.pipe {
		if st := &e.pipe[i]; st.no > max(done, before) && st.no <= e.scheduled {
			st.insert(s)
			st.grouped--
			if st.no == e.finished { // is being told, and had its tokens counted
				e.counters.generated--
			}
		}
	}
}

func (g *group) remove(e *Engine, s *Seq) {
	g.n--
	g.ctx -= s.lead() + e.scheduled + 1
	g.stale = g.stale || s.lead() == g.lead
	s.sched.in.remove(s)
	g.drop(s.sched.place)
}

// release takes out those whose last row belongs into step n.
func (e *Engine) release(n int64) {
	for g := &e.group; len(g.ends) > 0 && g.ends[0].last <= n; {
		e.ungroup(g.ends[0].s)
	}
}

// dissolve takes all out, for a step in which not all may get what they need.
func (e *Engine) dissolve() {
	for g := &e.group; g.n > 0; {
		e.ungroup(g.ends[len(g.ends)-1].s)
	}
	e.group.rest = e.scheduled + pause
}

// ample reports whether in step n each running sequence gets its tokens and
// blocks, whatever the order, except that the last ones may get fewer tokens.
func (e *Engine) ample(n int64) bool {
	g := &e.group
	blocks, budget := 0, e.budget-g.n
	if g.n > 0 {
		blocks = g.due(n).n
	}
	for s := e.running.head; s != nil; s = s.sched.next {
		want := e.chunk(s.lacks())
		if want > budget {
			if budget < 0 || g.n > 0 && s.sched.order < g.youngest {
				return false
			}
			want = budget
		}
		blocks += max(0, e.kv.Blocks(s.sched.computed+want)-s.sched.table.Held())
		budget -= want
	}
	return budget >= 0 && blocks <= e.kv.Free()
}

// grow gives blocks to the members that need one in the step being scheduled, up
// to the one admitted before order; next is the first of them.
func (e *Engine) grow(next *Seq, order uint64) *Seq {
	for ; next != nil && next.sched.order < order; next = next.sched.next {
		e.kv.Grow(&next.sched.table, int(next.lead()+e.scheduled)+1)
	}
	return next
}

func (g *group) push(m member) {
	g.ends = append(g.ends, m)
	i := len(g.ends) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if g.ends[parent].last <= m.last {
			break
		}
		g.put(i, g.ends[parent])
		i = parent
	}
	g.put(i, m)
}

func (g *group) put(i int, m member) { g.ends[i], m.s.sched.place = m, i }

// drop removes the member at i.
func (g *group) drop(i int) {
	last := len(g.ends) - 1
	m := g.ends[last]
	g.ends[last] = member{}
	g.ends = g.ends[:last]
	if i == last {
		return
	}
	for i > 0 && m.last < g.ends[(i-1)/2].last {
		g.put(i, g.ends[(i-1)/2])
		i = (i - 1) / 2
	}
	for {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && g.ends[child+1].last < g.ends[child].last {
			child++
		}
		if g.ends[child].last >= m.last {
			break
		}
		g.put(i, g.ends[child])
		i = child
	}
	g.put(i, m)
}
