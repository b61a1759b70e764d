package gate

import (
	"math"
	"strings"
	"testing"

	"goodput/loadgen/rng"
	"goodput/report/stats"
)

// chance makes comparisons of five pairs whose ratios are random around effect.
func chance(n int, effect float64) [][][]Block {
	r := rng.New(1, "calibrate", 0)
	out := make([][][]Block, n)
	for i := range out {
		blocks := make([]Block, 5)
		for k := range blocks {
			base := math.Exp(0.3 * r.Norm())
			blocks[k] = Block{uint64(k), Statistic{1e8 * base, 1000}, Statistic{1e8 * base * (1 + effect) * math.Exp(0.05*r.Norm()), 1000}}
		}
		out[i] = [][]Block{blocks}
	}
	return out
}

// On normal logarithms the interval has its nominal error rate, a margin makes failures
// rare, and a true change is found more often the larger it is.
func TestCalibrate(t *testing.T) {
	rule, err := Parse("ttft p(95) vs baseline <= +5%")
	if err != nil {
		t.Fatal(err)
	}
	c := Calibrate([]Rule{rule}, chance(2000, 0))[0]
	lo, hi, err := stats.ClopperPearson(c.Rejected, c.N, 0.99)
	if err != nil || lo > 0.05 || hi < 0.05 {
		t.Errorf("rejects %d of %d: [%v, %v] leaves 5 %% out", c.Rejected, c.N, lo, hi)
	}
	if c.Failed > 20 || math.Abs(c.Margin-0.0446) > 0.006 {
		t.Errorf("%d fail with a margin of 5 %%; suggested margin %v, expected 1.96*0.05/sqrt(5)", c.Failed, c.Margin)
	}
	last := c.Rejected
	for _, effect := range []float64{0.05, 0.10, 0.20} {
		now := Calibrate([]Rule{rule}, chance(500, effect))[0]
		if 4*now.Rejected <= last {
			t.Errorf("a change of %v is found in %d of 500", effect, now.Rejected)
		}
		last = 4 * now.Rejected
	}
}

func TestCalibrateEqualAndInvalid(t *testing.T) {
	rule, err := Parse("ttft p(95) vs baseline <= +5%")
	if err != nil {
		t.Fatal(err)
	}
	equal := []Block{{0, Statistic{1, 1000}, Statistic{1, 1000}}, {1, Statistic{2, 1000}, Statistic{2, 1000}}}
	none := []Block{{0, Statistic{math.NaN(), 0}, Statistic{1, 1000}}}
	c := Calibrate([]Rule{rule}, [][][]Block{{equal}, {none}})[0]
	if c.N != 2 || c.Equal != 1 || c.Invalid != 1 || c.Rejected != 0 || c.Failed != 0 {
		t.Errorf("%+v", c)
	}
	var b strings.Builder
	if err := c.Text(&b); err != nil || !strings.Contains(b.String(), "1 of them had arms equal") {
		t.Errorf("%v: %s", err, &b)
	}
}

// Swapping the arms of pairs that spread evenly shows the test's level with little noise,
// and differences that go one way in most pairs do not move it.
func TestCalibrateSwaps(t *testing.T) {
	r := rule(t, "e2e mean vs baseline <= +5%")
	var all [][][]Block
	for i := range 400 {
		s := rng.New(3, "pairs", uint64(i))
		var values []float64
		for range 5 {
			base := 100 * math.Exp(0.2*s.Norm())
			values = append(values, base, base*math.Exp(0.02*s.Norm()))
		}
		all = append(all, [][]Block{paired(1000, values...)})
	}
	c := Calibrate([]Rule{r}, all)[0]
	if share := c.Expected / float64(c.N); math.Abs(share-0.05) > 0.01 || math.Abs(float64(c.Rejected)-c.Expected) > 4*c.SD || c.SD < 3 || c.SD > 5 {
		t.Errorf("%d rejected, %.1f expected, sd %.2f", c.Rejected, c.Expected, c.SD)
	}
}
