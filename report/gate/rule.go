package gate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Label restricts a rule to rows with a value, such as class=chat.
type Label struct{ Name, Value string }

// labels are those that rows have.
var labels = [...]string{"class", "tenant", "policy", "phase", "replica", "arm"}

// Agg is how the values of requests become one value of a run.
type Agg struct {
	// Name is "p", "mean", "min", "max", "rate" or "count"; empty for metrics that
	// have one value a run.
	Name string
	// Q is the quantile of "p", above 0 and below 1.
	Q float64
}

// String prints the aggregate as rules write it.
func (a Agg) String() string {
	if a.Name == "p" {
		return "p(" + strconv.FormatFloat(100*a.Q, 'f', -1, 64) + ")"
	}
	return a.Name
}

// Op compares.
type Op string

// The comparisons.
const (
	LT Op = "<"
	LE Op = "<="
	GT Op = ">"
	GE Op = ">="
	EQ Op = "=="
)

// holds compares two values.
func (o Op) holds(a, b float64) bool {
	switch o {
	case LT:
		return a < b
	case LE:
		return a <= b
	case GT:
		return a > b
	case GE:
		return a >= b
	}
	return a == b
}

// Worse reports whether a is further from holding than b.
func (r Rule) Worse(a, b float64) bool {
	switch r.Op {
	case LT, LE:
		return a > b
	case GT, GE:
		return a < b
	}
	return math.Abs(a-r.Value) > math.Abs(b-r.Value)
}

// upper reports whether the comparison bounds from above.
func (o Op) upper() bool { return o == LT || o == LE }

// Rule is one gate.
type Rule struct {
	Scope  []Label
	Metric Metric
	Agg    Agg
	Op     Op
	// Value is the limit in the metric's unit: ns, a fraction, or a number. Of a rule
	// against a baseline it is the allowed change: as a fraction of the baseline's
	// value, or in percentage points (0.01 is one) for a share.
	Value float64
	// Baseline: the rule is on the change against a baseline.
	Baseline bool
	// Confidence of the interval that decides, such as 0.95.
	Confidence float64
	// For: the rule is about each stretch of so long, by the intended times of requests,
	// and broken by the worst one; 0: it is about the whole run.
	For time.Duration

	src string
}

// DefaultConfidence is that of rules that name none.
const DefaultConfidence = 0.95

// String is the rule as it was written.
func (r Rule) String() string { return r.src }

// Canonical prints the rule in one spelling, which parses to the same rule.
func (r Rule) Canonical() string {
	var b strings.Builder
	if len(r.Scope) > 0 {
		b.WriteByte('{')
		for i, l := range r.Scope {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(l.Name + "=" + quote(l.Value))
		}
		b.WriteString("} ")
	}
	b.WriteString(r.Metric.Name)
	if r.Agg.Name != "" {
		b.WriteString(" " + r.Agg.String())
	}
	if r.Baseline {
		fmt.Fprintf(&b, " vs baseline %s %+g%%", r.Op, round(100*r.Value))
		if r.Confidence != DefaultConfidence {
			fmt.Fprintf(&b, " @ %g%%", round(100*r.Confidence))
		}
		return b.String()
	}
	b.WriteString(" " + string(r.Op) + " " + r.value())
	if r.For > 0 {
		b.WriteString(" for " + r.For.String())
	}
	return b.String()
}

// round takes off what binary fractions add to decimal ones.
func round(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		return v
	}
	return r
}

func quote(v string) string {
	if v != "" && strings.IndexFunc(v, func(c rune) bool { return !word(byte(c)) || c > 127 }) < 0 {
		return v
	}
	return strconv.Quote(v)
}

func (r Rule) value() string {
	switch r.Metric.Kind {
	case Latency, Age:
		return strconv.FormatFloat(round(r.Value/1e6), 'f', -1, 64) + "ms"
	case Share:
		return strconv.FormatFloat(round(100*r.Value), 'f', -1, 64) + "%"
	}
	return strconv.FormatFloat(r.Value, 'f', -1, 64)
}
