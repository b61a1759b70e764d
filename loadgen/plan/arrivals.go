package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Stage is a point of a rate that changes over time (schedule.Stage).
type Stage struct {
	At        time.Duration
	Rate      float64
	Geometric bool
}

// Bursts are the two states of --arrival mmpp: the rate in bursts over that between
// them, and their mean durations.
type Bursts struct {
	Factor      float64
	Burst, Calm time.Duration
}

// mmpp is the name of the process, and usualBursts what the name alone stands for.
const mmpp = "mmpp"

var processes = [...]string{"poisson", "gamma", "weibull", mmpp, "constant", "trace"}

// Process splits Arrival into the name of the process and the states of mmpp, which
// are written as mmpp:FACTOR,BURST,CALM.
func (p *Plan) Process() (name string, b Bursts, err error) {
	name, text, given := strings.Cut(p.Arrival, ":")
	if name != mmpp {
		return p.Arrival, Bursts{}, nil
	}
	if !given {
		return name, Bursts{Factor: 10, Burst: time.Second, Calm: 9 * time.Second}, nil
	}
	const form = "%q: write mmpp:FACTOR,BURST,CALM, such as mmpp:10,1s,9s: the rate in bursts over that between them, and the mean durations of both"
	parts := strings.Split(text, ",")
	if len(parts) != 3 {
		return name, b, fmt.Errorf(form, p.Arrival)
	}
	var err1, err2, err3 error
	b.Factor, err1 = parseNumber(parts[0], "")
	b.Burst, err2 = time.ParseDuration(parts[1])
	b.Calm, err3 = time.ParseDuration(parts[2])
	if err1 != nil || err2 != nil || err3 != nil {
		return name, b, fmt.Errorf(form, p.Arrival)
	}
	if b.Factor < 1 || b.Factor > 1e6 {
		return name, b, fmt.Errorf("%q: the rate in bursts is 1 to 1e6 times that between them", p.Arrival)
	}
	for _, d := range []time.Duration{b.Burst, b.Calm} {
		if d < time.Millisecond || d > DeadlineCap {
			return name, b, fmt.Errorf("%q: %v is outside 1ms to %v", p.Arrival, d, DeadlineCap)
		}
	}
	return name, b, nil
}

// Ramped reports whether the rate changes over time, and --request-rate says nothing.
func (p *Plan) Ramped() bool { return p.Stages != "" || p.RampUp != "" }

// Course is the rate over time of a plan that is Ramped. A ramp without a duration
// lasts until --num-prompts have arrived, in the mean.
func (p *Plan) Course() ([]Stage, error) {
	if p.Stages != "" {
		return parseStages(p.Stages)
	}
	a, b := float64(p.RampUpStart), float64(p.RampUpEnd)
	geometric := p.RampUp == "exponential"
	d := p.Duration
	if d == 0 {
		mean := (a + b) / 2
		if geometric && a != b {
			mean = (b - a) / math.Log(b/a)
		}
		seconds := float64(p.NumPrompts) / mean
		if !(seconds <= DeadlineCap.Seconds()) {
			return nil, fmt.Errorf("%d requests would take longer than %v: raise the rates, or give --duration", p.NumPrompts, DeadlineCap)
		}
		d = max(1, time.Duration(seconds*1e9))
	}
	return []Stage{{Rate: a, Geometric: geometric}, {At: d, Rate: b}}, nil
}

// parseStages reads TIME:RATE items, separated by commas.
func parseStages(text string) ([]Stage, error) {
	var out []Stage
	any := false
	for _, item := range strings.Split(text, ",") {
		at, rate, found := strings.Cut(strings.TrimSpace(item), ":")
		d, err1 := time.ParseDuration(at)
		r, err2 := parseNumber(rate, "")
		if !found || err1 != nil || err2 != nil {
			return nil, fmt.Errorf("%q is not TIME:RATE, such as 60s:8", item)
		}
		switch n := len(out); {
		case n == 0 && d != 0:
			return nil, fmt.Errorf("the first stage is at %v: begin with 0s:RATE", d)
		case n > 0 && d < out[n-1].At:
			return nil, fmt.Errorf("%q is before the stage ahead of it: sort them by time", item)
		case d > DeadlineCap:
			return nil, fmt.Errorf("%q is later than %v", item, DeadlineCap)
		case r != 0 && (r < 1e-6 || r > 1e7):
			return nil, fmt.Errorf("%q: the rate is neither 0 nor within 1e-6 to 1e7 a second", item)
		}
		any = any || r > 0
		out = append(out, Stage{At: d, Rate: r})
	}
	if !any {
		return nil, fmt.Errorf("%q: all rates are 0, so nothing would arrive", text)
	}
	return out, nil
}

