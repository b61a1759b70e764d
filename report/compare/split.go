package compare

import (
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
)

// Split is what a canary would have said: both arms in one run of each seed, each with a
// part of the load, before the same engines.
type Split struct {
	// By is what is given whole to an arm: request or session.
	By string
	// Set has the arms of the comparison, each with the figures of its part.
	Set *Set
}

// splitRow holds a figure's difference by both ways.
type splitRow struct{ alone, split *Pair }

// rows are the figures that both ways have.
func (x *Split) rows(alone []Pair) []splitRow {
	var out []splitRow
	pairs := x.Set.Pairs()
	for i := range alone {
		for j := range pairs {
			if pairs[j].Title == alone[i].Title && !math.IsNaN(alone[i].Value) && !math.IsNaN(pairs[j].Value) && sensible(alone[i].Title) {
				out = append(out, splitRow{&alone[i], &pairs[j]})
			}
		}
	}
	return out
}

// sensible leaves out the figures that are of a pool, or of a whole load, and say nothing
// of a part.
func sensible(title string) bool {
	switch title {
	case "goodput", "output tokens", "imbalance", "skew", "peak skew", "herding", "staleness", "sends", "most sends", "knee", "preemptions", "retries":
		return false
	}
	return true
}

// Hidden counts the figures that differ conclusively when each arm has the load to itself,
// and those of them whose difference the split shows at less than half of its size, or
// with the other sign.
func (x *Split) Hidden(s *Set) (differ, hidden int) {
	for _, r := range x.rows(s.Pairs()) {
		if !r.alone.Conclusive() {
			continue
		}
		differ++
		a, b := r.alone.Value, r.split.Value
		if r.alone.Ratio {
			a, b = math.Log(a), math.Log(b)
		}
		if b/a < 0.5 {
			hidden++
		}
	}
	return differ, hidden
}

// text prints both ways beside each other.
func (x *Split) text(b *strings.Builder, s *Set) {
	fmt.Fprintf(b, "\nsplit by %s: the same load in one run, half of it to %s and half to %s, before the same engines\n\n", x.By, s.Arms[0], s.Arms[1])
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\t\tin the split\teach with all of the load\n", s.Arms[1])
	alone := s.Pairs()
	for _, r := range x.rows(alone) {
		fmt.Fprintf(t, "\t%s\t%s\t%s\n", r.split.Title, r.split.Change(), r.alone.Change())
	}
	_ = t.Flush() // a strings.Builder takes all
	differ, hidden := x.Hidden(s)
	fmt.Fprintf(b, "\nOf %d figures that differ for certain, the split shows %d at less than half of the difference.\n", differ, hidden)
	b.WriteString("Both halves wait in the same queues and share caches, so that each feels what the other rule does:\n" +
		"their difference is not the one between a pool with the one and a pool with the other.\n")
	if x.By == "request" {
		b.WriteString("Split by request, the steps of a conversation meet both rules, and find what the other has cached.\n")
	}
}
