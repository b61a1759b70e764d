package gate

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// Outcome is what a gate command reports: the verdicts of all rules and of what
// they were taken.
type Outcome struct {
	Verdict Verdict
	Results []Result
	// Scenario names what was gated, such as the compared arms or the run.
	Scenario string
	// Conditions are lines of "name: value" on how the data came about, in order.
	Conditions [][2]string
	// Command repeats it.
	Command string
}

// Line is one result as a line of text.
func (r Result) Line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s  %s  %s", strings.ToUpper(string(r.Verdict)), r.Rule, r.Rule.Format(r.Estimate))
	if !math.IsNaN(r.Lo) {
		fmt.Fprintf(&b, " [%s, %s]", r.Rule.Format(r.Lo), r.Rule.Format(r.Hi))
	}
	b.WriteString("  n=" + r.size())
	if r.Why != "" {
		b.WriteString("  (" + r.Why + ")")
	}
	return b.String()
}

// size is "5x1000 paired", or "1 run".
func (r Result) size() string {
	s := fmt.Sprint(r.N)
	if r.Requests > 0 {
		s += fmt.Sprintf("x%d", r.Requests)
	}
	if r.Rule.Baseline {
		s += " paired"
	}
	return s
}

// Text writes a line for each rule and the verdict.
func Text(w io.Writer, o *Outcome) error {
	var b strings.Builder
	for _, r := range o.Results {
		b.WriteString(r.Line() + "\n")
	}
	fmt.Fprintf(&b, "gate: %s\n", o.Verdict)
	_, err := io.WriteString(w, b.String())
	return err
}

// number is a JSON number, or null.
type number float64

// MarshalJSON writes null for what does not exist.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

type jsonBlock struct {
	Seed      uint64 `json:"seed"`
	Baseline  number `json:"baseline"`
	Candidate number `json:"candidate"`
}

type jsonGate struct {
	Expr      string      `json:"expr"`
	Metric    string      `json:"metric"`
	Unit      string      `json:"unit"`
	Estimate  number      `json:"estimate"`
	Lo        number      `json:"lo"`
	Hi        number      `json:"hi"`
	Baseline  number      `json:"baseline"`
	Candidate number      `json:"candidate"`
	N         int         `json:"n"`
	Requests  int64       `json:"requests"`
	P         number      `json:"p"`
	HolmP     number      `json:"holm_p"`
	Need      int         `json:"need,omitempty"`
	Verdict   Verdict     `json:"verdict"`
	Why       string      `json:"why"`
	Blocks    []jsonBlock `json:"blocks"`
}

// unit of the values of a result.
func (r Rule) unit() string {
	switch {
	case r.Baseline && r.Metric.Kind == Share:
		return "difference"
	case r.Baseline:
		return "ratio-1"
	}
	return r.Metric.Unit()
}

// JSON writes the outcome as one object.
func JSON(w io.Writer, o *Outcome) error {
	gates := make([]jsonGate, 0, len(o.Results))
	for _, r := range o.Results {
		g := jsonGate{
			Expr: r.Rule.String(), Metric: r.Rule.Metric.Name, Unit: r.Rule.unit(),
			Estimate: number(r.Estimate), Lo: number(r.Lo), Hi: number(r.Hi),
			Baseline: number(r.Baseline), Candidate: number(r.Candidate), N: r.N, Requests: r.Requests,
			P: number(r.P), HolmP: number(r.Holm), Need: r.Need, Verdict: r.Verdict, Why: r.Why, Blocks: []jsonBlock{},
		}
		for _, b := range r.Blocks {
			base := number(math.NaN())
			if r.Rule.Baseline {
				base = number(b.Baseline.Value)
			}
			g.Blocks = append(g.Blocks, jsonBlock{b.Seed, base, number(b.Candidate.Value)})
		}
		gates = append(gates, g)
	}
	conditions := map[string]string{}
	for _, c := range o.Conditions {
		conditions[c[0]] = c[1]
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		Schema     int               `json:"schema"`
		Verdict    Verdict           `json:"verdict"`
		Scenario   string            `json:"scenario"`
		Conditions map[string]string `json:"conditions"`
		Gates      []jsonGate        `json:"gates"`
	}{1, o.Verdict, o.Scenario, conditions, gates})
}
