package router

import (
	"math"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// apimPriority is a priority pool of Azure API Management: the lowest priority number
// that has a backend whose breaker is closed gets the request, by a weighted draw
// among these. A breaker opens for `trip` when a backend has failed `failures` times
// within `interval`; failures are 429 and 5xx. If `retry-after` is accepted, it is open
// for as long as the last of them asks for. With all open the request is refused, and
// told when the first one closes.
type apimPriority struct {
	named
	priorities, weights []float64
	failures            int
	trip                time.Duration
	accepts             bool // Retry-After
	failed              window
	open                table[clock.Time] // until when
	rand                rng.Stream
	level               []Load // scratch
}

var (
	_ Policy  = (*apimPriority)(nil)
	_ Learner = (*apimPriority)(nil)
	_ Breaker = (*apimPriority)(nil)
)

func apimPriorityRule() rule {
	return rule{
		Info: Info{
			Name: "apim-priority",
			Help: "takes the first priority that has a backend whose circuit breaker is closed (Azure API Management)",
			Params: []Param{
				{Name: "priorities", Default: "1", Help: "priority of each replica, such as 1/1/2; lower ones are taken first"},
				{Name: "weights", Default: "1", Help: "weight of each replica within its priority"},
				{Name: "failures", Default: "3", Help: "failures that open a breaker,"},
				{Name: "interval", Default: "1m", Help: "if they are within so long"},
				{Name: "trip", Default: "10s", Help: "how long it stays open"},
				{Name: "retry-after", Default: "ignore", Help: "accept: as long as Retry-After of the last failure says, if it does; or ignore"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			return &apimPriority{
				priorities: a.floats("priorities", 0, 1000), weights: a.floats("weights", 0.001, 1e6),
				failures: a.int("failures", 1, 10_000), failed: window{length: a.duration("interval", time.Second, 24*time.Hour)},
				trip: a.duration("trip", 0, 24*time.Hour), accepts: a.choice("retry-after", "ignore", "accept") == "accept", rand: rng.New(seed, "router/apim-priority", 0), named: a.named(),
			}
		},
	}
}

// Pick implements Policy.
func (p *apimPriority) Pick(r *Request, up []Load) int {
	lowest := math.Inf(1)
	for i := range up {
		if !p.tripped(up[i].ID, r.At) {
			lowest = min(lowest, of(p.priorities, up[i].ID))
		}
	}
	p.level = p.level[:0]
	for i := range up {
		if of(p.priorities, up[i].ID) == lowest && !p.tripped(up[i].ID, r.At) {
			p.level = append(p.level, up[i])
		}
	}
	if len(p.level) == 0 {
		return None
	}
	return indexOf(up, p.level[drawWeighted(&p.rand, p.weights, p.level)].ID)
}

func (p *apimPriority) tripped(id int, now clock.Time) bool { return now < *p.open.at(id) }

// Placed implements Learner.
func (p *apimPriority) Placed(*Request, int) {}

// Done implements Learner.
func (p *apimPriority) Done(_ *Request, id int, e *End) {
	if e.Status != 429 && e.Status < 500 {
		return
	}
	p.failed.add(id, e.At)
	if p.failed.count(id, e.At) >= p.failures {
		trip := p.trip
		if p.accepts && e.RetryAfter > 0 {
			trip = e.RetryAfter
		}
		*p.open.at(id) = e.At.Add(trip)
		*p.failed.of.at(id) = (*p.failed.of.at(id))[:0]
	}
}

// RetryAfter implements Breaker: it is the time until the first breaker closes, of those
// that are open.
func (p *apimPriority) RetryAfter(now clock.Time) time.Duration {
	least := time.Duration(0)
	for _, until := range p.open {
		if d := until.Sub(now); d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}
