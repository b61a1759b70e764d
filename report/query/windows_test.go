package query_test

import (
	"strings"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/query"
)

// Each request due in the window is in two stretches, but for those of the first and the
// last half of one.
func TestWindows(t *testing.T) {
	var rows []record.Request
	for i := range 100 { // 9.9 s
		r := answered(int64(i), clock.Time(i)*100*ms, 1000)
		r.Tenant = [2]string{"even", "odd"}[i%2]
		if i >= 40 && i < 60 {
			r.Outcome = record.HTTP5xx
		}
		rows = append(rows, r)
	}
	dir := write(t, rows...)
	all, err := query.Windows(dir, 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 8 {
		t.Fatalf("%d stretches of 9.9 s, want 8 whole ones", len(all))
	}
	for i, f := range all {
		if f.Scheduled != 20 || f.Window != 2*time.Second || f.Start != clock.Time(time.Duration(i)*time.Second) {
			t.Errorf("stretch %d: %d requests in %v from %v", i, f.Scheduled, f.Window, f.Start)
		}
		want := map[int]int64{3: 10, 4: 20, 5: 10}[i]
		if f.Failed() != want {
			t.Errorf("stretch %d: %d failed, want %d", i, f.Failed(), want)
		}
	}
	odd, err := query.Windows(dir, 2*time.Second, query.Scope{Label: "tenant", Value: "odd"})
	if err != nil || odd[4].Scheduled != 10 {
		t.Errorf("half of them: %v", err)
	}
	if none, err := query.Windows(dir, time.Minute); err != nil || len(none) != 0 {
		t.Errorf("%d stretches of a minute, %v", len(none), err)
	}
	if _, err := query.Windows(dir, time.Millisecond); err == nil || !strings.Contains(err.Error(), "longer time") {
		t.Errorf("stretches of a millisecond: %v", err)
	}
}
