package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"goodput/report/gate"
	"goodput/report/stats"
)

// planRules are what gate --plan looks at without --gate.
var planRules = []string{"ttft p(95) vs baseline", "ttft p(99) vs baseline", "tpot p(95) vs baseline", "e2e mean vs baseline"}

// changes are those that gate --plan tells about.
var changes = [...]float64{0.01, 0.02, 0.05, 0.10, 0.20}

// detect is what it takes to tell one change.
type detect struct {
	Change float64 `json:"change"`
	// Pairs of the size that there was, and requests in each of as many pairs as there
	// were, taking the spread to fall with the root of their number; 0: unknown.
	Pairs    int   `json:"pairs"`
	Requests int64 `json:"requests"`
}

// planned is what --plan says of one rule.
type planned struct {
	Expr     string   `json:"expr"`
	Pairs    int      `json:"pairs"`
	Requests int64    `json:"requests"`
	Spread   *float64 `json:"spread"` // between pairs: of logarithms of ratios, or of shares
	// Detectable is the change that these pairs tell in 80 % of cases.
	Detectable *float64 `json:"detectable"`
	Changes    []detect `json:"changes"`
	Why        string   `json:"why"`
}

// plan prints what would tell changes.
func (g *gating) plan(w io.Writer, asJSON bool) error {
	out := []planned{}
	for i, r := range g.rules {
		if !r.Baseline {
			return fmt.Errorf("--plan: %q has no baseline: it is about changes, as in 'ttft p(95) vs baseline'", r)
		}
		p, err := plannedRule(r, g.blocks[i])
		if err != nil {
			return exitf(exitInvalid, "--plan: %w", err)
		}
		out = append(out, p)
	}
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Schema int       `json:"schema"`
			Gates  []planned `json:"gates"`
		}{1, out})
	}
	var b strings.Builder
	for _, p := range out {
		p.text(&b)
	}
	b.WriteString("\nAt 95 % confidence, in 80 % of cases. The number of requests supposes that the spread\nfalls with the root of their number, which it does below about 85 % of the knee.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func plannedRule(r gate.Rule, blocks []gate.Block) (planned, error) {
	p := planned{Expr: r.String(), Pairs: len(blocks), Changes: []detect{}}
	if len(blocks) < 2 {
		return p, fmt.Errorf("%s: %d pair has no spread: run goodput compare with --seeds 5", r, len(blocks))
	}
	for i, b := range blocks {
		if n := min(b.Candidate.N, b.Baseline.N); i == 0 || n < p.Requests {
			p.Requests = n
		}
	}
	in, err := r.Spread(blocks)
	if err != nil {
		return p, err
	}
	p.Spread = &in.SD
	if in.SD == 0 {
		p.Why = "all pairs say exactly the same: there is no spread, and any change shows in two of them"
		return p, nil
	}
	log := func(v float64) float64 { return v }
	exp := log
	if r.Metric.Kind != gate.Share {
		log, exp = math.Log1p, math.Expm1
	}
	found := exp(stats.Detectable(in.SD, len(blocks), r.Confidence))
	p.Detectable = &found
	for _, c := range changes {
		d := detect{Change: c, Pairs: stats.Replications(in.SD, log(c), r.Confidence)}
		if p.Requests > 0 {
			k := stats.Detectable(in.SD, len(blocks), r.Confidence) / log(c)
			d.Requests = max(int64(math.Ceil(float64(p.Requests)*k*k)), r.MinRequests())
		}
		p.Changes = append(p.Changes, d)
	}
	return p, nil
}

func (p *planned) text(b *strings.Builder) {
	of := ""
	if p.Requests > 0 {
		of = fmt.Sprintf(" of %d requests", p.Requests)
	}
	fmt.Fprintf(b, "%s: %d pairs%s", p.Expr, p.Pairs, of)
	if p.Detectable == nil {
		fmt.Fprintf(b, "; %s\n", p.Why)
		return
	}
	fmt.Fprintf(b, ", spread %.3g between pairs: they tell a change of %.2g %%\n", *p.Spread, 100**p.Detectable)
	for _, c := range p.Changes {
		fmt.Fprintf(b, "  %4.0f %%: %d pairs%s", 100*c.Change, c.Pairs, of)
		if c.Requests > 0 {
			fmt.Fprintf(b, ", or %d pairs of %d requests", p.Pairs, c.Requests)
		}
		b.WriteByte('\n')
	}
}
