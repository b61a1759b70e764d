package knee

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"goodput/loadgen/record"
	"goodput/report/gate"
	"goodput/report/stats"
)

// Clause is one condition of an objective: at least Share of the requests that it is
// about are good.
type Clause struct {
	Share float64
	text  string
	scope []gate.Label
	good  func(r *record.Request) verdict
	// measure is the value in ns that limit bounds; nil for a clause that is no bound of
	// a time.
	measure func(r *record.Request) int64
	limit   float64
	metric  gate.Metric
	agg     gate.Agg
}

// verdict is what a clause says of one request.
type verdict uint8

const (
	bad verdict = iota
	good
	beside // the clause is not about this request
)

// String is the clause as it was given.
func (c *Clause) String() string { return c.text }

// Objective is what a rate has to hold for: all of its clauses.
type Objective struct {
	Clauses []Clause
	text    string
	open    bool
}

// None is for trials that are held to nothing: it tells successes from the rest, and
// gives no verdict. Its text is empty.
func None() Objective {
	return Objective{open: true, Clauses: []Clause{{Share: 1, good: succeeded}}}
}

// Open reports whether o is that of None.
func (o *Objective) Open() bool { return o.open }

// String is the objective as it was given.
func (o *Objective) String() string { return o.text }

// MaxObjective is the longest objective, in bytes, and the most clauses of one.
const (
	MaxObjective = 4000
	maxClauses   = 16
)

// ParseObjective reads absolute rules of package gate, separated by commas, such as
//
//	ttft p(95) <= 2s, tpot p(95) <= 50ms
//
// Each is a marginal: p(q) <= x holds when a share q of the requests is within x, and a
// request that failed or did not end is not. max <= x asks it of all, error_rate <= x of
// successes alone, and attainment >= x of requests that meet the SLO that the load
// promises to each (record.Request.SLOMet). Rules that no single request can meet or
// miss, such as those on means, are refused.
func ParseObjective(text string) (Objective, error) {
	out := Objective{text: strings.TrimSpace(text)}
	if len(text) > MaxObjective {
		return out, fmt.Errorf("an objective of %d bytes: the limit is %d", len(text), MaxObjective)
	}
	at := 0 // where the part begins
	for _, part := range split(text) {
		r, err := gate.Parse(part)
		if err != nil {
			return out, within(err, text, part, at)
		}
		at += len(part) + 1
		c, err := clauseOf(r)
		if err != nil {
			return out, fmt.Errorf("%q: %w", strings.TrimSpace(part), err)
		}
		if out.Clauses = append(out.Clauses, c); len(out.Clauses) > maxClauses {
			return out, fmt.Errorf("an objective of more than %d rules: give several objectives", maxClauses)
		}
	}
	return out, nil
}

// within shows a fault of the part of a text that begins at a byte in all of it.
func within(err error, text, part string, at int) error {
	var fault *gate.SyntaxError
	if !errors.As(err, &fault) || fault.Src != part {
		return err
	}
	return &gate.SyntaxError{Src: text, At: at + fault.At, Msg: fault.Msg}
}

// split cuts at the commas that are outside of braces and quotes.
func split(text string) []string {
	var out []string
	depth, quoted, from := 0, false, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth <= 0:
			out = append(out, text[from:i])
			from = i + 1
		}
	}
	return append(out, text[from:])
}

// measures are the times of a request that a rule can bound.
var measures = map[string]func(*record.Request) int64{
	"ttft":      (*record.Request).TTFT,
	"ttft_send": (*record.Request).TTFTSend,
	"tpot":      (*record.Request).TPOT,
	"e2e":       (*record.Request).E2E,
	"queue":     func(r *record.Request) int64 { return r.ServerQueue },
}

// scopes are the labels that single requests have.
var scopes = []string{"class", "tenant", "replica"}

func clauseOf(r gate.Rule) (Clause, error) {
	c := Clause{text: r.String(), scope: r.Scope, metric: r.Metric, agg: r.Agg, limit: r.Value}
	for _, l := range r.Scope {
		if !slices.Contains(scopes, l.Name) {
			return c, fmt.Errorf("requests have no label %s: use %s", l.Name, strings.Join(scopes, ", "))
		}
	}
	switch {
	case r.Baseline:
		return c, fmt.Errorf("an objective is absolute: leave out vs baseline")
	case r.For > 0:
		return c, fmt.Errorf("an objective is judged over a whole trial: leave out for %v", r.For)
	case r.Metric.Name == "error_rate" && (r.Op == gate.LE || r.Op == gate.LT):
		c.Share, c.good = 1-r.Value, succeeded
		return c.checked()
	case r.Metric.Name == "attainment" && (r.Op == gate.GE || r.Op == gate.GT):
		c.Share, c.good = r.Value, promised
		return c.checked()
	}
	c.measure = measures[r.Metric.Name]
	if c.measure == nil {
		return c, fmt.Errorf("no single request meets or misses this: bound ttft, ttft_send, tpot, e2e or queue by p(95) <= or max <=, or error_rate <=, or attainment >=")
	}
	switch {
	case r.Op != gate.LE && r.Op != gate.LT:
		return c, fmt.Errorf("a time is bounded from above: write <=")
	case r.Agg.Name == "p":
		c.Share = r.Agg.Q
	case r.Agg.Name == "max":
		c.Share = 1
	default:
		return c, fmt.Errorf("no single request meets or misses a bound on %s: write p(95) <= or max <=", r.Agg)
	}
	c.good = c.within
	return c.checked()
}

