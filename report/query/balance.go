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
}

// move is that an attempt at a replica begins or ends.
type move struct {
	at      int64
	replica int32
	by      int8 // +1 or -1
	counted bool // it was sent in the window
}

// LoadBalance reads the run in dir, whose pool has total replicas; 0: those that had a
// request. ok is false if it is not known of any attempt where it went.
func LoadBalance(dir string, total int) (s Balance, ok bool, err error) {
	run, err := record.Open(dir)
	if err != nil {
		return Balance{}, false, err
	}
	number := map[string]int32{}
	var moves []move
	err = run.Requests(func(r *record.Request) error {
		if r.Replica == "" || !r.Writing.Known() || !r.Closed.Known() || r.Phase == record.Probe {
			return nil
		}
		i, seen := number[r.Replica]
		if !seen {
			if len(number) == mostReplicas {
				return nil
			}
			i = int32(len(number))
			number[string([]byte(r.Replica))] = i
		}
		moves = append(moves, move{int64(r.Writing), i, 1, r.Phase == record.Measure}, move{int64(r.Closed), i, -1, false})
		return nil
	}, record.Columns("replica", "writing", "closed", "phase"))
	if err != nil {
		return Balance{}, false, fmt.Errorf("reading %s: %w", dir, err)
	}
	// At one instant ends come before beginnings: a place that is given up is free.
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	s, ok = balanceOf(moves, max(total, len(number)))
	return s, ok, nil
}

// balanceOf follows what n replicas have in flight.
func balanceOf(moves []move, n int) (s Balance, ok bool) {
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
		return Balance{}, false
	}
	s.Mean = float64(sum) / float64(s.Sent)
	s.Herding = herding(sent, s.Sent, same)
	return s, true
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
