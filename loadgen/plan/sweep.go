package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The methods of a sweep.
const (
	SweepBisect = "bisect"
	SweepGrid   = "grid"
	SweepRamp   = "ramp"
)

// What --canary-by gives whole to one of two routers.
const (
	CanaryByRequest = "request"
	CanaryBySession = "session"
)

// sweepPreset is what --preset stands for.
type sweepPreset struct {
	name      string
	requests  int
	seeds     int
	tolerance Share
}

var sweepPresets = [...]sweepPreset{{"smoke", 300, 3, 0.1}, {"ci", 1000, 5, 0.05}, {"report", 5000, 5, 0.02}}

// WithSweepDefaults resolves what --preset decides.
func (p Plan) WithSweepDefaults() Plan {
	for _, x := range sweepPresets {
		if x.name != p.Preset {
			continue
		}
		if p.NumPrompts == 0 {
			p.NumPrompts = x.requests
		}
		if p.Seeds == 0 {
			p.Seeds = x.seeds
		}
		if p.Tolerance == 0 {
			p.Tolerance = x.tolerance
		}
	}
	return p
}

// ValidateSweep is Validate for a sweep, which sets the rate itself.
func (p *Plan) ValidateSweep() error {
	v := &checker{}
	names := make([]string, len(sweepPresets))
	for i, x := range sweepPresets {
		names[i] = x.name
	}
	v.oneOf("preset", p.Preset, names...)
	v.oneOf("method", p.Method, SweepBisect, SweepGrid, SweepRamp)
	v.within("seeds", p.Seeds, 0, 1000)
	v.within("points", p.Points, 3, 1000)
	v.ok(p.NumPrompts == 0 || p.NumPrompts >= 50 && p.NumPrompts <= 10_000_000, "num-prompts", "%d is outside 50 to 10000000 requests a trial", p.NumPrompts)
	v.ok(p.Attainment > 0 && p.Attainment <= 1, "attainment", "%v is outside 0 (excluded) to 1", p.Attainment)
	v.ok(p.Tolerance == 0 || p.Tolerance >= 0.001 && p.Tolerance <= 1, "tolerance", "%v is outside 0.1%% to 100%%", p.Tolerance)
	for _, r := range []struct {
		flag string
		rate Rate
	}{{"start", p.Start}, {"min-rate", p.MinRate}, {"max-rate", p.MaxRate}} {
		v.ok(r.rate == 0 || r.rate >= 1e-6 && r.rate <= 1e7, r.flag, "%v is outside 1e-6 to 1e7 a second", r.rate)
	}
	v.ok(p.MaxRate == 0 || p.MinRate < p.MaxRate, "max-rate", "%v is not above --min-rate, %v", p.MaxRate, p.MinRate)
	v.ok(p.Start == 0 || p.Start >= p.MinRate && (p.MaxRate == 0 || p.Start <= p.MaxRate), "start", "%v is not within --min-rate and --max-rate", p.Start)
	v.span("cooldown", p.Cooldown)
	p.checkSweepLoad(v)
	p.checkSweepClasses(v)
	q := p.WithSweepDefaults()
	q.RequestRate = 1 // whatever is tried
	return errors.Join(append(v.errs, q.Validate())...)
}

// checkSweepClasses refuses classes whose rates don't go together.
func (p *Plan) checkSweepClasses(v *checker) {
	v.ok(!p.Mixed() || p.Method != SweepRamp, "method", "a ramp is of one process, and the load is of classes: use %s or %s", SweepBisect, SweepGrid)
	list, _ := p.Classes() // Validate complains of what is wrong with them
	for i := range list {
		c, one := &list[i], &checker{}
		one.ok(c.Plan.RequestRate > 0 && !c.Plan.RequestRate.Inf(), "request-rate", "how large a part of the load is it? give it a number: a sweep changes the rates of all classes by one factor")
		one.ok(c.Plan.NumPrompts == p.NumPrompts, "num-prompts", "a trial is as long as the --num-prompts of all classes take: leave it out")
		c.Plan.RequestRate = 0
		c.Plan.checkSweepLoad(one)
		for _, err := range one.errs {
			v.errs = append(v.errs, fmt.Errorf("class %s: %w", c.Name, err))
		}
	}
}

// checkSweepLoad refuses what would set the rate, or what a trial's part of the load
// could not stand for.
func (p *Plan) checkSweepLoad(v *checker) {
	const rates = "a sweep sets the rate itself: leave it out (--min-rate and --max-rate bound it)"
	const length = "a trial is as long as its --num-prompts take: leave it out"
	v.ok(p.RequestRate == 0, "request-rate", rates)
	v.ok(p.Stages == "", "stages", rates)
	v.ok(p.RampUp == "", "ramp-up-strategy", rates)
	v.ok(p.Concurrency == 0, "concurrency", "a sweep is open-loop: leave it out")
	v.ok(p.Duration == 0, "duration", length)
	v.ok(p.Rescale == "", "rescale", length)
	v.ok(p.ProbeRate == 0, "probe-request-rate", "trials have no probes beside them: leave it out, or try one rate with goodput run")
	v.ok(!p.InSessions(), "dataset-name", "a sweep is of single requests, and %s is sessions: take another, or send the steps of a trace open-loop (--trace-sessions open)", p.DatasetName)
	v.ok(p.Cache != CacheWarm, "cache", "the first requests of a trial are its warm-up, after which prefixes are cached: leave it out")
	v.ok(!p.DisableShuffle, "disable-shuffle", "a trial is a part of the dataset, which would hold but the first prefixes")
	v.ok(p.DatasetName != sharedPrefix || p.SharedTurns <= 1, "shared-prefix-num-turns", "a trial is a part of the dataset, which would hold first turns only: leave it out")
}

// SweepText is the objectives of a sweep, for people; "": there are none.
func (p *Plan) SweepText() string {
	out := append([]string{}, p.SLO...)
	if len(p.Goodput) > 0 {
		out = append(out, strings.Join(p.Goodput, " ")+" for "+strconv.FormatFloat(100*float64(p.Attainment), 'g', 6, 64)+" %")
	}
	return strings.Join(out, "; ")
}
