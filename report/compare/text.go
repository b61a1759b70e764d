package compare

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"goodput/report/gate"
)

// Text writes the table of figures, means over seeds, and below it the differences from
// the first arm.
func (s *Set) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "compare    %s: %d arms, %d seeds; means over seeds\n\n", s.Dir, len(s.Arms), len(s.Seeds))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	shown := s.shown()
	fmt.Fprint(t, "arm\t")
	for _, m := range shown {
		fmt.Fprintf(t, "%s\t", m.title)
	}
	fmt.Fprintln(t)
	for a, name := range s.Arms {
		fmt.Fprintf(t, "%s\t", name)
		for _, m := range shown {
			fmt.Fprintf(t, "%s\t", gate.Known(m.metric).Format(s.mean(a, m)))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	s.knees(&b)
	s.invalid(&b)
	s.differences(&b)
	s.costs(&b)
	if s.Split != nil {
		s.Split.text(&b, s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shown are the figures that some arm has.
func (s *Set) shown() []*measure {
	var out []*measure
	for i := range measures {
		for a := range s.Arms {
			if !math.IsNaN(s.mean(a, &measures[i])) {
				out = append(out, &measures[i])
				break
			}
		}
	}
	return out
}

// invalid names the runs whose figures do not count.
func (s *Set) invalid(b *strings.Builder) {
	for a, name := range s.Arms {
		for i, t := range s.Trials[a] {
			if h := t.Report.Health; !h.Valid() {
				fmt.Fprintf(b, "INVALID (%s): %s, seed %d: %s\n", h.Verdict, name, s.Seeds[i], strings.Join(h.Why, "; "))
			}
		}
	}
}

func (s *Set) differences(b *strings.Builder) {
	pairs := s.Pairs()
	if len(pairs) == 0 {
		return
	}
	fmt.Fprintf(b, "\nagainst %s, paired by seed", s.Arms[0])
	if len(s.Seeds) > 1 {
		fmt.Fprintf(b, ", 95 %% interval over %d seeds; * differs at 5 %%", len(s.Seeds))
		if len(s.Arms) > 2 {
			fmt.Fprintf(b, " with %d arms compared (Holm)", len(s.Arms)-1)
		}
	} else {
		b.WriteString("; one seed has no interval: use --seeds 5")
	}
	b.WriteString("\n\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, name := range s.Arms[1:] {
		for i := range pairs {
			if p := &pairs[i]; p.Arm == name {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", name, p.Title, p.Change(), p.verdict())
			}
		}
	}
	_ = t.Flush() // a strings.Builder takes all
}

// same reports whether no seed has a difference.
func (p *Pair) same() bool {
	none := 0.0
	if p.Ratio {
		none = 1
	}
	return p.Value == none && (p.Lo == none && p.Hi == none || math.IsNaN(p.Lo) && p.ArmMean == p.BaseMean)
}

// Change prints the difference with its interval.
func (p *Pair) Change() string {
	one := p.one
	if p.same() {
		return "the same"
	}
	s := one(p.Value)
	if !math.IsNaN(p.Lo) {
		s += fmt.Sprintf(" [%s, %s]", one(p.Lo), one(p.Hi))
	}
	return s
}

func (p *Pair) one(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case p.Ratio:
		return fmt.Sprintf("%+.1f %%", 100*(v-1))
	case p.Metric.Kind == gate.Share:
		return fmt.Sprintf("%+.2f points", 100*v)
	}
	return fmt.Sprintf("%+.4g", v)
}

func (p *Pair) verdict() string {
	switch {
	case math.IsNaN(p.Value):
		return "no ratio: one of the two is 0, or unknown"
	case !p.Conclusive() || p.ArmMean == p.BaseMean:
		return ""
	case p.Better():
		return "* better"
	}
	return "* worse"
}
