package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"goodput/loadgen/record"
)

// Balance is how evenly the load of a run lay on the replicas, as each attempt that was sent
// in the window found it. An attempt is in flight at its replica from the first byte of the
// request to the end of the attempt. Attempts that reached no replica are left out.
type Balance struct {
	// Sent is the number of attempts that found it so.
	Sent int64
	// Mean and Peak are by how many attempts in flight the fullest replica was ahead of
	// the emptiest, on average and at the most.
	Mean, Peak float64
	// Herding is how many times as often an attempt went to the replica of the one sent
	// before as it would if each were drawn by itself, with the shares that replicas
	// had: 1 for picks that know nothing of each other, up to the number of replicas if
	// they go together, 0 if they take turns. NaN: one replica had all.
	Herding float64
	// Sends is how often those on the way, such as layers that retry, sent on a request
	// of the window, all attempts of its client together, on average, and MostSends at
	// the most. NaN: they don't tell.
	Sends, MostSends float64
}

// move is that an attempt at a replica begins or ends.
type move struct {
	at      int64
	replica int32
	by      int8 // +1 or -1
	counted bool // it was sent in the window
}

// LoadBalance reads the run in dir, whose pool has total replicas; 0: those that had a
// request. What is not known is NaN.
func LoadBalance(dir string, total int) (Balance, error) {
	run, err := record.Open(dir)
	if err != nil {
		return Balance{}, err
	}
	var c balancer
	if err := run.Requests(c.add, record.Columns("seq", "replica", "writing", "closed", "phase", "server_attempts")); err != nil {
		return Balance{}, fmt.Errorf("reading %s: %w", dir, err)
	}
	// At one instant ends come before beginnings: a place that is given up is free.
	slices.SortStableFunc(c.moves, func(a, b move) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	b := balanceOf(c.moves, max(total, len(c.number)))
	b.Sends, b.MostSends = c.sent()
	return b, nil
}

// balancer gathers what a Balance is made of.
type balancer struct {
	number map[string]int32 // of replicas
	moves  []move
	sends  map[int64]int64 // by request
}

func (c *balancer) add(r *record.Request) error {
	if r.Phase == record.Probe {
		return nil
	}
	if r.ServerAttempts != record.Null32 && r.Phase == record.Measure {
		if c.sends == nil {
			c.sends = map[int64]int64{}
		}
		c.sends[r.Seq] += int64(r.ServerAttempts)
	}
	if r.Replica == "" || !r.Writing.Known() || !r.Closed.Known() {
		return nil
	}
	i, seen := c.number[r.Replica]
	switch {
	case !seen && len(c.number) == mostReplicas:
		return nil
	case !seen:
		if c.number == nil {
			c.number = map[string]int32{}
		}
		i = int32(len(c.number))
		c.number[string([]byte(r.Replica))] = i
	}
	c.moves = append(c.moves, move{int64(r.Writing), i, 1, r.Phase == record.Measure}, move{int64(r.Closed), i, -1, false})
	return nil
}

// sent is Sends and MostSends.
func (c *balancer) sent() (mean, most float64) {
	if len(c.sends) == 0 {
		return math.NaN(), math.NaN()
	}
	var sum, top int64
	for _, n := range c.sends { // in any order: whole numbers
		sum += n
		top = max(top, n)
	}
	return float64(sum) / float64(len(c.sends)), float64(top)
}

// balanceOf follows what n replicas have in flight.
func balanceOf(moves []move, n int) (s Balance) {
	var (
		inFlight = make([]int64, n)
		sent     = make([]int64, n)
		sum      int64
		same     int64
		last     = int32(-1)
	)
	for _, m := range moves {
		inFlight[m.replica] += int64(m.by)
		if !m.counted {
			continue
		}
		ahead := slices.Max(inFlight) - slices.Min(inFlight)
		sum += ahead
		s.Peak = max(s.Peak, float64(ahead))
		s.Sent++
		sent[m.replica]++
		if m.replica == last {
			same++
		}
		last = m.replica
	}
	if s.Sent == 0 {
		return Balance{Mean: math.NaN(), Peak: math.NaN(), Herding: math.NaN()}
	}
	s.Mean = float64(sum) / float64(s.Sent)
	s.Herding = herding(sent, s.Sent, same)
	return s
}

// herding is that of same pairs among sent attempts, in the shares of by.
func herding(by []int64, sent, same int64) float64 {
	chance := 0.0
	for _, n := range by {
		share := float64(n) / float64(sent)
		chance += share * share
	}
	if sent < 2 || chance == 1 {
		return math.NaN()
	}
	return float64(same) / float64(sent-1) / chance
}
