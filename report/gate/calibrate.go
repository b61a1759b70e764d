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
	// Expected is the number of rejections averaged over all ways to name the two arms of
	// each pair: of a thing compared with itself each way is as likely as any other, so
	// that what is left between it and Rejected is chance. SD is the standard deviation of
	// Rejected by that chance. NaN: too many pairs to try them all.
	Expected, SD float64

	sizes    []float64
	variance float64
}

// mostSwapped is the most pairs of a comparison whose arms are swapped in all ways.
const mostSwapped = 10

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
		c.SD = math.Sqrt(c.variance)
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
	p := c.Rule.swapped(blocks)
	c.Expected, c.variance = c.Expected+p, c.variance+p*(1-p)
}

// swapped is the share of all ways to name the arms of each pair in which a change is seen.
func (r Rule) swapped(blocks []Block) float64 {
	if len(blocks) > mostSwapped {
		return math.NaN()
	}
	seen := 0
	named := make([]Block, len(blocks))
	for set := range 1 << len(blocks) {
		for i, b := range blocks {
			if set>>i&1 == 1 {
				b.Baseline, b.Candidate = b.Candidate, b.Baseline
			}
			named[i] = b
		}
		if in, err := r.Spread(named); err == nil && in.TwoSided() <= 1-r.Confidence {
			seen++
		}
	}
	return float64(seen) / float64(int(1)<<len(blocks))
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
	if !math.IsNaN(c.Expected) && c.N > c.Equal+c.Invalid {
		if _, err = fmt.Fprintf(w, "  over all swaps     %.2g %% (the arms of a pair are alike: the rest of the difference is chance)\n", 100*c.Expected/float64(c.N)); err != nil {
			return err
		}
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
