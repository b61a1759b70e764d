package render

import (
	"fmt"
	"strings"

	"goodput/loadgen/record"
)

// Fact is a thing that is said of a run in words.
type Fact struct{ Name, Text string }

// Facts are what was run, at whom, and how it ended; those that are unknown are left
// out.
func (r *Report) Facts() []Fact {
	var out []Fact
	for _, f := range []Fact{
		{"target", r.Manifest.Target["text"]},
		{"dataset", r.Manifest.Dataset["text"]},
		{"load", r.loadText()},
		{"outcomes", r.outcomesText()},
		{"SLO", r.sloText()},
		{"cache hit", r.cacheText()},
	} {
		if f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

// loadText is what was offered.
func (r *Report) loadText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests", r.Scheduled)
	switch {
	case r.Rated():
		fmt.Fprintf(&b, " in %s", seconds(r.Window))
	case r.Scheduled > 1:
		b.WriteString(", all at once")
	}
	if n := r.Manifest.Load[record.LoadLive]; n != "" {
		fmt.Fprintf(&b, ", closed-loop: %s sessions live at all times, no rate was offered", n)
	} else if r.closed() && r.Rated() {
		b.WriteString(", closed-loop")
	} else if v, ok := r.Offered(); ok {
		fmt.Fprintf(&b, ", offered %.4g/s", v)
	}
	if v, ok := r.Achieved(); ok {
		fmt.Fprintf(&b, ", achieved %.4g/s", v)
	}
	if n, least, most := r.Manifest.Steered(); n > 0 {
		fmt.Fprintf(&b, "; the rate was changed by hand %d times (to %d … %d %% of the planned)", n, least, most)
	}
	return b.String()
}

// outcomesText lists how the requests ended.
func (r *Report) outcomesText() string {
	var out []string
	for o, n := range r.Outcomes {
		if n > 0 {
			out = append(out, fmt.Sprintf("%s %d", record.Outcome(o), n))
		}
	}
	return strings.Join(out, " ")
}

// sloText is how the objective was met; "" without one.
func (r *Report) sloText() string {
	all, without, ok := r.attainment()
	if !ok {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: attainment %.2f %%", r.SLO, 100*all)
	if r.Judged < r.Promised() {
		fmt.Fprintf(&b, " (%.2f %% without the unfinished)", 100*without)
	}
	if g, ok := r.goodput(); ok {
		fmt.Fprintf(&b, ", goodput %.4g requests/s", g)
	}
	return b.String()
}

// cacheText is what was found in prefix caches; "" if nobody knows.
func (r *Report) cacheText() string {
	if !r.MeasuredHit.Known() && !r.PlannedHit.Known() {
		return ""
	}
	return fmt.Sprintf("measured %s, ideal (one infinite cache) %s%s%s%s", percent(r.MeasuredHit.Known(), r.MeasuredHit.Value),
		percent(r.PlannedHit.Known(), r.PlannedHit.Value), r.poolHit(), r.hitGap(), r.cacheState())
}

// poolHit is the hit rate that the size of the pool's caches allows.
func (r *Report) poolHit() string {
	if !r.PoolHit.Known() {
		return ""
	}
	return fmt.Sprintf(", (one of the pool's size) %.1f %%", 100*r.PoolHit.Value())
}

// hitGap is how far the measured hit rate is from the ideal one.
func (r *Report) hitGap() string {
	gap, ok := r.HitGap()
	if !ok {
		return ""
	}
	return fmt.Sprintf(", gap %.1f points", 100*gap)
}

// cacheState is what the caches of servers began with.
func (r *Report) cacheState() string {
	out := ""
	if state := r.Manifest.Dataset[record.DatasetCache]; state != "" {
		out = "; prompts " + state
	}
	if r.Manifest.Target[record.TargetCacheReset] != "" {
		out += ", cache reset before"
	}
	return out
}

// Attained is the share of requests that met the objective, one that was cut off being
// a miss; without is the share of those that were judged. ok is false without an
// objective.
func (r *Report) Attained() (all, without float64, ok bool) { return r.attainment() }

// GoodputRate is met requests per second of the window.
func (r *Report) GoodputRate() (float64, bool) { return r.goodput() }
