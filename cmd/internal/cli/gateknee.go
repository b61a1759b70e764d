package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"goodput/loadgen/record"
	"goodput/report/gate"
)

// sideKnees are the knees of one side, by seed.
type sideKnees struct {
	n     int32
	exact bool
	rows  []record.Knee // of the seeds; of all seeds, if not even a lone request was well
}

// readKnees reads those of an objective; slo may be empty if there is but one.
func (s *side) readKnees(slo string) (*sideKnees, error) {
	if s.sweep == "" {
		return nil, fmt.Errorf("%s has no knee: name a directory that goodput sweep wrote, or goodput compare --knee", s.text())
	}
	run, err := record.Open(s.sweep)
	if err != nil {
		return nil, err
	}
	all, _, err := run.Knees()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, k := range all {
		if !slices.Contains(names, k.SLO) {
			names = append(names, k.SLO)
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s found no knee: it searched none, or was interrupted", s.sweep)
	case slo == "" && len(names) > 1:
		return nil, fmt.Errorf("%s has the knees of %d objectives: name one with --slo, of\n  %s", s.sweep, len(names), strings.Join(names, "\n  "))
	case slo == "":
		slo = names[0]
	case !slices.Contains(names, slo):
		return nil, fmt.Errorf("--slo: %s has no knee of %q; there are\n  %s", s.sweep, slo, strings.Join(names, "\n  "))
	}
	out := &sideKnees{exact: run.Manifest.Virtual}
	var whole []record.Knee
	for _, k := range all {
		if k.SLO != slo {
			continue
		}
		out.n = k.N
		if k.Seed == nil {
			whole = append(whole, k)
		} else {
			out.rows = append(out.rows, k)
		}
	}
	if len(out.rows) == 0 {
		out.rows = whole
	}
	return out, nil
}

// knees takes the knees that one rule is about: a block for each seed.
func (g *gating) knees(r gate.Rule, slo string, force bool) error {
	run, err := g.candidate(r)
	if err != nil {
		return err
	}
	mine, err := run.readKnees(slo)
	if err != nil {
		return exitf(exitUsage, "--gate %q: %w", r, err)
	}
	g.exact = g.exact && mine.exact
	base := mine
	if r.Baseline {
		if base, err = g.base.readKnees(slo); err != nil {
			return exitf(exitUsage, "--gate %q: %w", r, err)
		}
		if err := pairedKnees(run, g.base, mine, base, force); err != nil {
			return err
		}
	}
	var blocks []gate.Block
	why := ""
	for i := range mine.rows {
		b := gate.Block{Candidate: kneeOf(&mine.rows[i], &why)}
		if seed := mine.rows[i].Seed; seed != nil {
			b.Seed = uint64(*seed)
		}
		if r.Baseline {
			b.Baseline = kneeOf(&base.rows[i], &why)
		}
		blocks = append(blocks, b)
	}
	g.blocks, g.why = append(g.blocks, blocks), append(g.why, why)
	return nil
}

// kneeOf is that of one seed; where it is not known, why says so.
func kneeOf(k *record.Knee, why *string) gate.Statistic {
	if k.Rate != nil {
		return gate.Statistic{Value: *k.Rate}
	}
	if *why == "" {
		*why = "the knee is " + k.Outcome
		if k.Why != nil {
			*why += ": " + *k.Why
		}
	}
	return gate.Statistic{Value: math.NaN()}
}

// pairedKnees checks that two sides searched with the same seeds, loads and trials.
func pairedKnees(run, base *side, mine, theirs *sideKnees, force bool) error {
	same := slices.EqualFunc(mine.rows, theirs.rows, func(a, b record.Knee) bool {
		return (a.Seed == nil) == (b.Seed == nil) && (a.Seed == nil || *a.Seed == *b.Seed)
	})
	switch {
	case len(mine.rows) != len(theirs.rows):
		return exitf(exitInvalid, "the knees are not paired: %s has %d seeds, %s has %d", run.sweep, len(mine.rows), base.sweep, len(theirs.rows))
	case force:
		return nil
	case !same:
		return exitf(exitInvalid, "the knees are not paired: %s and %s have other seeds; equal seeds have equal arrivals and prompts (--force compares them all the same)", run.sweep, base.sweep)
	case mine.n != theirs.n:
		return exitf(exitUsage, "the knee of %s is of trials of %d requests, that of %s of %d: longer trials have lower knees (--force compares them all the same)", run.sweep, mine.n, base.sweep, theirs.n)
	}
	a, err := recordedPlan(run.sweep)
	if err != nil {
		return err
	}
	b, err := recordedPlan(base.sweep)
	if err != nil {
		return err
	}
	var d []string
	for _, line := range differing(&a, &b, "sweep") {
		key, _, _ := strings.Cut(line, " ")
		if !slices.Contains([]string{"start", "min-rate", "max-rate", "points", "cooldown", "num-prompts", "preset"}, key) {
			d = append(d, line)
		}
	}
	if len(d) > 0 {
		return exitf(exitUsage, "%s and %s had different loads or objectives, so that their difference says nothing of what answered (--force compares them all the same):\n  %s",
			run.sweep, base.sweep, strings.Join(d, "\n  "))
	}
	return nil
}
