package query_test

import (
	"testing"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/loadgen/rng"
	"goodput/report/query"
)

// Only successes of the window are resampled, in the order of the schedule, and only
// quantiles that the run has values enough for.
func TestBootstrap(t *testing.T) {
	var rows []record.Request
	for i := range int64(300) { // written from the last to the first
		r := answered(300-i, clock.Time(300-i)*100*ms, int32(1000*(1+(300-i)*7919%101)))
		rows = append(rows, r)
	}
	failed := answered(301, 0)
	failed.Outcome = record.Reset
	f, err := query.Load(write(t, append(rows, failed)...))
	if err != nil {
		t.Fatal(err)
	}
	random := rng.New(0, "bootstrap", 0)
	all, err := query.Bootstrap(f, &random)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 {
		t.Fatalf("%d metrics", len(all))
	}
	for i := range all {
		x := &all[i]
		m, _ := f.Metric(x.Metric)
		if x.N != 300 || len(x.Quantiles) == 0 || len(x.Quantiles) != len(x.Intervals) {
			t.Errorf("%+v", x)
		}
		for j, q := range x.Quantiles {
			in := x.Intervals[j]
			if !m.Reliable(q) || in.Lo > in.Value || in.Value > in.Hi {
				t.Errorf("%s: quantile %v is %+v, of %v independent values", x.Metric, q, in, m.Independent)
			}
		}
		if x.Quantiles[0] == 0.5 && x.Intervals[0].Value != m.P50 {
			t.Errorf("%s: a median of %v, and of %v in the table", x.Metric, x.Intervals[0].Value, m.P50)
		}
	}
}
