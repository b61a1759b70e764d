package gate

import (
	"fmt"
	"io"
	"math"
	"slices"

	"goodput/report/stats"
)

// Calibration is what comparisons of a thing with itself say of one rule.
type Calibration struct {
	Rule Rule
	// N comparisons, of which the interval leaves out "no change" in Rejected, and the
	// rule fails, with its margin, in Failed. A comparison that can't be judged, or
	// whose arms are equal to the byte, counts in N and rejects nothing; Equal counts
	// the latter, and Invalid the former.
	N, Rejected, Failed, Equal, Invalid int
	// Margin is the 95th percentile of the size of the estimated changes: what a margin
	// must be for a gate on estimates alone to fail in 5 % of cases. NaN: unknown.
	Margin float64

	sizes []float64
}

// Calibrate judges comparisons of a thing with itself: of each, the blocks of every
// rule, which must be against a baseline. Each rule is judged alone.
func Calibrate(rules []Rule, comparisons [][][]Block) []Calibration {
	out := make([]Calibration, len(rules))
	for i, r := range rules {
		c := Calibration{Rule: r, Margin: math.NaN()}
		for _, blocks := range comparisons {
			c.add(blocks[i])
		}
		if n := len(c.sizes); n > 0 {
			slices.Sort(c.sizes)
			c.Margin = c.sizes[int(math.Ceil(0.95*float64(n)))-1]
		}
		out[i] = c
	}
	return out
}

func (c *Calibration) add(blocks []Block) {
	c.N++
	result := Judge([]Rule{c.Rule}, [][]Block{blocks}, Data{})[0]
	if result.Verdict == Invalid {
		c.Invalid++
		return
	}
	c.sizes = append(c.sizes, math.Abs(result.Estimate))
	if !slices.ContainsFunc(blocks, func(b Block) bool { return b.Candidate.Value != b.Baseline.Value }) {
		c.Equal++
		return
	}
	if result.Verdict == Fail {
		c.Failed++
	}
	if in, err := c.Rule.Spread(blocks); err == nil && in.TwoSided() <= 1-c.Rule.Confidence {
		c.Rejected++
	}
}

// share is a number of cases with its exact 95 % interval.
func share(part, whole int) string {
	lo, hi, err := stats.ClopperPearson(part, whole, 0.95)
	if err != nil {
		return "-"
	}
	return fmt.Sprintf("%d of %d, %.1f %% [%.1f, %.1f]", part, whole, 100*float64(part)/float64(whole), 100*lo, 100*hi)
}

// Text writes the calibration of one rule.
func (c *Calibration) Text(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s\n  a change is seen   %s (nominal %.3g %%)\n  the gate fails     %s\n",
		c.Rule, share(c.Rejected, c.N), round(100*(1-c.Rule.Confidence)), share(c.Failed, c.N))
	if err != nil {
		return err
	}
	if !math.IsNaN(c.Margin) {
		if _, err = fmt.Fprintf(w, "  suggested margin   %.2g %% (95 %% of the estimated changes are no larger)\n", 100*c.Margin); err != nil {
			return err
		}
	}
	for _, x := range []struct {
		n    int
		what string
	}{{c.Equal, "had arms equal in every seed"}, {c.Invalid, "could not be judged, for want of data"}} {
		if x.n > 0 {
			if _, err = fmt.Fprintf(w, "  %d of them %s\n", x.n, x.what); err != nil {
				return err
			}
		}
	}
	return nil
}
