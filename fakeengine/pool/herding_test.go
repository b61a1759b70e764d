package pool_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"goodput/fakeengine/pool"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// herd is a load of requests that take as long however many there are: what one
// more does to a replica is seen in its number in flight alone.
type herd struct {
	policy  string
	routers int
	scrape  time.Duration
	stagger bool
}

const (
	herdRate     = 40.0            // requests per second
	herdTime     = 5 * time.Second // of each request
	herdReplicas = 5
)

// run returns the mean over the intervals between scrapes of the largest difference
// between the replicas' requests in flight.
func (h herd) run(t *testing.T, length time.Duration) float64 {
	t.Helper()
	loop := clock.NewVirtual()
	c := config(t, loop, herdReplicas, h.policy)
	c.Engine.MaxNumSeqs, c.Engine.NumGPUBlocks = 4096, 1<<16
	c.Routers = pool.Routers{Seed: 9, Scrape: h.scrape, Stagger: h.stagger}
	for i := 1; i < h.routers; i++ {
		p, err := router.New(h.policy, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		c.Routers.Policies = append(c.Routers.Policies, p)
	}
	p := build(t, c)
	gaps := rng.New(4, "herd", 0)
	n := uint64(0)
	for now := gaps.Exp() / herdRate; now < length.Seconds(); now += gaps.Exp() / herdRate {
		r := request(n, 1, int(herdTime/step))
		at(loop, time.Duration(now*float64(time.Second)), clock.RankArrival, n, func() { p.Start(r, &recorder{}) })
		n++
	}
	// The skew is widest just before the next scrape; the fill-up is left out.
	total, samples := 0.0, 0
	interval := max(h.scrape, time.Second)
	for now := 4 * herdTime; now < length; now += interval {
		at(loop, now, clock.RankArrival, math.MaxUint64, func() {
			least, most := math.MaxInt, 0
			for i := range p.Replicas() {
				s := p.Engine(i).Stats()
				k := s.Arriving + s.Waiting + s.Running
				least, most = min(least, k), max(most, k)
			}
			total += float64(most - least)
			samples++
		})
	}
	loop.Run()
	return total / float64(samples)
}

// The least loaded replica of a shared stale report gets all requests until the next
// one: replicas differ by about min(rate*age, all in flight), which does not depend
// on how many routers there are. Scrapes out of step, two choices, and a single router
// that adds what it has sent since, are what helps.
func TestHerding(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const length = 100 * time.Second
	inFlight := herdRate * herdTime.Seconds()
	for _, age := range []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second} {
		want := min(herdRate*age.Seconds(), inFlight)
		for _, routers := range []int{1, 4} {
			got := herd{"least-reported:tie=first", routers, age, false}.run(t, length)
			t.Logf("reports every %v, %d routers: replicas differ by %.1f, min(rate*age, in flight) is %.0f", age, routers, got, want)
			if got < 0.9*want || got > 1.5*want {
				t.Errorf("reports every %v, %d routers: replicas differ by %.0f, want about %.0f", age, routers, got, want)
			}
		}
	}
	skew := func(h herd) float64 { return h.run(t, length) }
	shared := skew(herd{"least-reported:tie=first", 4, 2 * time.Second, false})
	staggered := skew(herd{"least-reported:tie=first", 4, 2 * time.Second, true})
	two := skew(herd{"least-reported:tie=first,d=2", 4, 2 * time.Second, false})
	own := skew(herd{"least-reported:tie=first,own=1", 1, 2 * time.Second, false})
	ownOfFour := skew(herd{"least-reported:tie=first,own=1", 4, 2 * time.Second, false})
	fresh := skew(herd{"least-reported:tie=first", 4, 0, false})
	got := fmt.Sprintf("shared %.1f, staggered %.1f, two choices %.1f, own requests: 4 routers %.1f, 1 router %.1f, live %.1f",
		shared, staggered, two, ownOfFour, own, fresh)
	if !(staggered < 0.8*shared && two < 0.6*shared && ownOfFour < shared && own < 0.2*shared && fresh < 3) {
		t.Error(got)
	}
	t.Log(got)
}

// Scrapes end with the load, go on with the next, and show what engines were at the
// last one.
func TestScrapes(t *testing.T) {
	loop := clock.NewVirtual()
	c := config(t, loop, 2, "least-outstanding")
	n := &nosy{}
	c.Policy = n
	c.Routers.Scrape = 10 * step
	p := build(t, c)
	seen := func(at time.Duration, running int) {
		t.Helper()
		if l := n.up[1]; l.AsOf != clock.Time(at) || l.Running+l.Waiting != running {
			t.Errorf("saw %+v, want %d requests as of %v", l, running, at)
		}
	}
	start := func(id uint64, now time.Duration, asOf time.Duration, running int) {
		at(loop, now, clock.RankArrival, id, func() {
			p.Start(request(id, 10, 3), &recorder{})
			seen(asOf, running)
		})
	}
	start(0, 3*step, 0, 0)
	start(1, 9*step, 0, 0)        // the first one has ended, and was never seen
	start(2, 11*step, 10*step, 1) // the second one is seen
	start(3, 55*step, 50*step, 0) // nothing was there in between
	start(4, 62*step, 60*step, 0) // but that scrapes went on
	loop.Run()
	if now := loop.Now(); now > clock.Time(80*step) {
		t.Errorf("the loop went on until %v", now)
	}
	if s := p.Stats(); s.Reported != 5 || s.Age != (3+9+1+5+2)*step {
		t.Errorf("%d picks by reports of %v together, want 5 of %v", s.Reported, s.Age, 20*step)
	}
	checkIdle(t, p)
}