// checkArrivals checks how requests arrive.
func (p *Plan) checkArrivals(v *checker) {
	timed := Timed(p.DatasetName)
	name, _, err := p.Process()
	v.ok(err == nil, "arrival", "%v", err)
	given := 0
	for _, is := range []bool{p.RequestRate != 0, p.Stages != "", p.RampUp != "", p.Concurrency != 0} {
		if is {
			given++
		}
	}
	v.ok(given < 2, "request-rate", "give one of --request-rate, --stages, --ramp-up-strategy and --concurrency")
	v.ok(p.RequestRate.Inf() || p.RequestRate <= 1e7, "request-rate", "%v is more than 1e7 a second", p.RequestRate)
	v.ok(p.RequestRate == 0 || p.RequestRate >= 1e-6, "request-rate", "%v is less than 1e-6 a second", p.RequestRate)
	v.ok(IsAgent(p.DatasetName) || p.SessionsRate > 0 || p.SessionsConcurrency > 0 || given > 0 || p.Searches() || (timed && (p.Arrival == "" || p.Arrival == "trace")), "request-rate",
		"how many requests a second? give a number, or inf for all at once")
	v.ok(p.Burstiness.Inf() || (p.Burstiness >= 1e-3 && p.Burstiness <= 1e6), "burstiness", "%v is outside 0.001 to 1e6 (or inf)", p.Burstiness)
	if p.Arrival != "" {
		v.oneOf("arrival", name, processes[:]...)
		v.ok(name != "trace" || timed, "arrival", "dataset %s has no timestamps to replay", p.DatasetName)
		v.ok(name != "trace" || !p.Ramped(), "arrival", "a trace has its own times: leave --stages and --ramp-up-strategy out")
		v.ok(name != "poisson" && name != mmpp || p.Burstiness == 1, "burstiness", "%s arrivals have burstiness 1: use --arrival gamma or weibull", name)
		v.ok(name != "weibull" || p.Burstiness.Inf() || p.Burstiness >= 0.1 && p.Burstiness <= 1e3, "burstiness", "%v is outside 0.1 to 1000 (or inf), the shape of Weibull gaps", p.Burstiness)
	}
	v.ok(!p.RequestRate.Inf() || p.Arrival == "" || p.Arrival == "constant" || p.Arrival == "poisson", "request-rate",
		"inf sends all at once, so --arrival %s means nothing", p.Arrival)
	v.ok(!p.RequestRate.Inf() || p.NumPrompts > 0 || p.Duration == 0, "num-prompts", "with --request-rate inf, say how many")
	p.checkRamp(v)
	p.checkPlaces(v)
}

func (p *Plan) checkRamp(v *checker) {
	if p.Stages != "" {
		_, err := parseStages(p.Stages)
		v.ok(err == nil, "stages", "%v", err)
	}
	ramped := p.RampUpStart != 0 || p.RampUpEnd != 0
	if p.RampUp == "" {
		v.ok(!ramped, "ramp-up-strategy", "--ramp-up-start-rps and --ramp-up-end-rps are the ends of a ramp: say linear or exponential, or leave them out")
		return
	}
	v.oneOf("ramp-up-strategy", p.RampUp, "linear", "exponential")
	for _, r := range []struct {
		flag string
		rate Rate
	}{{"ramp-up-start-rps", p.RampUpStart}, {"ramp-up-end-rps", p.RampUpEnd}} {
		v.ok(r.rate == 0 || r.rate >= 1e-6 && r.rate <= 1e7, r.flag, "%v is outside 1e-6 to 1e7 a second", r.rate)
		v.ok(r.rate != 0 || p.RampUp != "exponential", r.flag, "an exponential ramp cannot begin or end at 0: give a small rate")
	}
	v.ok(ramped, "ramp-up-end-rps", "up to which rate? give --ramp-up-start-rps and --ramp-up-end-rps")
}

// checkPlaces checks what bounds the requests in flight.
func (p *Plan) checkPlaces(v *checker) {
	v.within("max-concurrency", p.MaxConcurrency, 0, 1<<24)
	v.within("concurrency", p.Concurrency, 0, 1<<24)
	v.oneOf("on-cap", p.OnCap, "queue", "drop")
	v.ok(p.Concurrency == 0 || p.MaxConcurrency == 0, "max-concurrency", "--concurrency has that many in flight anyway: leave one out")
	v.ok(p.OnCap == "queue" || p.MaxConcurrency > 0, "on-cap", "there is no cap: give --max-concurrency")
	d, n, _ := p.Warming()
	v.ok(p.Concurrency == 0 || d == 0 && n == 0 && p.Cache != CacheWarm, "concurrency", "a closed loop has no schedule that a warm-up could precede: leave out --warmup and --cache %s", CacheWarm)
	v.ok(p.Concurrency == 0 || p.Arrival == "", "arrival", "with --concurrency requests follow on answers, so an arrival process means nothing")
	v.ok(!p.InSessions() || p.MaxConcurrency == 0 && p.Concurrency == 0 && !p.Ramped(), "dataset-name",
		"sessions arrive at --sessions-rate: --max-concurrency, --concurrency, --stages and --ramp-up-strategy are for requests")
}

// ArrivalText is the text of the load for people.
func (p *Plan) ArrivalText() string {
	if p.Mixed() {
		list, _ := p.Classes() // checked with the plan
		return MixText(list)
	}
	switch {
	case p.Concurrency > 0:
		return "closed-loop, " + strconv.Itoa(p.Concurrency) + " in flight: each request is due when another ends"
	case p.InSessions() && p.SessionsRate.Inf():
		return "all sessions at once"
	case p.InSessions() && p.SessionsRate == 0:
		return p.Arrival + ", as recorded; later steps as those before them end"
	case p.InSessions():
		return fmt.Sprintf("%s, %s sessions/s; later steps as those before them end", p.Arrival, p.SessionsRate)
	case p.RequestRate.Inf():
		return "all at once"
	case p.Stages != "":
		return p.Arrival + ", rate by stages " + p.Stages
	case p.RampUp != "":
		return fmt.Sprintf("%s, %s ramp from %s to %s/s", p.Arrival, p.RampUp, p.RampUpStart, p.RampUpEnd)
	case p.RequestRate > 0:
		return fmt.Sprintf("%s, %s/s", p.Arrival, p.RequestRate)
	}
	return p.Arrival
}
