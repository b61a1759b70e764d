package knee

import (
	"math"
	"slices"

	"goodput/report/stats"
)

// Standing is how far a search has come, told from the trials that have ended.
type Standing struct {
	// Seeds are in the order in which the search was given them.
	Seeds []SeedStanding
	// Settled counts the seeds whose bracket is narrow enough.
	Settled int
	// Rate is the geometric mean over the settled seeds, Lo and Hi the interval between
	// seeds at 95 %: what the search would say if it ended now. NaN: too few are settled.
	Rate, Lo, Hi float64
}

// SeedStanding is the bracket of one seed: the highest rate that passed and the lowest
// that failed, 0 as long as there is none, of so many trials.
type SeedStanding struct {
	Seed   uint64
	Lo, Hi float64
	Trials int
	// Settled: the bracket is no wider than the tolerance.
	Settled bool
}

// Stand computes the standing of a search with these seeds. Trials that check a knee,
// and those that were spoiled, move no bracket.
func Stand(seeds []uint64, tolerance float64, trials []Trial) Standing {
	out := Standing{Seeds: make([]SeedStanding, len(seeds)), Rate: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	for i, seed := range seeds {
		out.Seeds[i].Seed = seed
	}
	for i := range trials {
		t := &trials[i]
		at := slices.Index(seeds, t.Seed)
		if at < 0 {
			continue
		}
		s := &out.Seeds[at]
		s.Trials++
		switch {
		case t.Verify || t.Invalid != "":
		case t.Pass:
			s.Lo = max(s.Lo, t.Rate)
		case s.Hi == 0:
			s.Hi = t.Rate
		default:
			s.Hi = min(s.Hi, t.Rate)
		}
	}
	var logs []float64
	for i := range out.Seeds {
		s := &out.Seeds[i]
		if s.Settled = s.Lo > 0 && s.Hi > s.Lo && s.Hi/s.Lo <= 1+tolerance; s.Settled {
			logs = append(logs, math.Log(s.Lo*s.Hi)/2)
		}
	}
	out.Settled = len(logs)
	if in, err := stats.Mean(logs, 0.95); err == nil {
		out.Rate, out.Lo, out.Hi = math.Exp(in.Value), math.Exp(in.Lo), math.Exp(in.Hi)
	}
	return out
}
