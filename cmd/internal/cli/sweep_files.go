package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/knee"
	"goodput/report/render"
	"goodput/report/stats"
)

// create makes the run directory.
func (s *sweepRun) create() (*record.Writer, error) {
	p := &s.given
	target, arm, err := s.describe()
	if err != nil {
		return nil, err
	}
	s.out = render.Sweep{
		Dir: runDir(p), PlanHash: p.Hash(), Method: p.Method, Preset: p.Preset, Arm: arm, Target: target, Virtual: s.runner.virtual(),
		N: s.plan.NumPrompts, Tolerance: float64(s.plan.Tolerance), Seeds: seedsFrom(p.Seed, s.plan.Seeds),
	}
	m := record.Meta{
		RunID: p.Hash(), PlanHash: p.Hash(), Seed: p.Seed, Version: versionText(), Virtual: s.out.Virtual, Started: clock.Wall(), Arms: []string{arm},
		Load:    map[string]string{record.LoadKind: record.Sweep, record.LoadText: fmt.Sprintf("%s over rates, %d requests a trial, %s", p.Method, s.plan.NumPrompts, p.SweepText())},
		Target:  map[string]string{"text": target},
		Dataset: map[string]string{"text": p.DatasetName, record.DatasetCache: p.Cache},
	}
	w, err := record.Create(s.out.Dir, m)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	text, err := p.YAML()
	if err == nil {
		err = w.WriteFile(planName, text)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close(record.Final{State: record.Interrupted, EndedAt: clock.Never}))
	}
	return w, nil
}

// describe says what is loaded: at length, and as the name of the arm.
func (s *sweepRun) describe() (target, arm string, err error) {
	if p := &s.plan; p.Remote() {
		urls := strings.Join(p.BaseURL, ", ")
		return urls, cmp.Or(s.arm, urls), nil
	}
	setup, err := newEngineSetup(&s.plan)
	if err != nil {
		return "", "", err
	}
	if _, err := newPool(&s.plan, setup, clock.NewVirtual()); err != nil {
		return "", "", err
	}
	return poolText(&s.plan, &setup), cmp.Or(s.arm, s.plan.Router), nil
}

// record writes the trials and knees.
func (s *sweepRun) record(w *record.Writer) error {
	var trials []record.Trial
	var knees []record.Knee
	for i := range s.out.Knees {
		k := &s.out.Knees[i]
		for j := range k.Trials {
			trials = append(trials, trialRow(s.out.Arm, k.SLO, &k.Trials[j]))
		}
		if k.Outcome != "" {
			knees = append(knees, kneeRows(s.out.Arm, s.out.N, k)...)
		}
	}
	f := record.Final{State: record.Complete, Ended: clock.Wall(), EndedAt: clock.Never}
	if s.out.Interrupted {
		f.State = record.Interrupted
	}
	return errors.Join(w.WriteTrials(trials), w.WriteKnees(knees), w.Close(f))
}

func trialRow(arm, slo string, t *knee.Trial) record.Trial {
	f := &t.Figures
	out := record.Trial{
		Arm: arm, SLO: word(slo), Seed: int64(t.Seed), Rate: t.Rate, N: int32(t.N), Warmup: int32(t.Warmup), Good: int32(t.Good), Bad: int32(t.Bad),
		Verdict: render.Verdict(t), Stop: string(t.Stop), Drift: t.Drift, Invalid: word(t.Invalid), Verify: t.Verify,
		Goodput: finite(t.Goodput()), MaxInFlight: int32(f.MaxInFlight), HitRate: finite(f.HitRate),
	}
	for _, m := range []struct {
		s             stats.Summary
		p50, p95, p99 **int64
	}{{f.TTFT, &out.TTFTP50, &out.TTFTP95, &out.TTFTP99}, {f.TPOT, &out.TPOTP50, &out.TPOTP95, &out.TPOTP99}, {f.E2E, &out.E2EP50, &out.E2EP95, &out.E2EP99}} {
		if m.s.N > 0 {
			*m.p50, *m.p95, *m.p99 = whole(m.s.P50), whole(m.s.P95), whole(m.s.P99)
		}
	}
	if f.E2E.N > 0 {
		out.E2EMean = whole(f.E2E.Mean)
	}
	if f.Span > 0 {
		out.Delivered = &f.Delivered
	}
	if lag := f.LagP99; lag != record.Null {
		out.LagP99 = &lag
	}
	return out
}

func kneeRows(arm string, n int, k *render.SweepKnee) []record.Knee {
	out := []record.Knee{{
		Arm: arm, SLO: k.SLO, Outcome: string(k.Outcome), Why: word(k.Why), Rate: finite(k.Rate), Lo: finite(k.Lo), Hi: finite(k.Hi), N: int32(n),
	}}
	for _, x := range k.Seeds {
		seed := int64(x.Seed)
		out = append(out, record.Knee{
			Arm: arm, SLO: k.SLO, Seed: &seed, Outcome: string(x.Outcome), Why: word(x.Why), Rate: finite(x.Rate), Lo: finite(x.Lo), Hi: finite(x.Hi), N: int32(n),
		})
	}
	return out
}

// word, finite and whole are nil where there is nothing.
func word(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

func whole(v float64) *int64 {
	n := int64(math.Round(v))
	return &n
}
