package engine

import (
	"math/bits"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// step is one pass over the model.
type step struct {
	place int   // index in the pipe
	no    int64 // its number, from 1
	// rows are in order of scheduling.
	rows  []row
	batch steptime.Batch // what they add up to
	ps    int64          // duration
	// decodes is what the decode rows add up to, and decodeNS the duration without
	// the prefill rows, prefills, in order.
	decodes  steptime.Batch
	decodeNS int64
	prefills []prefill
	// adapterPS is how much of the computing is due to adapters.
	adapterPS int64
	// grouped is how many more rows the group has in the step, and loud says that
	// somebody is to hear of its end.
	grouped int
	loud    bool
}

// row is the share of one sequence in a step.
type row struct {
	s *Seq // nil: nothing more is due to it
	n int  // tokens
	// prefill is 1 + the index in the step's prefills; 0: a decode; charged: its
	// time is booked.
	prefill int32
	// emits: the step computes all that is known of the sequence, and so gives a
	// token (R22); drafts of the tokens are guesses behind it, which may give more.
	emits  bool
	drafts int32
	order  uint64 // of the admission of s
}

const charged = -1

// prefill is a row that computes what was known of its sequence at admission.
// ns is the duration of the step without other prefills, and load the time before
// it in which the sequence's adapter was brought to the GPU.
type prefill struct {
	from, n  int
	emits    bool
	ns, load int64
}

// random is a model whose steps vary. Mean is what Step(b) varies around; it
// leaves no trace.
type random interface {
	Mean(b *steptime.Batch) int64
}

func (st *step) reset() {
	st.rows, st.prefills = st.rows[:0], st.prefills[:0]
	st.grouped, st.loud = 0, false
	st.batch, st.decodes = steptime.Batch{}, steptime.Batch{}
}

// find returns the row of s in the step, or nil.
func (st *step) find(s *Seq) *row {
	if n := s.sched.row[st.place]; n < len(st.rows) && st.rows[n].s == s {
		return &st.rows[n]
	}
	return nil
}

// add appends a row of the last n computed tokens of s, of which the last drafts
// are guesses.
func (st *step) add(s *Seq, n, drafts int, emits bool) {
	s.sched.row[st.place] = len(st.rows)
	r := row{s: s, n: n, emits: emits, drafts: int32(drafts), order: s.sched.order}
	if emits && (s.Runs == nil || s.turning(s.Output+s.sched.pending)) {
		st.loud = true
	}
	if from := s.sched.computed - n; from < s.sched.goal {
		st.prefills = append(st.prefills, prefill{from: from, n: n, emits: emits})
		r.prefill = int32(len(st.prefills))
	} else {
		extend(&st.decodes, from, n, emits)
		st.decodes.Emit += drafts
		st.decodes.Drafts += drafts
	}
	st.rows = append(st.rows, r)
}

// turning reports whether output token n begins or ends the answer.
func (s *Seq) turning(n int) bool { return n == 1 || n == s.StopAt || n >= s.MaxTokens }

// insert adds the row of a decode that the step has counted already.
func (st *step) insert(s *Seq) {
	st.rows = append(st.rows, row{})
	i := len(st.rows) - 1
	for ; i > 0 && st.rows[i-1].order > s.sched.order; i-- {
		st.rows[i] = st.rows[i-1]
		if moved := st.rows[i].s; moved != nil {
			moved.sched.row[st.place] = i
		}
	}
	st.rows[i] = row{s: s, n: 1, emits: true, order: s.sched.order}
	s.sched.row[st.place] = i
}

func extend(b *steptime.Batch, from, n int, emits bool) {
	b.Add(from, n)
	if emits {
		b.Emit++
	}
}

// total sums the rows up to the step's batch.
func (st *step) total() *steptime.Batch {
	st.batch = st.decodes
	for i := range st.prefills {
		p := &st.prefills[i]
		extend(&st.batch, p.from, p.n, p.emits)
	}
	return &st.batch
}

// share finds what the step would have taken for the decodes alone, and for each
// prefill alone beside them. The difference to its duration is what a sequence
// suffers from the prefill of others. In most steps there is none.
func (e *Engine) share(st *step) {
	st.decodeNS = ns(st.ps)
	switch {
	case len(st.prefills) == 0:
		return
	case len(st.prefills) == 1:
		st.prefills[0].ns = st.decodeNS
		if st.decodes.Seqs == 0 {
			return
		}
	}
	whole := st.ps - st.adapterPS
	if e.varies {
		whole = e.mean(&st.batch)
	}
	if st.decodes.Seqs > 0 {
		st.decodeNS = e.part(st, &st.decodes, whole)
	}
	if len(st.prefills) == 1 {
		return
	}
	for i := range st.prefills {
		p := &st.prefills[i]
		e.scratch = st.decodes
		extend(&e.scratch, p.from, p.n, p.emits)
		p.ns = e.part(st, &e.scratch, whole)
	}
}

// part is what the batch b, a part of the step, would take, in the proportion
// that the model gives it; whole is what it gives the step.
func (e *Engine) part(st *step, b *steptime.Batch, whole int64) int64 {
	ps := e.mean(b)
	if ps >= whole {
		return ns(st.ps)
	}
	hi, lo := bits.Mul64(uint64(st.ps), uint64(ps))
	ps64, _ := bits.Div64(hi, lo, uint64(whole))
	return ns(int64(ps64))
}

// elapsed is the time since the start of the executing step, ns.
func (e *Engine) elapsed(now clock.Time) int64 {
	return int64(now) - ns(e.endPS-e.pipe[e.first].ps)
}

// charge books the first d ns of the executing step for the sequence of its row
// r. What is not its own is left for settle to count as interference.
func (e *Engine) charge(r *row, d int64) {
	s, st := r.s, &e.pipe[e.first]
	switch {
	case r.prefill == charged:
	case !e.runs(s): // preempted; that time is counted elsewhere
	case r.prefill > 0:
		p := &st.prefills[r.prefill-1]
		load := min(d, p.load)
		s.TransferNS += load
		s.PrefillNS += min(d-load, p.ns)
	default:
		s.DecodeNS += min(d, st.decodeNS)
	}
	r.prefill = charged
}

// settle completes the account of a sequence that is over.
func (s *Seq) settle(now clock.Time) {
	landed := min(s.sched.lands, now)
	s.FrontEndNS = int64(landed - s.Arrival)
	if !s.Scheduled.Known() {
		s.QueueNS = int64(now-landed) - s.sched.blockedNS
		return
	}
	s.QueueNS = int64(s.Scheduled-landed) - s.sched.blockedNS
	later := s.TransferNS - s.sched.blockedNS
	s.InterferenceNS = int64(now-s.Scheduled) - s.PrefillNS - s.DecodeNS - s.PreemptedNS - later
}

// ns rounds picoseconds up to the nanoseconds of the loop.
func ns(ps int64) int64 { return (ps + 999) / 1000 }
