package render

import (
	"fmt"
	"math"
	"time"

	"goodput/report/diagnose"
	"goodput/report/query"
)

// Findings are the diagnoses of the run.
func (r *Report) Findings() []diagnose.Finding { return diagnose.All(r.Figures) }

// violated are the checks that do not hold.
func (r *Report) violated() []string {
	var out []string
	warn := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if n, ok := r.Unaccounted(); ok && n > 0 {
		warn("conservation: %d of %d scheduled requests have no row, and nothing says that they were lost", n, r.Manifest.Counts.Scheduled)
	}
	if n := r.Unbalanced(); n != 0 {
		warn("conservation: the account of %d scheduled requests is off by %d from that of how they ended", r.Manifest.Counts.Scheduled, n)
	}
	if l := r.Checks.Little; l.Known && l.Off() > query.LittleBound && !r.closed() {
		warn("Little's law: %.4g requests were in flight on average, but their rate times their time in flight is %.4g: the load was not steady, so that the figures depend on how long the run was (use a longer one, or a lower rate)", l.InFlight, l.Product)
	}
	if c := &r.Checks; r.transient() {
		warn("the number in flight settles only after about %s (MSER-5; %.3g before, %.3g after), and the window begins at %s: a transient may be in the figures; use a longer --warmup",
			seconds(c.Settled), c.Before, c.After, seconds(time.Duration(r.Start)))
	}
	return out
}

// transient reports whether more than a tenth of the window was not yet settled, at a
// level that differs by a fifth from that of the rest. MSER-5 alone cuts bursts, too.
func (r *Report) transient() bool {
	c := &r.Checks
	beyond := c.Settled - time.Duration(r.Start)
	return c.SettledKnown && !r.closed() && beyond > r.Window/10 && math.Abs(c.Before-c.After) > max(1, 0.2*max(c.Before, c.After))
}

// jsonChecks hold a run's record against what must be true of it.
type jsonChecks struct {
	Unaccounted *int64   `json:"unaccounted"` // scheduled requests without a row
	Unbalanced  int64    `json:"unbalanced"`
	InFlight    *float64 `json:"in_flight_mean"`
	LambdaW     *float64 `json:"rate_times_time"`
	SettledS    *float64 `json:"settled_s"` // MSER-5
}

func (r *Report) checksJSON() jsonChecks {
	c := &r.Checks
	out := jsonChecks{
		Unbalanced: r.Unbalanced(), InFlight: maybe(c.Little.InFlight, c.Little.Known), LambdaW: maybe(c.Little.Product, c.Little.Known),
		SettledS: maybe(c.Settled.Seconds(), c.SettledKnown),
	}
	if n, ok := r.Unaccounted(); ok {
		out.Unaccounted = &n
	}
	return out
}

// jsonFinding is a diagnosis.
type jsonFinding struct {
	Name     string `json:"name"`
	What     string `json:"what"`
	Evidence string `json:"evidence"`
	Remedy   string `json:"remedy"`
}

func (r *Report) findingsJSON() []jsonFinding {
	out := []jsonFinding{}
	for _, f := range r.Findings() {
		out = append(out, jsonFinding(f))
	}
	return out
}
