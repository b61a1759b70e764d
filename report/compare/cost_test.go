package compare

import (
	"math"
	"strings"
	"testing"

	"goodput/report/query"
	"goodput/report/stats"
)

// viaTrial has differences between client and server of a mean, in ns.
func viaTrial(arm string, seed uint64, mean float64, n int64) *Trial {
	t := trialOf(arm, seed, 100, 100)
	s := stats.Summary{N: n, Mean: mean, P50: mean - 1, P99: mean + 9}
	t.Report.Metrics = append(t.Report.Metrics, query.Metric{Name: "d_ttft", Summary: s})
	t.Report.Joined.Deltas = append(t.Report.Joined.Deltas, query.Metric{Name: "d_e2e", Summary: s})
	return t
}

func TestCostIsPairedBySeed(t *testing.T) {
	// A drift of 10 ms between seeds is in both arms, and in no cost.
	via := []*Trial{viaTrial("router", 0, 3e6, 100), viaTrial("router", 1, 13e6, 100), viaTrial("router", 2, 23e6, 100)}
	direct := []*Trial{viaTrial(DirectArm, 0, 1e6, 100), viaTrial(DirectArm, 1, 11e6, 100), viaTrial(DirectArm, 2, 21e6, 100)}
	got := map[string]Cost{}
	for _, c := range setOf(direct, via).Costs() { // wherever the direct arm stands
		got[c.Metric+" "+c.Agg] = c
	}
	c := got["d_ttft mean"]
	if c.Arm != "router" || c.Value != 2e6 || c.Lo != 2e6 || c.Hi != 2e6 || math.Abs(c.Via-13e6) > 1 || math.Abs(c.Direct-11e6) > 1 {
		t.Errorf("%+v", c)
	}
	if _, ok := got["d_e2e mean"]; !ok {
		t.Errorf("no d_e2e in %v", got)
	}
	if _, ok := got["d_ttft p99"]; ok {
		t.Error("a P99 of 100 values")
	}
	var b strings.Builder
	if err := setOf(direct, via).Text(&b); err != nil || !strings.Contains(b.String(), "d_ttft mean") || !strings.Contains(b.String(), "+2.000 [+2.000, +2.000]") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestCostNeedsBoth(t *testing.T) {
	via, direct := viaTrial("router", 0, 3e6, 100), trialOf(DirectArm, 0, 100, 100)
	if c := setOf([]*Trial{via}, []*Trial{direct}).Costs(); len(c) != 0 {
		t.Errorf("the direct arm tells nothing, and yet %+v", c)
	}
	if c := setOf([]*Trial{via}, []*Trial{viaTrial("other", 0, 1e6, 100)}).Costs(); len(c) != 0 {
		t.Errorf("no arm is direct, and yet %+v", c)
	}
}
