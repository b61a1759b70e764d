package shaper

import (
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// semanticCache answers a share of the requests itself, as a cache of answers to alike
// prompts does (Azure API Management, llm-semantic-cache-lookup). What is alike is not
// modelled: each request is found with the same chance. While the cache is lost, all
// load comes back at once: at 40 % hits 1/0.6 = 1.67 times as much.
type semanticCache struct {
	named
	hit     float64
	lost    clock.Time
	lostFor time.Duration
	rand    rng.Stream
	nobodyIn
}

// nobodyIn is the part of a shaper in which nothing waits.
type nobodyIn struct{}

// Next implements Shaper.
func (nobodyIn) Next(clock.Time) (*Request, Decision, bool) { return nil, Decision{}, false }

// Done implements Shaper.
func (nobodyIn) Done(*Request, clock.Time) {}

// Cancel implements Shaper.
func (nobodyIn) Cancel(*Request) {}

var _ Shaper = (*semanticCache)(nil)

func semanticCacheEntry() entry {
	return entry{
		Info: Info{
			"semantic-cache", "answers a share of the requests itself, until it is lost (Azure API Management)",
			[]Param{
				{"hit", "0.4", "share of the requests that it answers"},
				{"lost-at", "0s", "when it is lost"},
				{"lost-for", "0s", "for how long; 0s: never"},
			},
		},
		build: func(a *args, seed uint64) Shaper {
			const longest = 1000 * time.Hour
			return &semanticCache{
				hit: a.float("hit", 0, 1), lost: clock.Time(a.duration("lost-at", 0, longest)), lostFor: a.duration("lost-for", 0, longest),
				rand: rng.New(seed, "shaper/semantic-cache", 0), named: a.named(),
			}
		},
	}
}

// Offer implements Shaper. Chance is drawn for each request, so that a loss changes
// nothing of those after it.
func (s *semanticCache) Offer(_ *Request, now clock.Time) Decision {
	found := s.rand.Float64() < s.hit
	if found && !(now >= s.lost && now < s.lost.Add(s.lostFor)) {
		return Decision{Kind: Absorb}
	}
	return Decision{}
}
