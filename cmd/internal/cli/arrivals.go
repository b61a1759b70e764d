package cli

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"goodput/datasets"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
)

// mostClosed is how many different requests a closed loop of unknown length plans.
const mostClosed = 1 << 20

// arriving is the number of requests or sessions that arrive within the plan's
// duration, at least 1: no set is empty.
func arriving(p *plan.Plan, rate plan.Rate) (int, error) {
	if p.Concurrency > 0 {
		return mostClosed, nil
	}
	if n := float64(rate) * p.Duration.Seconds(); n > math.MaxInt32 {
		return 0, fmt.Errorf("--duration: %v at %s a second are %.3g arrivals, more than the limit of %d: make it shorter", p.Duration, rate, n, math.MaxInt32)
	}
	c, err := generated(p, rate, 0)
	if err != nil {
		return 0, err
	}
	source, err := schedule.New(c)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, ok := source.Next(); ok; _, ok = source.Next() {
		if n++; n > math.MaxInt32 {
			return 0, fmt.Errorf("--duration: more than %d requests would arrive in %v: make it shorter", math.MaxInt32, p.Duration)
		}
	}
	return max(n, 1), nil
}

// generated configures n arrivals by a process of the plan.
func generated(p *plan.Plan, rate plan.Rate, n int) (schedule.Config, error) {
	name, bursts, err := p.Process()
	if err != nil {
		return schedule.Config{}, fmt.Errorf("--arrival: %w", err)
	}
	c := schedule.Config{
		Process: schedule.Process(name), Rate: float64(rate), Burstiness: float64(p.Burstiness), Bursts: schedule.Bursts(bursts),
		N: n, Duration: p.Duration, Seed: p.Seed, Rescale: p.Rescale == plan.RescaleVLLM,
	}
	if p.Ramped() {
		course, err := p.Course()
		if err != nil {
			return c, fmt.Errorf("--stages or --ramp-up-strategy: %w", err)
		}
		for _, s := range course {
			c.Stages = append(c.Stages, schedule.Stage(s))
		}
	}
	return c, nil
}

// newSource makes the arrivals of the plan; nil for a closed loop.
func newSource(p *plan.Plan, set datasets.Set) (schedule.Source, error) {
	if p.Concurrency > 0 {
		return nil, nil
	}
	if m := mixOf(set); m != nil {
		return m.source()
	}
	c, err := generated(p, p.RequestRate, p.NumPrompts)
	if err != nil {
		return nil, err
	}
	if c.N == 0 {
		c.N = set.Len()
	}
	if set.Timed() {
		c.Len = c.N
		c.Times = recorded(set)
	}
	if err := checkSpan(c, "--request-rate"); err != nil {
		return nil, err
	}
	return schedule.New(c)
}

// checkSpan refuses a schedule whose arrivals would go on for longer than a plan
// may, which is a slip in the rate or in a trace's unit of time.
func checkSpan(c schedule.Config, what string) error {
	seconds := float64(c.N) / c.Rate
	switch n := len(c.Stages); {
	case c.Process == schedule.Trace && c.Rate == 0 && c.N > 0:
		what, seconds = "--dataset-path", c.Times(c.N-1).Seconds()
	case n > 0:
		what, seconds = "--stages", float64(c.N)/c.Stages[n-1].Rate // infinite after a last rate of 0, which ends it
		if c.Stages[n-1].Rate == 0 {
			return nil
		}
	}
	limit := plan.DeadlineCap.Seconds()
	if c.Duration > 0 || !(seconds > limit) {
		return nil
	}
	return fmt.Errorf("%s: %d arrivals would go on for %.3g hours, longer than the limit of %v: raise the rate, ask for fewer, or end them with --duration",
		what, c.N, seconds/3600, plan.DeadlineCap)
}

// recorded reads the arrival times of a trace.
func recorded(set datasets.Set) func(i int) time.Duration {
	var item datasets.Item
	return func(i int) time.Duration {
		set.Item(i, &item)
		return item.At
	}
}

// limitPlaces sets what bounds the requests in flight.
func limitPlaces(c *dispatch.Config, p *plan.Plan) {
	c.MaxConcurrency = p.MaxConcurrency
	if p.OnCap == dispatch.Drop.String() {
		c.OnCap = dispatch.Drop
	}
	if p.Concurrency > 0 {
		c.Closed = &dispatch.Closed{Concurrency: p.Concurrency, N: p.NumPrompts, Until: p.Duration}
	}
}

// describeKind is what the manifest says of the load.
func describeKind(p *plan.Plan) map[string]string {
	out := map[string]string{record.LoadKind: record.OpenLoop, record.LoadText: p.ArrivalText()}
	noteFree(p, out)
	switch {
	case p.Concurrency > 0:
		out[record.LoadKind] = record.ClosedLoop
	case p.SessionsConcurrency > 0:
		n := strconv.Itoa(p.SessionsConcurrency)
		out[record.LoadKind], out[record.LoadLive] = record.ClosedLoop, n
		out[record.LoadText] = fmt.Sprintf("closed-loop, %s sessions live at all times; later steps as those before them end", n)
	case p.MaxConcurrency > 0:
		out[record.LoadMost], out[record.LoadOnCap] = strconv.Itoa(p.MaxConcurrency), p.OnCap
	case p.InSessions():
		out[record.LoadText] = fmt.Sprintf("%s, %s sessions/s; later steps as those before them end", p.Arrival, p.SessionsRate)
	}
	return out
}
