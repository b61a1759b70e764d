package server

import (
	"net/http"

	"goodput/fakeengine/fault"
	"goodput/loadgen/clock"
)

// faultStart arms the script, which only an event of the loop may.
type faultStart struct{ p *fault.Player }

var _ clock.Event = (*faultStart)(nil)

// Fire implements clock.Event.
func (e *faultStart) Fire(clock.Time) { e.p.Start() }

// Entity implements clock.Event.
func (e *faultStart) Entity() uint64 { return 0 }

// host is the server as its fault script sees it.
type host Server

var _ fault.Host = (*host)(nil)

// Crash breaks off all that replica i serves: its requests end as aborted without
// their clients having left, and that is what handlers cut connections for.
func (h *host) Crash(i int) {
	s := (*Server)(h)
	s.replicas[i].down.Store(true)
	s.forget(i)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.underWay() {
		st.mu.Lock()
		placed := st.box.placed && !st.box.ended
		st.mu.Unlock()
		if placed && st.needs(i) {
			st.drop()
			st.unblock()
		}
	}
}

// Boot puts a new engine in the place of the old one, which has nothing left to
// do: cold, and with its counters at 0.
func (h *host) Boot(i int) {
	s := (*Server)(h)
	r := s.replicas[i]
	if err := s.equip(i, r); err != nil {
		panic(err) // the same configuration was accepted at the start
	}
	s.mu.Lock()
	static := s.static
	s.mu.Unlock()
	for n := range static {
		r.engine.LoadAdapter(uint16(n + 1))
	}
	r.down.Store(false)
}

// Admit has the routers send to replica i, or not: both the faults and the scaler must
// have it take requests. A port of its own is not theirs.
func (h *host) Admit(i int, _ bool) {
	s := (*Server)(h)
	up := !s.faults.State(i).Out && (s.scaler == nil || s.scaler.Serving(i))
	if i < s.first {
		s.prefill.Fleet().SetUp(i, up)
		return
	}
	s.fleet.SetUp(i-s.first, up)
}

// injected is the answer that a script wants.
func injected(f *fault.State) *apiError {
	e := plainError(f.Status, "a fault script wants every request to get status %d now", f.Status)
	e.retryAfter = f.RetryAfter
	if f.Status == http.StatusTooManyRequests {
		e.kind = "TooManyRequests"
	}
	if e.kind == "" { // a status without a name
		e.kind = "Error"
	}
	return e
}
