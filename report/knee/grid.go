package knee

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Rates are n rates from lo to hi in equal ratios, n > 1.
func Rates(lo, hi float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo * math.Pow(hi/lo, float64(i)/float64(n-1))
	}
	out[n-1] = hi
	return out
}

// Grid runs a trial at each rate with each seed. The trials are in the order of seeds,
// and of rates within a seed.
func Grid(ctx context.Context, p Prober, c Config, rates []float64) ([]Trial, error) {
	if len(rates) == 0 || len(c.Seeds) == 0 || c.Parallel < 1 {
		return nil, fmt.Errorf("a grid of %d rates and %d seeds, %d at once: need at least 1 of each", len(rates), len(c.Seeds), c.Parallel)
	}
	s := searcher{prober: p, config: c}
	results, err := s.each(ctx, c.Seeds, func(seed uint64) (out searched, err error) {
		for _, rate := range rates {
			if _, err = s.trial(ctx, seed, rate, &out); err != nil {
				break
			}
		}
		return out, err
	})
	var all []Trial
	for _, r := range results {
		all = append(all, r.trials...)
	}
	return all, err
}

// Points are the means over seeds of whole trials at the same rate, in the order of
// rates. Of trials of the same seed and rate the last counts: those before it were
// spoiled. Rates with a trial that was spoiled, or whose figures do not exist, are left
// out.
func Points(trials []Trial) []Point {
	type sum struct {
		Point
		n     int
		spoil bool
	}
	at := map[float64]*sum{}
	var rates []float64
	for i := range trials {
		t := &trials[i]
		s := at[t.Rate]
		if s == nil {
			s = &sum{}
			at[t.Rate] = s
			rates = append(rates, t.Rate)
		}
		again := func(o Trial) bool { return o.Seed == t.Seed && o.Rate == t.Rate }
		if t.Invalid != "" && slices.ContainsFunc(trials[i+1:], again) {
			continue
		}
		f := &t.Figures
		if t.Invalid != "" || f.Span <= 0 || f.E2E.N == 0 {
			s.spoil = true
			continue
		}
		s.n++
		s.Offered += float64(t.N-1) / f.Span
		s.Delivered += f.Delivered
		s.Latency += f.E2E.Mean / 1e9
	}
	slices.Sort(rates)
	var out []Point
	for _, rate := range rates {
		if s := at[rate]; !s.spoil {
			k := float64(s.n)
			out = append(out, Point{s.Offered / k, s.Delivered / k, s.Latency / k})
		}
	}
	return out
}
