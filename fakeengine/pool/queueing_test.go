package pool_test

import (
	"math"
	"testing"
	"time"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
	"goodput/loadgen/target"
)

// servers is the number of replicas in the queueing tests; each serves one
// request at a time, and is busy for utilisation of the time.
const (
	servers     = 4
	utilisation = 0.6
)

// waits plays n Poisson arrivals with geometric service times (about exponential,
// 10 steps on average) and returns the mean wait for a server and the first two
// moments of the service time, in seconds.
func waits(t *testing.T, policy string, n int) (wait, m1, m2 float64) {
	t.Helper()
	const unit, meanSteps = time.Millisecond, 10
	loop := clock.NewVirtual()
	c := config(t, loop, servers, policy)
	c.Engine.MaxNumSeqs, c.Step = 1, steptime.Shared(flat(unit))
	p := build(t, c)
	gaps, lengths := rng.New(5, "gaps", 0), rng.New(5, "lengths", 0)
	var when float64
	for i := range n {
		when += gaps.Exp() * meanSteps * unit.Seconds() / (servers * utilisation)
		out := 1 + int(math.Log(1-lengths.Float64())/math.Log(1-1.0/meanSteps))
		service := float64(out) * unit.Seconds()
		m1 += service / float64(n)
		m2 += service * service / float64(n)
		r := request(uint64(i), 1, out)
		at(loop, time.Duration(when*1e9), clock.RankArrival, r.Seq, func() {
			p.Start(r, waitSink(func(ns int64) { wait += float64(ns) / 1e9 / float64(n) }))
		})
	}
	loop.Run()
	if s := p.Stats(); s.Completed != uint64(n) {
		t.Fatalf("%d of %d completed", s.Completed, n)
	}
	return wait, m1, m2
}

// waitSink is told the time from arrival to first scheduling, in nanoseconds.
type waitSink func(ns int64)

func (f waitSink) Event(e target.Event) {
	if e.Kind == target.End {
		f(e.Result.Server.TTFT - e.Result.Server.Prefill)
	}
}

// TestQueueing: a Poisson stream split at random makes four independent M/G/1
// queues, whose mean wait is that of Pollaczek and Khinchine,
// lambda E[S^2] / (2 (1-rho)). No rule can do better than one queue for all
// servers (M/M/c, Erlang C) does, and knowing more makes waits shorter.
func TestQueueing(t *testing.T) {
	random, m1, m2 := waits(t, "random", 30_000)
	lambda := utilisation / 0.010 // per server
	want := lambda * m2 / (2 * (1 - lambda*m1))
	// Waits depend on those before: the standard error of their mean is about 4%.
	if math.Abs(random-want) > 0.1*want {
		t.Errorf("random: mean wait %.4f s, Pollaczek-Khinchine says %.4f s", random, want)
	}
	turn, _, _ := waits(t, "round-robin", 10_000)
	two, _, _ := waits(t, "p2c", 10_000)
	least, _, _ := waits(t, "least-outstanding", 10_000)
	pooled := erlangC(servers, servers*utilisation) * m1 / (servers * (1 - utilisation))
	if !(pooled*0.95 < least && least < two && two < random && least < turn && turn < random) {
		t.Errorf("mean waits: one queue %.4f, least-outstanding %.4f, p2c %.4f, round-robin %.4f, random %.4f s", pooled, least, two, turn, random)
	}
	t.Logf("mean waits: one queue %.4f, least-outstanding %.4f, p2c %.4f, round-robin %.4f, random %.4f s (theory %.4f)", pooled, least, two, turn, random, want)
}

// erlangC is the probability of having to wait in an M/M/c queue offered a
// erlangs.
func erlangC(c int, a float64) float64 {
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	term *= float64(c) / (float64(c) - a)
	return term / (sum + term)
}

// meanWait is that of n Poisson requests at one replica which serves one at a time and is
// busy for a part rho of the time, in mean services. Services are exponential, or, with a
// squared coefficient of variation cv2 above 1, a mixture of two exponentials with equal
// shares of the work.
func meanWait(t *testing.T, rho, cv2 float64, n int) float64 {
	t.Helper()
	const unit, meanSteps = time.Millisecond, 10
	p := (1 + math.Sqrt((cv2-1)/(cv2+1))) / 2
	lengths, kinds := rng.New(5, "lengths", 0), rng.New(5, "kinds", 0)
	out := make([]int, n)
	service := 0.0
	for i := range out {
		mean := meanSteps / (2 * p)
		if kinds.Float64() >= p {
			mean = meanSteps / (2 * (1 - p))
		}
		out[i] = max(1, int(math.Round(mean*lengths.Exp())))
		service += float64(out[i]) * unit.Seconds() / float64(n)
	}
	loop := clock.NewVirtual()
	c := config(t, loop, 1, "round-robin")
	c.Engine.MaxNumSeqs, c.Step = 1, steptime.Shared(flat(unit))
	pool := build(t, c)
	gaps := rng.New(5, "gaps", 0)
	var when, wait float64
	for i := range out {
		when += gaps.Exp() * service / rho
		r := request(uint64(i), 1, out[i])
		at(loop, time.Duration(when*1e9), clock.RankArrival, r.Seq, func() {
			pool.Start(r, waitSink(func(ns int64) { wait += float64(ns) / 1e9 / float64(n) }))
		})
	}
	loop.Run()
	return wait / service
}

// By Pollaczek and Khinchine requests wait for r/(1-r) * (1+c)/2 services on average, c
// being the squared coefficient of variation of these. The wait comes to three services at
// a load of 0.75 if they are exponential, and at 0.545 if c is 4.
func TestHeavyTailsKneeSooner(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, c := range []struct{ cv2, want float64 }{{1, 0.75}, {4, 6. / 11}} {
		lo, hi := 0.3, 0.95
		for range 7 {
			if mid := (lo + hi) / 2; meanWait(t, mid, c.cv2, 25_000) < 3 {
				lo = mid
			} else {
				hi = mid
			}
		}
		t.Logf("CV² %g: the wait is three services at a load of %.3f, by theory %.3f", c.cv2, (lo+hi)/2, c.want)
		if math.Abs((lo+hi)/2-c.want) > 0.04 {
			t.Errorf("CV² %g: knee at %.3f, want %.3f", c.cv2, (lo+hi)/2, c.want)
		}
	}
}
