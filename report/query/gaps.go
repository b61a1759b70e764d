package query

import (
	"math"

	"goodput/loadgen/record"
	"goodput/report/stats"
)

// gaps is what rows say of their token gaps without these being read.
type gaps struct{ n, sumUS int64 }

func (g *gaps) add(r *record.Request) {
	if n, us, ok := r.Gaps(); ok {
		g.n += n
		g.sumUS += us
	}
}

// interToken is the distribution of the gaps that g sums up, in microseconds. The
// latency log has it, in buckets that are those of a Hist; reading the gaps
// themselves takes longer than all the rest. They are read if the log is not of
// these rows, as after a crash, or does not say all of them.
func interToken(run *record.Run, g *gaps, in *filter) (*stats.Hist, error) {
	if h, ok := logged(run, g); ok && in.phase == record.Measure {
		return h, nil
	}
	h := stats.NewHist()
	return h, run.Requests(func(r *record.Request) error {
		if !r.Final || r.Phase != in.phase || r.Outcome != record.OK || !in.pass(r) {
			return nil
		}
		return h.AddAll(r.TokenGapsUS)
	}, record.Columns("final", "phase", "outcome", "token_gaps_us", "class", "tenant", "replica"))
}

// logged is the distribution by the latency log; ok is false if it can't be that
// of g.
func logged(run *record.Run, g *gaps) (h *stats.Hist, ok bool) {
	h = stats.NewHist()
	var n, low, high, lastLeast, lastMost int64
	most, err := run.Latency("itl", func(least, most, count int64) {
		n += count
		low += count * least
		high += count * most
		lastLeast, lastMost = least, most
		h.AddRounded(most, count)
	})
	switch {
	case err != nil, n != g.n, g.sumUS < low, g.sumUS > high, most < lastLeast, most > lastMost:
		return nil, false
	case most == math.MaxInt32, run.Manifest.Counters[record.CounterClamped] != 0:
		return nil, false // cut to what fits: the sum is another
	}
	h.Exactly(g.sumUS, most)
	return h, true
}
