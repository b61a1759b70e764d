package render

import (
	"fmt"
	"io"
	"strings"

	"goodput/loadgen/record"
	"goodput/report/query"
	"goodput/report/stats"
)

// Text writes the report for people. A quantile over fewer values than it needs
// (stats.MinN) is left blank.
func Text(w io.Writer, r *Report) error {
	var b strings.Builder
	r.head(&b)
	r.table(&b)
	r.exploratory(&b)
	r.classes(&b)
	r.joined(&b)
	r.sessions(&b)
	r.triggers(&b)
	r.spent(&b)
	r.tail(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) head(b *strings.Builder) {
	if !r.Health.Valid() {
		fmt.Fprintf(b, "INVALID (%s): do not use these figures\n", r.Health.Verdict)
		for _, why := range r.Health.Why {
			fmt.Fprintf(b, "  %s\n", why)
		}
	}
	clock := "real time"
	if r.Manifest.Virtual {
		clock = "virtual time"
	}
	fmt.Fprintf(b, "run        %s (%s, seed %d, plan %s)\n", r.Dir, clock, r.Manifest.Seed, r.Manifest.PlanHash)
	for _, k := range []string{"target", "dataset"} {
		if text := describe(r.Manifest.Target, r.Manifest.Dataset, k); text != "" {
			fmt.Fprintf(b, "%-10s %s\n", k, text)
		}
	}
	r.events(b)
	fmt.Fprintf(b, "load       %s\noutcomes   %s\n", r.loadText(), r.outcomesText())
	for o, why := range r.Reasons {
		if why != "" && record.Outcome(o) != record.Censored {
			fmt.Fprintf(b, "  %s, for example: %s\n", record.Outcome(o), why)
		}
	}
	if text := r.sloText(); text != "" {
		fmt.Fprintf(b, "SLO        %s\n", text)
	}
}

func describe(target, dataset map[string]string, which string) string {
	if which == "target" {
		return target["text"]
	}
	return dataset["text"]
}

func (r *Report) table(b *strings.Builder) {
	fmt.Fprintf(b, "\n%-16s %8s %8s %10s %10s %10s %10s %10s %10s %10s\n",
		"", "n", "n_eff", "mean", "p50", "p90", "p95", "p99", "p99.9", "max")
	var blank []string
	for _, m := range r.Metrics {
		if m.N == 0 {
			continue
		}
		s := inUnit(m)
		row := []any{m.Name + " " + unitName, m.N, independent(&m), cell(s.Mean)}
		for i, v := range []float64{s.P50, s.P90, s.P95, s.P99, s.P99_9} {
			if !m.Reliable(fractions[i]) {
				row = append(row, "-")
				continue
			}
			row = append(row, cell(v))
		}
		fmt.Fprintf(b, "%-16s %8d %8s %10s %10s %10s %10s %10s %10s %10s\n", append(row, cell(s.Max))...)
		if why := needs(&m); why != "" {
			blank = append(blank, m.Name+" "+why)
		}
	}
	wrap(b, "  -: ", blank)
	b.WriteByte('\n')
}

// independent is how many independent values a metric is worth, ? if unknown.
func independent(m *query.Metric) string {
	if m.Independent <= 0 {
		return "?"
	}
	return fmt.Sprint(m.Worth())
}

// wrap writes a list in lines of at most 110 columns.
func wrap(b *strings.Builder, head string, items []string) {
	line := head
	for i, item := range items {
		if i > 0 {
			line += ", "
		}
		if len(line)+len(item) > 110 {
			fmt.Fprintf(b, "%s\n", strings.TrimRight(line, " "))
			line = strings.Repeat(" ", len(head))
		}
		line += item
	}
	if len(items) > 0 {
		fmt.Fprintf(b, "%s\n", line)
	}
}

// needs says what the first quantile that is left out would need; "": none is.
func needs(m *query.Metric) string {
	for i, q := range fractions {
		if !m.Reliable(q) {
			return fmt.Sprintf("%s (needs %d independent, have ~%d)", fractionNames[i], stats.MinN(q), m.Worth())
		}
	}
	return ""
}

var fractionNames = [...]string{"p50", "p90", "p95", "p99", "p99.9"}

var fractions = [...]float64{.5, .9, .95, .99, .999}

// cell prints four significant digits without an exponent.
func cell(v float64) string {
	digits := 3
	for x := v; x >= 10 && digits > 0; x /= 10 {
		digits--
	}
	return fmt.Sprintf("%.*f", digits, v)
}

func (r *Report) tail(b *strings.Builder) {
	if v, ok := r.throughput(); ok {
		fmt.Fprintf(b, "tokens     %d in, %d out, %.4g output tokens/s\n", r.PromptTokens, r.OutputTokens, v)
	}
	r.attempts(b)
	if text := r.cacheText(); text != "" {
		fmt.Fprintf(b, "cache hit  %s\n", text)
	}
	if r.Accounts > 0 {
		fmt.Fprintf(b, "engine     %d preemptions, %d tokens recomputed\n", r.Preemptions, r.Recomputed)
	}
	if used, ok := r.Manifest.Counters[record.CounterReplicaTime]; ok {
		fmt.Fprintf(b, "replicas   %.1f replica-seconds, cold starts among them\n", float64(used)/1000)
	}
	if length, ok := r.Drafts.Length(); ok {
		rate, known := r.Drafts.Rate()
		fmt.Fprintf(b, "drafts     %d verified, acceptance length %.3g, %s of the tokens accepted\n",
			r.Drafts.Verified, length, percent(known, func() float64 { return rate }))
	}
	r.engines(b)
	r.arrivals(b)
	r.generator(b)
	for _, d := range r.Findings() {
		fmt.Fprintf(b, "diagnosis  %s: %s\n           -> %s\n", d.What, d.Evidence, d.Remedy)
	}
	for _, w := range r.Warnings() {
		fmt.Fprintf(b, "warning    %s\n", w)
	}
}

func percent(known bool, v func() float64) string {
	if !known {
		return "unknown"
	}
	return fmt.Sprintf("%.1f %%", 100*v())
}

// Definitions writes what each metric means.
func Definitions(w io.Writer) error {
	var b strings.Builder
	for _, d := range record.Definitions() {
		fmt.Fprintf(&b, "%-12s %s", d.Name, d.Text)
		if d.NullWhen != "" {
			fmt.Fprintf(&b, " (none when %s)", d.NullWhen)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
