package gate

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// Marker is the first line of the Markdown, by which a bot finds the comment that
// it is to update.
const Marker = "<!-- goodput:gate -->"

// maxComment is the most bytes of a comment; GitHub refuses 65,536.
const maxComment = 60_000

// Markdown writes a comment for a pull request: the verdict, a table of the rules,
// and collapsed details.
func Markdown(w io.Writer, o *Outcome) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n**goodput gate: %s** %s\n\n", Marker, o.Verdict, cell(o.Scenario))
	b.WriteString("| gate | baseline | candidate | estimate | 95 % interval | verdict |\n|---|---|---|---|---|---|\n")
	for _, r := range o.Results {
		interval := "-"
		if r.Lo == r.Lo { // known
			interval = "[" + r.Rule.Format(r.Lo) + ", " + r.Rule.Format(r.Hi) + "]"
			if r.Rule.Confidence != DefaultConfidence {
				interval += fmt.Sprintf(" (%g %%)", round(100*r.Rule.Confidence))
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s%s |\n", code(r.Rule.String()), r.Rule.Metric.Format(r.Baseline),
			r.Rule.Metric.Format(r.Candidate), r.Rule.Format(r.Estimate), interval, bold(r.Verdict), because(r.Why))
	}
	b.WriteString("\n<details><summary>Runs and conditions</summary>\n\n")
	for _, c := range o.Conditions {
		fmt.Fprintf(&b, "- %s: %s\n", cell(c[0]), cell(c[1]))
	}
	if o.Command != "" {
		fmt.Fprintf(&b, "\nTo repeat it: %s\n", code(o.Command))
	}
	const end = "\n</details>\n"
	for _, r := range o.Results {
		part := r.blocks()
		if b.Len()+len(part)+len(end)+100 > maxComment {
			b.WriteString("\nThe values of further runs are left out: the comment would be too long.\n")
			break
		}
		b.WriteString(part)
	}
	b.WriteString(end)
	_, err := io.WriteString(w, b.String())
	return err
}

// blocks is the table of one rule's runs.
func (r Result) blocks() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, %s\n\n| seed | baseline | candidate |\n|---|---|---|\n", code(r.Rule.String()), r.size())
	for _, k := range r.Blocks {
		base := "-"
		if r.Rule.Baseline {
			base = r.Rule.Metric.Format(k.Baseline.Value)
		}
		fmt.Fprintf(&b, "| %d | %s | %s |\n", k.Seed, base, r.Rule.Metric.Format(k.Candidate.Value))
	}
	return b.String()
}

func bold(v Verdict) string {
	if v == Pass {
		return string(v)
	}
	return "**" + string(v) + "**"
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + cell(why)
}

// cell escapes text for a table cell.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "`", "'").Replace(html.EscapeString(clean(s)))
}

// code is text in a code span within a table cell.
func code(s string) string {
	return "`" + strings.NewReplacer("|", "\\|", "`", "'").Replace(clean(s)) + "`"
}

// Annotations writes the workflow commands by which GitHub marks a job: an error
// for each rule that failed or is invalid, a warning for one that is inconclusive.
func Annotations(w io.Writer, o *Outcome) error {
	escape := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	title := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, r := range o.Results {
		level := "error"
		switch r.Verdict {
		case Pass:
			continue
		case Inconclusive:
			level = "warning"
		}
		if _, err := fmt.Fprintf(w, "::%s title=%s::%s\n", level,
			title.Replace(clean("goodput gate "+string(r.Verdict)+": "+r.Rule.String())), escape.Replace(clean(r.summary()))); err != nil {
			return err
		}
	}
	return nil
}
