package compare

import (
	"fmt"
	"math"
	"strings"

	"goodput/report/knee"
	"goodput/report/render"
)

// Knee is the highest rate at which an arm holds an objective, searched with the seeds
// of the comparison.
type Knee struct {
	SLO string
	// N is the number of requests of a trial, without which the figure means nothing.
	N int
	knee.Knee
}

// SetKnee gives arm a its knee, and each of its runs that of its seed.
func (s *Set) SetKnee(a int, k *Knee) {
	if s.Knees == nil {
		s.Knees = make([]*Knee, len(s.Arms))
	}
	s.Knees[a] = k
	for i, t := range s.Trials[a] {
		for _, x := range k.Seeds {
			if t != nil && x.Seed == s.Seeds[i] && x.Outcome == knee.OK {
				t.Knee = &x.Rate
			}
		}
	}
}

// kneeOf is the knee of arm a; nil: none was searched.
func (s *Set) kneeOf(a int) *Knee {
	if a >= len(s.Knees) {
		return nil
	}
	return s.Knees[a]
}

// Text is the knee with its interval, or why there is none.
func (k *Knee) Text() string {
	switch {
	case k.Outcome == knee.Censored && k.Passed() > 0:
		return fmt.Sprintf("%s, at least %.4g/s: %s", k.Outcome, k.Passed(), k.Why)
	case k.Outcome != knee.OK:
		return fmt.Sprintf("%s: %s", k.Outcome, k.Why)
	case math.IsNaN(k.Lo):
		return fmt.Sprintf("%.4g/s", k.Rate)
	}
	return fmt.Sprintf("%.4g/s [%.4g, %.4g]", k.Rate, k.Lo, k.Hi)
}

// knees prints those of all arms.
func (s *Set) knees(b *strings.Builder) {
	width := 0
	for _, name := range s.Arms {
		width = max(width, len([]rune(name)))
	}
	first := true
	for a, name := range s.Arms {
		k := s.kneeOf(a)
		if k == nil {
			continue
		}
		if first {
			fmt.Fprintf(b, "\nknee of %s; %s (95 %%)\n\n", k.SLO, render.IntervalLabel(k.N))
			first = false
		}
		fmt.Fprintf(b, "%*s  %s\n", width, name, k.Text())
	}
}
