package render

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the report as two tables, for a page or a comment: what was run and
// how it ended, and the metrics. Quantiles are left blank as in Text.
func Markdown(w io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", mdText(r.Dir))
	if !r.Health.Valid() {
		fmt.Fprintf(&b, "**INVALID (%s)**: do not use these figures: %s\n\n", r.Health.Verdict, mdText(strings.Join(r.Health.Why, "; ")))
	}
	b.WriteString("| | |\n|---|---|\n")
	row := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", key, mdText(value))
		}
	}
	for _, f := range r.Facts() {
		row(f.Name, f.Text)
	}
	for _, d := range r.Findings() {
		row("diagnosis", fmt.Sprintf("%s: %s. %s", d.What, d.Evidence, d.Remedy))
	}
	for _, warning := range r.Warnings() {
		row("warning", warning)
	}
	b.WriteString("\n| metric | n | mean | p50 | p90 | p95 | p99 | p99.9 | max |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, m := range r.Metrics {
		if m.N == 0 {
			continue
		}
		s := inUnit(m)
		fmt.Fprintf(&b, "| %s %s | %d | %s |", m.Name, unitName, m.N, cell(s.Mean))
		for i, v := range []float64{s.P50, s.P90, s.P95, s.P99, s.P99_9} {
			if !m.Reliable(fractions[i]) {
				b.WriteString(" |")
				continue
			}
			fmt.Fprintf(&b, " %s |", cell(v))
		}
		fmt.Fprintf(&b, " %s |\n", cell(s.Max))
	}
	b.WriteByte('\n')
	r.mdExploratory(&b)
	r.mdClasses(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// mdClasses writes the table of the classes.
func (r *Report) mdClasses(b *strings.Builder) {
	if len(r.Classes) == 0 {
		return
	}
	head := ClassHead()
	fmt.Fprintf(b, "| %s |\n|---|%s---|\n", strings.Join(head, " | "), strings.Repeat("--:|", len(head)-2))
	for _, row := range r.ClassRows() {
		for i := range row {
			row[i] = mdText(row[i])
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
	b.WriteByte('\n')
}

// mdText keeps a text in its cell.
func mdText(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}