func (c Clause) checked() (Clause, error) {
	if !(c.Share > 0 && c.Share <= 1) {
		return c, fmt.Errorf("asks nothing of any request")
	}
	return c, nil
}

// succeeded, promised and within judge one request. A request that was given up on
// purpose says nothing.
func succeeded(r *record.Request) verdict {
	switch r.Outcome {
	case record.OK:
		return good
	case record.Canceled:
		return beside
	}
	return bad
}

func promised(r *record.Request) verdict {
	switch {
	case r.Outcome == record.Canceled:
		return beside
	case r.SLOMet == record.Yes:
		return good
	}
	return bad
}

func (c *Clause) within(r *record.Request) verdict {
	if v := succeeded(r); v != good {
		return v
	}
	switch v := c.measure(r); {
	case v == record.Null && c.metric.Name == "tpot" && r.OutputTokens >= 0 && r.OutputTokens < 2:
		return beside // an answer of one token has no time per further token
	case v != record.Null && float64(v) <= c.limit:
		return good
	}
	return bad
}

// judge says what c makes of a request.
func (c *Clause) judge(r *record.Request) verdict {
	for _, l := range c.scope {
		value := r.Class
		switch l.Name {
		case "tenant":
			value = r.Tenant
		case "replica":
			value = r.Replica
		}
		if value != l.Value {
			return beside
		}
	}
	return c.good(r)
}

// Joint is the objective that a share of requests meets the SLO which the load promises
// to each.
func Joint(slo string, share float64) Objective {
	text := fmt.Sprintf("%s on %s %% of requests", slo, percent(share))
	return Objective{text: text, Clauses: []Clause{{Share: share, text: text, good: promised}}}
}

func percent(share float64) string {
	return strconv.FormatFloat(math.Round(1e8*share)/1e6, 'f', -1, 64)
}

// Tightest is what the requests given, which were alone, would meet of the objective at
// the best: the quantile of each clause that bounds a time. feasible says whether they
// meet it as it is, and met how many meet all of it.
func (o *Objective) Tightest(rows []record.Request) (text string, met int, feasible bool) {
	feasible = true
	var parts []string
	joint := make([]bool, len(rows))
	for i := range joint {
		joint[i] = true
	}
	for i := range o.Clauses {
		c := &o.Clauses[i]
		var sample stats.Sample
		n, ok := 0, 0
		for j := range rows {
			v := c.judge(&rows[j])
			if v == beside {
				continue
			}
			n++
			if v == good {
				ok++
			} else {
				joint[j] = false
			}
			if c.measure != nil {
				if v := c.measure(&rows[j]); v != record.Null {
					sample.Add(v)
				}
			}
		}
		feasible = feasible && n > 0 && ok >= Needed(n, c.Share)
		if q, any := sample.Quantile(c.Share); any {
			parts = append(parts, fmt.Sprintf("%s %s <= %s", c.metric.Name, c.agg, c.metric.Format(float64(q))))
		}
	}
	for _, ok := range joint {
		if ok {
			met++
		}
	}
	return strings.Join(parts, ", "), met, feasible
}

// FirstToken is the tightest bound on a time to the first token, in the objective or,
// if not 0, promised to each request; 0: there is none.
func (o *Objective) FirstToken(promised time.Duration) time.Duration {
	least := promised
	for i := range o.Clauses {
		c := &o.Clauses[i]
		if c.measure == nil || c.metric.Name != "ttft" && c.metric.Name != "ttft_send" {
			continue
		}
		if d := time.Duration(c.limit); least == 0 || d < least {
			least = d
		}
	}
	return least
}

// Promised reports whether a clause is about what the load promises to each request.
func (o *Objective) Promised() bool {
	return slices.ContainsFunc(o.Clauses, func(c Clause) bool { return c.metric.Name == "attainment" })
}
