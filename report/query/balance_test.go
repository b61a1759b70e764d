package query_test

import (
	"math"
	"testing"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/query"
)

// at is an attempt at a replica, under way from one instant to another, in ms.
func at(seq int64, replica string, from, to clock.Time) record.Request {
	r := answered(seq, from*ms)
	r.Replica, r.Writing, r.Closed = replica, from*ms, to*ms
	return r
}

func TestBalance(t *testing.T) {
	before := at(4, "a", 0, 1000)
	before.Phase = record.Warmup
	nowhere := at(5, "", 0, 1000)
	same := []record.Request{at(0, "a", 0, 10), at(1, "a", 1, 10), at(2, "a", 2, 10), at(3, "b", 10, 20)}
	turns := []record.Request{at(0, "a", 0, 10), at(1, "b", 1, 10), at(2, "a", 2, 10), at(3, "b", 3, 10)}
	for _, c := range []struct {
		name  string
		rows  []record.Request
		total int
		want  query.Balance
	}{
		// In flight: 1, 2, 3 at a; when b gets its first one all others have ended.
		// Two of three pairs are the same, and chance has (3/4)²+(1/4)² = 5/8.
		{"together", same, 2, query.Balance{Sent: 4, Mean: 7. / 4, Peak: 3, Herding: 2. / 3 / (5. / 8)}},
		{"a replica that had none", same, 3, query.Balance{Sent: 4, Mean: 7. / 4, Peak: 3, Herding: 2. / 3 / (5. / 8)}},
		{"in turn", turns, 2, query.Balance{Sent: 4, Mean: 0.5, Peak: 1, Herding: 0}},
		{"in turn, and a third one idle", turns, 3, query.Balance{Sent: 4, Mean: 1.5, Peak: 2, Herding: 0}},
		{"warm-up is load, and not counted", append(turns[:4:4], before, nowhere), 2, query.Balance{Sent: 4, Mean: 1.25, Peak: 2, Herding: 0}},
		{"all at one", same[:3], 2, query.Balance{Sent: 3, Mean: 2, Peak: 3, Herding: math.NaN()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := query.LoadBalance(write(t, c.rows...), c.total)
			if err != nil {
				t.Fatal(err)
			}
			near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 || math.IsNaN(a) && math.IsNaN(b) }
			if got.Sent != c.want.Sent || !near(got.Mean, c.want.Mean) || !near(got.Peak, c.want.Peak) || !near(got.Herding, c.want.Herding) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
	if b, err := query.LoadBalance(write(t, nowhere), 0); err != nil || !math.IsNaN(b.Mean) || !math.IsNaN(b.Herding) || !math.IsNaN(b.Sends) {
		t.Errorf("a run that does not say where its requests went: %+v, %v", b, err)
	}
	again := at(0, "a", 20, 30)
	again.Attempt, again.ServerAttempts = 1, 4
	same[0].ServerAttempts, same[1].ServerAttempts = 2, 1
	if b, err := query.LoadBalance(write(t, append(same, again)...), 2); err != nil || b.Sends != 3.5 || b.MostSends != 6 {
		t.Errorf("%v sends of a request, and %v at the most (%v); want (6+1)/2 and 6", b.Sends, b.MostSends, err)
	}
}
