package cli

import (
	"fmt"
	"math"
	"strconv"

	"goodput/loadgen/record"
	"goodput/report/knee"
	"goodput/report/render"
	"goodput/report/stats"
)

// isSweep reports whether dir holds a sweep, and not a run.
func isSweep(dir string) bool {
	run, err := record.Open(dir)
	return err == nil && run.Manifest.Load[record.LoadKind] == record.Sweep
}

// loadSweep reads a sweep back. What requests that are alone see, the counts of each
// clause, and the bends of a curve are not in its files.
func loadSweep(dir string) (*render.Sweep, error) {
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	p, err := recordedPlan(dir)
	if err != nil {
		return nil, err
	}
	trials, _, err := run.Trials()
	if err != nil {
		return nil, err
	}
	knees, _, err := run.Knees()
	if err != nil {
		return nil, err
	}
	m := &run.Manifest
	with := p.WithSweepDefaults()
	out := &render.Sweep{
		Dir: dir, PlanHash: m.PlanHash, Method: p.Method, Preset: p.Preset, Target: m.Target["text"], Virtual: m.Virtual,
		N: with.NumPrompts, Tolerance: float64(with.Tolerance), Seeds: seedsFrom(p.Seed, with.Seeds), Interrupted: m.State != record.Complete,
	}
	if len(m.Arms) > 0 {
		out.Arm = m.Arms[0]
	}
	at := map[string]int{}
	of := func(slo string) *render.SweepKnee {
		i, ok := at[slo]
		if !ok {
			i = len(out.Knees)
			at[slo] = i
			out.Knees = append(out.Knees, render.SweepKnee{SLO: slo, Knee: knee.Knee{Rate: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}})
		}
		return &out.Knees[i]
	}
	for i := range knees {
		k := &knees[i]
		to := of(k.SLO)
		if k.Seed == nil {
			to.Outcome, to.Why, to.Rate, to.Lo, to.Hi = knee.Outcome(k.Outcome), text(k.Why), value(k.Rate), value(k.Lo), value(k.Hi)
			continue
		}
		to.Seeds = append(to.Seeds, knee.SeedKnee{
			Seed: uint64(*k.Seed), Outcome: knee.Outcome(k.Outcome), Why: text(k.Why), Rate: value(k.Rate), Lo: value(k.Lo), Hi: value(k.Hi),
		})
	}
	for i := range trials {
		to := of(text(trials[i].SLO))
		t, err := readTrial(&trials[i])
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", dir, err)
		}
		to.Trials = append(to.Trials, t)
	}
	if out.Method == "grid" && len(p.SLO) == 0 && len(p.Goodput) == 0 && len(out.Knees) == 1 {
		out.Bends = bends(out.Knees[0].Trials)
	}
	return out, nil
}

// readTrial is the trial of a row.
func readTrial(r *record.Trial) (knee.Trial, error) {
	t := knee.Trial{
		Seed: uint64(r.Seed), Rate: r.Rate, N: int(r.N), Warmup: int(r.Warmup), Good: int(r.Good), Bad: int(r.Bad),
		Open: r.SLO == nil, Pass: r.SLO != nil && r.Verdict == "pass", Stop: knee.Stop(r.Stop), Drift: r.Drift, Invalid: text(r.Invalid), Verify: r.Verify,
	}
	if t.N < 1 || t.Good < 0 || t.Bad < 0 || t.Good+t.Bad > t.N || !(t.Rate > 0) || math.IsInf(t.Rate, 0) {
		return t, fmt.Errorf("a trial of %d requests at %s/s with %d good and %d bad ones is impossible",
			t.N, strconv.FormatFloat(t.Rate, 'g', 4, 64), t.Good, t.Bad)
	}
	f := &t.Figures
	f.TTFT, f.TPOT, f.E2E = summaryOf(t.Good+t.Bad, r.TTFTP50, r.TTFTP95, r.TTFTP99, nil), summaryOf(t.Good+t.Bad, r.TPOTP50, r.TPOTP95, r.TPOTP99, nil), summaryOf(t.Good+t.Bad, r.E2EP50, r.E2EP95, r.E2EP99, r.E2EMean)
	f.MaxInFlight, f.HitRate, f.LagP99 = int(r.MaxInFlight), value(r.HitRate), record.Null
	if r.LagP99 != nil {
		f.LagP99 = *r.LagP99
	}
	if r.Delivered != nil {
		f.Delivered, f.Span = *r.Delivered, float64(t.N)/t.Rate
	}
	return t, nil
}

// summaryOf holds the quantiles that a row has. They are of n values at most: of those
// requests that succeeded and have the metric.
func summaryOf(n int, p50, p95, p99, mean *int64) stats.Summary {
	if p50 == nil || p95 == nil || p99 == nil {
		return stats.Summary{}
	}
	s := stats.Summary{N: int64(max(n, 1)), Mean: math.NaN(), P50: float64(*p50), P90: math.NaN(), P95: float64(*p95), P99: float64(*p99), P99_9: math.NaN(), Max: math.NaN()}
	if mean != nil {
		s.Mean = float64(*mean)
	}
	return s
}

// text and value are empty, and NaN, where there is nothing.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func value(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
