package router

import (
	"slices"
	"time"

	"goodput/loadgen/clock"
)

// envoyCSWRR is Envoy's client-side weighted round-robin: replicas are scheduled by
// deadlines with the weights rate/(utilisation + errors/rate*penalty) that they
// report, those without a valid report by the median of the others. A report counts
// after `blackout` of reporting, and no longer than `expiry`; weights are computed
// anew once per `update`.
//
// The report is what a router sees here: the rate and the errors of its own requests
// that ended since the last update, and the engine's KV usage as utilisation.
type envoyCSWRR struct {
	named
	blackout, expiry, update time.Duration
	penalty                  float64
	state                    table[cswrr]
	edf                      edf
	updated                  clock.Time
	started                  bool
	valid                    []float64
	weigh                    func(id int) float64
}

// cswrr is what is known of one replica.
type cswrr struct {
	ended, failed int // since the last update
	weight        float64
	since, last   clock.Time // of reports; known if reporting
	reporting     bool
}

var (
	_ Policy  = (*envoyCSWRR)(nil)
	_ Learner = (*envoyCSWRR)(nil)
	_ Reader  = (*envoyCSWRR)(nil)
)

func envoyCSWRRRule() rule {
	return rule{
		Info: Info{
			Name: "envoy-cswrr",
			Help: "takes replicas in turn by weights from their own reports (Envoy client-side weighted round robin)",
			Params: []Param{
				{Name: "blackout", Default: "10s", Help: "reports count after so long"},
				{Name: "expiry", Default: "3m", Help: "a report counts for so long"},
				{Name: "update", Default: "1s", Help: "time between updates of the weights"},
				{Name: "penalty", Default: "1", Help: "how much the share of errors adds to utilisation"},
			},
		},
		build: func(a *args, _ uint64) Policy {
			p := &envoyCSWRR{
				blackout: a.duration("blackout", 0, time.Hour), expiry: a.duration("expiry", time.Second, 24*time.Hour),
				update: a.duration("update", 100*time.Millisecond, time.Hour), penalty: a.float("penalty", 0, 1000), named: a.named(),
			}
			p.weigh = func(id int) float64 { return p.state.at(id).weight }
			return p
		},
	}
}

// Reads implements Reader.
func (p *envoyCSWRR) Reads() Signals { return EngineLoad }

// Placed implements Learner.
func (p *envoyCSWRR) Placed(*Request, int) {}

// Done implements Learner.
func (p *envoyCSWRR) Done(_ *Request, id int, e *End) {
	s := p.state.at(id)
	s.ended++
	if e.Failed() {
		s.failed++
	}
	if !s.reporting {
		s.reporting, s.since = true, e.At
	}
	s.last = e.At
}

// Pick implements Policy.
func (p *envoyCSWRR) Pick(r *Request, up []Load) int {
	if elapsed := r.At.Sub(p.updated); !p.started || elapsed >= p.update {
		p.refresh(r.At, elapsed, up)
	}
	for i := range up {
		if s := p.state.at(up[i].ID); s.weight == 0 {
			s.weight = p.median()
		}
	}
	p.edf.sync(up, p.weigh)
	return indexOf(up, p.edf.next(p.weigh))
}

// refresh computes the weights of up.
func (p *envoyCSWRR) refresh(now clock.Time, elapsed time.Duration, up []Load) {
	p.valid = p.valid[:0]
	for i := range up {
		s := p.state.at(up[i].ID)
		if s.reporting && now.Sub(s.last) > p.expiry {
			s.reporting = false
		}
		weight := 0.0
		if p.started && s.reporting && now.Sub(s.since) >= p.blackout {
			weight = orcaWeight(float64(s.ended)/elapsed.Seconds(), float64(s.failed)/elapsed.Seconds(), up[i].KVUsed, p.penalty)
			if weight == 0 {
				weight = s.weight // nothing ended since: the last report holds
			} else {
				p.valid = append(p.valid, weight)
			}
		}
		s.weight, s.ended, s.failed = weight, 0, 0
	}
	p.started, p.updated = true, now
	slices.Sort(p.valid)
	for i := range up {
		if s := p.state.at(up[i].ID); s.weight == 0 {
			s.weight = p.median()
		}
	}
}

// median of the valid weights, 1 without any.
func (p *envoyCSWRR) median() float64 {
	switch n := len(p.valid); {
	case n == 0:
		return 1
	case n%2 == 1:
		return p.valid[n/2]
	default:
		return (p.valid[n/2-1] + p.valid[n/2]) / 2
	}
}

// orcaWeight is rate/(utilisation + errors/rate*penalty); 0: there is none.
func orcaWeight(rate, errors, util, penalty float64) float64 {
	if rate <= 0 || util <= 0 {
		return 0
	}
	return rate / (util + errors/rate*penalty)
}
