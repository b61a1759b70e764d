package gate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is what a metric measures.
type Kind uint8

// The kinds of metrics.
const (
	Latency Kind = iota // ns; a distribution over requests
	Share               // 0 to 1; compared in percentage points
	Rate                // per second
	Count               // a number of things
	Age                 // ns; one value a run
)

// Metric is something that a rule may be about.
type Metric struct {
	Name string
	Kind Kind
	// HigherIsBetter tells improvement from worsening.
	HigherIsBetter bool
	About          string
}

// metrics are those of rules.
var metrics = [...]Metric{
	{"ttft", Latency, false, "time to the first token, from the intended time"},
	{"ttft_send", Latency, false, "time to the first token, from the time of sending"},
	{"tpot", Latency, false, "mean time per output token after the first"},
	{"itl", Latency, false, "time between chunks"},
	{"e2e", Latency, false, "time to the last token, from the intended time"},
	{"queue", Latency, false, "time in the engine's queue, by its own account"},
	{"lag", Latency, false, "how late the generator sent a request"},
	{"d_ttft", Latency, false, "time to the first token at the client less that at the engine"},
	{"attainment", Share, true, "share of requests that met the objective"},
	{"error_rate", Share, false, "share of requests that failed"},
	{"hit_rate", Share, true, "share of prompt tokens taken from a prefix cache"},
	{"goodput", Rate, true, "requests per second that met the objective"},
	{"knee", Rate, true, "highest rate at which the objective holds"},
	{"throughput", Rate, true, "output tokens per second"},
	{"tokens_out", Count, true, "output tokens"},
	{"truncated", Count, false, "streams that ended without their end"},
	{"shed", Count, false, "requests refused for load (429, 503)"},
	{"preemptions", Count, false, "times an engine took a running request's KV cache away"},
	{"retries", Count, false, "attempts beyond the first at each request, hedges included"},
	{"imbalance", Count, false, "most requests of a replica over the mean of all"},
	{"skew", Count, false, "requests in flight by which the fullest replica is ahead of the emptiest, as sends find it on average"},
	{"skew_peak", Count, false, "the same at the most"},
	{"herding", Count, false, "how many times as often as by chance a request goes where the one before it went"},
	{"sends", Count, false, "how often what is on the way sent a request on, retries of its own and of the client together, on average"},
	{"sends_peak", Count, false, "the same of the request that was sent on most"},
	{"staleness", Age, false, "how old the report is, on average, by which the router picks"},
}

// ofRun reports whether the metric is of a whole run, and not of a stretch of it.
func (m Metric) ofRun() bool {
	return slices.Contains([]string{"knee", "itl", "imbalance", "skew", "skew_peak", "herding", "staleness", "sends", "sends_peak"}, m.Name)
}

// Metrics lists what rules may be about.
func Metrics() []Metric { return slices.Clone(metrics[:]) }

// Known returns the metric of a name that is certain to be one of Metrics; it panics for
// another.
func Known(name string) Metric {
	m, err := metricOf(name)
	if err != nil {
		panic(err)
	}
	return m
}

// Unit of a value: ns, share, 1/s or count.
func (m Metric) Unit() string { return [...]string{"ns", "share", "1/s", "count", "ns"}[m.Kind] }

// metricOf finds a metric; if there is none the error names the nearest one.
func metricOf(name string) (Metric, error) {
	best, distance := "", math.MaxInt
	for _, m := range metrics {
		if m.Name == name {
			return m, nil
		}
		if d := editDistance(name, m.Name); d < distance {
			best, distance = m.Name, d
		}
	}
	if distance <= 2 || distance <= len(name)/2 {
		return Metric{}, fmt.Errorf("unknown metric %q: did you mean %s?", name, best)
	}
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = m.Name
	}
	return Metric{}, fmt.Errorf("unknown metric %q: use one of %s", name, strings.Join(names, ", "))
}

// editDistance is Levenshtein's, over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// units of latencies, longest suffix first.
var units = [...]struct {
	suffix string
	ns     float64
}{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}}

// largest is the most that a value can be: 31 years in ns.
const largest = 1e18

// parse reads a value of this metric, into ns, a fraction, or a plain number.
func (m Metric) parse(text string) (float64, error) {
	number, scale := text, 1.0
	switch m.Kind {
	case Latency, Age:
		found := false
		for _, u := range units {
			if rest, ok := strings.CutSuffix(text, u.suffix); ok {
				number, scale, found = rest, u.ns, true
				break
			}
		}
		if !found {
			return 0, fmt.Errorf("%s is a time: give it a unit, such as %sms", m.Name, strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%/"))
		}
	case Share:
		if rest, ok := strings.CutSuffix(text, "%"); ok {
			number, scale = rest, 0.01
		}
	case Rate:
		number = strings.TrimSuffix(text, "/s")
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is no value of %s: %s", text, m.Name, m.example())
	}
	if v *= scale; math.Abs(v) > largest {
		return 0, fmt.Errorf("%s is beyond what %s can be", text, m.Name)
	}
	if v < 0 && m.Name != "d_ttft" {
		return 0, fmt.Errorf("%s can't be negative", m.Name)
	}
	if m.Kind == Share && v > 1 {
		return 0, fmt.Errorf("%s is at most 1, which is 100%%: write %s%% if that was meant", m.Name, number)
	}
	return v, nil
}

func (m Metric) example() string {
	return [...]string{"write it as 800ms or 2s", "write it as 99% or 0.99", "write it as 12.5", "write a number", "write it as 800ms or 2s"}[m.Kind]
}

// Format prints a value of this metric for people; one that does not exist as "-".
func (m Metric) Format(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 0):
		return "inf"
	case m.Kind == Latency || m.Kind == Age:
		return duration(v)
	case m.Kind == Share:
		return strconv.FormatFloat(100*v, 'f', 2, 64) + " %"
	case m.Kind == Rate:
		return plain(v) + "/s"
	}
	return plain(v)
}

// plain prints a whole number as it is, and others with four digits or as whole ones.
func plain(v float64) string {
	if a := math.Abs(v); a < 1e15 && (a >= 1000 || v == math.Trunc(v)) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return fmt.Sprintf("%.4g", v)
}

// duration prints nanoseconds with four digits.
func duration(ns float64) string {
	switch a := math.Abs(ns); {
	case a < 1e3:
		return fmt.Sprintf("%.4g ns", ns)
	case a < 1e6:
		return fmt.Sprintf("%.4g us", ns/1e3)
	case a < 1e9:
		return fmt.Sprintf("%.4g ms", ns/1e6)
	case a < 1e15:
		return fmt.Sprintf("%.4g s", ns/1e9)
	}
	return time.Duration(ns).String()
}
