package query

import (
	"cmp"
	"fmt"
	"slices"

	"goodput/loadgen/record"
	"goodput/report/stats"
)

// MostBootstrap is the most requests of a run that Bootstrap resamples, which it holds in
// memory.
const MostBootstrap = 5_000_000

// Exploratory is what the bootstrap says of one metric of a run.
type Exploratory struct {
	Metric string
	N      int
	// Quantiles are 0.5, 0.95 and 0.99, as far as there are values enough for them, and
	// Intervals those of them, in ns.
	Quantiles []float64
	Intervals []stats.Interval
}

// Bootstrap computes exploratory intervals within the run of f for the latencies of its
// successes; see stats.BlockIntervals for what they are worth. Quantiles for which there
// are too few independent values are left out.
func Bootstrap(f *Figures, random stats.Source) ([]Exploratory, error) {
	run, err := record.Open(f.Dir)
	if err != nil {
		return nil, err
	}
	type value struct {
		seq uint64
		ns  int64
	}
	names := []string{"ttft", "tpot", "e2e"}
	of := []func(*record.Request) int64{(*record.Request).TTFT, (*record.Request).TPOT, (*record.Request).E2E}
	all := make([][]value, len(names))
	if err := run.Requests(func(r *record.Request) error {
		if !r.Final || r.Phase != record.Measure || r.Outcome != record.OK {
			return nil
		}
		for i := range of {
			if ns := of[i](r); ns != record.Null {
				all[i] = append(all[i], value{uint64(r.Seq), ns})
			}
		}
		if len(all[0]) > MostBootstrap {
			return fmt.Errorf("more than %d successes are too many to resample: leave --bootstrap out", MostBootstrap)
		}
		return nil
	}, record.Columns(columns...)); err != nil {
		return nil, fmt.Errorf("reading %s: %w", f.Dir, err)
	}
	var out []Exploratory
	for i, name := range names {
		x := Exploratory{Metric: name, N: len(all[i])}
		m, known := f.Metric(name)
		for _, q := range []float64{0.5, 0.95, 0.99} {
			if known && m.Reliable(q) && x.N >= stats.MinBootstrap {
				x.Quantiles = append(x.Quantiles, q)
			}
		}
		if len(x.Quantiles) == 0 {
			continue
		}
		slices.SortFunc(all[i], func(a, b value) int { return cmp.Compare(a.seq, b.seq) })
		values := make([]int64, x.N)
		for j, v := range all[i] {
			values[j] = v.ns
		}
		if x.Intervals, err = stats.BlockIntervals(values, x.Quantiles, random); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}
