package pool

import (
	"errors"
	"fmt"
	"time"

	"goodput/fakeengine/autoscale"
	"goodput/loadgen/clock"
)

var _ autoscale.Host = (*host)(nil)

// prepareScale sets up the scaler, if there is to be one, and returns how many replicas
// there are at the most.
func (p *Pool) prepareScale(c *Config) (most int, err error) {
	if c.Scale == nil {
		return c.Replicas, nil
	}
	if c.Prefill != nil {
		return 0, errors.New("a pool with prefill replicas cannot be scaled: leave out one of the two")
	}
	if p.scaler, err = autoscale.New(*c.Scale, c.Replicas, c.Loop, (*host)(p)); err != nil {
		return 0, fmt.Errorf("setting up the scaling of the pool: %w", err)
	}
	return c.Scale.Max, nil
}

// Report implements autoscale.Host.
func (h *host) Report(i int, s autoscale.Signal) float64 {
	st := h.engines[i].Stats()
	if s == autoscale.KV {
		return st.KVUsed
	}
	return float64(st.Arriving + st.Waiting)
}

// Busy implements autoscale.Host.
func (h *host) Busy(i int) bool {
	for _, g := range h.gates {
		if g.fleet.Load(i-h.first).Outstanding > 0 {
			return true
		}
	}
	return false
}

// Idle implements autoscale.Host.
func (h *host) Idle() bool { return len(h.live) == 0 }

// Running reports whether replica i has an engine now.
func (p *Pool) Running(i int) bool { return p.scaler == nil || p.scaler.Running(i) }

// Scaled is what has become of replicas, and the time until then that all of them have
// taken, cold starts among it; ok: something scales the pool.
func (p *Pool) Scaled(until clock.Time) (events []autoscale.Event, used time.Duration, ok bool) {
	if p.scaler == nil {
		return nil, 0, false
	}
	return p.scaler.History(), p.scaler.Used(until), true
}
