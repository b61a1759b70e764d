package dispatch

import (
	"time"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// Probes are a thin stream of equal requests beside the load: what they see of a server is
// the load's doing and not their own. They pass by the cap and by the client layer, and
// move nothing of the load: it is neither counted with them nor numbered after them.
type Probes struct {
	// Every is the time between two, from the opening of the window to the last arrival;
	// 0: there are none.
	Every time.Duration
	// Item is what each of them asks.
	Item datasets.Item
}

// probing is the next probe, as an event.
type probing struct {
	d     *Dispatcher
	begun bool
	from  clock.Time // when the window opened
	// sent probes became due; so many of them are in flight, and so many ended without
	// success.
	sent, inFlight, failed int64
}

var _ clock.Event = (*probing)(nil)

// Entity is the number of the probe.
func (p *probing) Entity() uint64 { return record.ProbeSeq + uint64(p.sent) }

// begin arranges the first probe for when the window opens, once.
func (p *probing) begin(at clock.Time) {
	if p.begun || p.d.cfg.Probes.Every == 0 {
		return
	}
	p.begun, p.from = true, at
	p.d.cfg.Loop.At(at, clock.RankArrival, p)
}

// due is the intended instant of the next probe: by multiplication, so that it does not
// drift.
func (p *probing) due() clock.Time {
	return p.from.Add(time.Duration(p.sent) * p.d.cfg.Probes.Every)
}

// Fire sends the probe that is due. The next one is arranged first.
func (p *probing) Fire(now clock.Time) {
	d := p.d
	if d.stage != offering {
		return
	}
	seq, due := p.Entity(), p.due()
	p.sent++
	p.inFlight++
	d.cfg.Loop.At(p.due(), clock.RankArrival, p)
	f := d.flying.take(d)
	f.item, f.thread, f.warm, f.probe, f.waited = d.cfg.Probes.Item, nil, false, true, 0
	f.plannedCached, f.poolCached = record.Null32, record.Null32
	it := &f.item
	f.first.req = target.Request{
		Seq: seq, Intended: due, Prompt: it.Prompt, In: it.In, Out: it.Out, OutKey: it.OutKey,
		IgnoreEOS: d.cfg.IgnoreEOS, Priority: d.cfg.Priority,
	}
	d.launch(now, f)
}

// landed notes the end of a probe.
func (p *probing) landed(o record.Outcome) {
	p.inFlight--
	if o != record.OK {
		p.failed++
	}
}

// Probed is how many probes became due, and how many of those that have ended did not
// succeed. Counts has them, too.
func (d *Dispatcher) Probed() (sent, failed int64) { return d.probes.sent, d.probes.failed }
