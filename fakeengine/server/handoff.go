package server

import (
	"net/http"

	"goodput/fakeengine/disagg"
	"goodput/fakeengine/engine"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
)

var _ disagg.Owner = (*choice)(nil)

// handOver has a prefill replica compute the prompt of all choices. Each is a
// request of its own there, as for vLLM behind a proxy; they share its blocks.
func (st *stream) handOver() *apiError {
	s := st.srv
	fleet := s.prefill.Fleet()
	st.prompted = st.route
	st.prompted.MaxOut = 1
	if st.source = fleet.Pick(&st.prompted); st.source == router.None {
		return errNoReplica()
	}
	err := s.takes(st.source)
	for i := range st.choices {
		if err != nil {
			break
		}
		c := &st.choices[i]
		if e := s.prefill.Start(&c.handoff, &c.seq, st.source, st.replica, c); e != nil {
			err = badRequest("", "%v", e) // they are alike, so it is the first one
			break
		}
		st.open++
	}
	if err != nil {
		fleet.Done(&st.prompted, st.source, router.End{At: s.loop.Now(), FirstToken: clock.Never, Status: err.status})
		return err
	}
	st.remote, st.computed = true, st.open
	return nil
}

// Prefilled implements disagg.Owner.
func (c *choice) Prefilled(h *disagg.Handoff, now clock.Time) {
	st := c.st
	s, why := h.Prompt(), engine.Length
	if !s.FirstToken.Known() {
		why = engine.Aborted
	}
	l := &st.srv.replicas[st.source].tally
	if why != engine.Aborted {
		l.output(s, s.FirstToken, clock.Never, s.Output)
		l.answered(1, s.Output)
	}
	l.end(s, why)
	st.srv.lookForFullKV(st.source)
	if st.computed--; st.computed == 0 {
		st.srv.prefill.Fleet().Done(&st.prompted, st.source, router.End{At: now, FirstToken: clock.Never, Out: len(st.choices), Status: http.StatusOK})
	}
}

// needs reports whether the request cannot go on without replica i.
func (st *stream) needs(i int) bool {
	if st.replica == i {
		return true
	}
	if !st.remote || st.source != i {
		return false
	}
	for k := range st.choices {
		if st.choices[k].handoff.Prefilling() {
			return true
		}
	}
	return false
}

// cached is the number of prompt tokens that did not have to be computed: on the
// prefill replica, if there was one.
func (c *choice) cached() int {
	s := &c.seq
	if c.st.remote {
		s = c.handoff.Prompt()
	}
	if !s.Scheduled.Known() {
		return unknown
	}
	return s.Cached
}

// handedOver replaces what two replicas have a part in.
func (t *truth) handedOver(h *disagg.Handoff, source int) {
	p := h.Prompt()
	t.source, t.arrival, t.spent = source, p.Arrival, h.Spent()
	t.preemptions += p.Preemptions
	t.recomputed += p.Recomputed
	t.preemptedNS = t.spent.PreemptedNS
}
