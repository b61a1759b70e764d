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
	for i, table := range []Table{s.figures(), s.pool()} {
		if len(table.Rows) == 0 {
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, row := range append([][]string{table.Head}, table.Rows...) {
			fmt.Fprintln(t, strings.Join(row, "\t")+"\t")
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	s.knees(&b)
	s.invalid(&b)
	s.differences(&b)
	s.classes(&b)
	s.costs(&b)
	if s.Split != nil {
		s.Split.text(&b, s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shown are the figures that some arm has: those of requests, and those of the pool.
func (s *Set) shown() (ofUsers, ofPool []*measure) {
	for i := range measures {
		m := &measures[i]
		has := false
		for a := range s.Arms {
			has = has || !math.IsNaN(s.mean(a, m))
		}
		switch {
		case !has:
		case m.pool:
			ofPool = append(ofPool, m)
		default:
			ofUsers = append(ofUsers, m)
		}
	}
	return ofUsers, ofPool
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
	changes := s.changes()
	if len(changes.Rows) == 0 {
		return
	}
	separator := ", "
	if len(s.Seeds) == 1 {
		separator = "; "
	}
	fmt.Fprintf(b, "\nagainst %s, paired by seed%s%s\n\n", s.Arms[0], separator, changes.Note)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, row := range changes.Rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
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
	if p.Metric.Kind == gate.Age {
		sign := "+"
		if v < 0 {
			sign = "-"
		}
		return sign + p.Metric.Format(math.Abs(v))
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
