package server

import (
	"errors"
	"fmt"

	"goodput/fakeengine/autoscale"
	"goodput/loadgen/clock"
)

// scaleStart begins the evaluations, which only an event of the loop may.
type scaleStart struct{ s *autoscale.Scaler }

var _ clock.Event = (*scaleStart)(nil)

// Fire implements clock.Event.
func (e *scaleStart) Fire(now clock.Time) {
	e.s.Start()
	e.s.Wake(now)
}

// Entity implements clock.Event.
func (e *scaleStart) Entity() uint64 { return 1 }

var _ autoscale.Host = (*host)(nil)

// prepareScale sets up the scaler, if there is to be one, and returns how many replicas
// there are at the most.
func (s *Server) prepareScale(c *Config) (most int, err error) {
	if c.Scale == nil {
		return c.Replicas, nil
	}
	if c.Prefill != nil {
		return 0, errors.New("a server with prefill replicas cannot be scaled: leave out one of the two")
	}
	if s.scaler, err = autoscale.New(*c.Scale, c.Replicas, c.Loop, (*host)(s)); err != nil {
		return 0, fmt.Errorf("setting up the scaling of the server: %w", err)
	}
	return c.Scale.Max, nil
}

// Report implements autoscale.Host.
func (h *host) Report(i int, s autoscale.Signal) float64 {
	st := h.replicas[i].engine.Stats()
	if s == autoscale.KV {
		return st.KVUsed
	}
	return float64(st.Arriving + st.Waiting)
}

// Busy implements autoscale.Host.
func (h *host) Busy(i int) bool { return h.fleet.Load(i-h.first).Outstanding > 0 }

// Idle implements autoscale.Host: a server goes on looking, so that its metrics are true
// while nobody asks it for anything.
func (h *host) Idle() bool { return false }

// running reports whether replica i has an engine now, on the loop.
func (s *Server) running(i int) bool { return s.scaler == nil || s.scaler.Running(i) }
