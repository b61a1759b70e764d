package query_test

import (
	"math"
	"testing"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/query"
)

// The parts of the way sum to the time from the intended start to the end of the stream,
// whatever of the client's a request did not meet; who has no account is left out.
func TestWaySums(t *testing.T) {
	told := func(seq int64) record.Request {
		r := answered(seq, clock.Time(seq)*100*ms, 1000, 2000)
		r.Done = r.LastToken + ms
		r.ServerSource, r.ServerQueue, r.ServerPrefill, r.ServerDecode = "header", int64(5*ms), int64(20*ms), int64(3*ms)
		r.ServerTTFT, r.ServerE2E = int64(27*ms), int64(30*ms)
		r.Deltas()
		return r
	}
	capped, again := told(2), told(3)
	capped.Permitted, capped.Conn, capped.Writing = capped.Dispatched+3*ms, capped.Dispatched+4*ms, capped.Dispatched+4*ms
	capped.Wrote = capped.Dispatched + 5*ms
	capped.Deltas()
	again.AttemptDue, again.Dispatched = again.Intended+30*ms, again.Intended+31*ms
	again.Writing, again.Wrote = again.Dispatched, again.Dispatched+ms
	again.Deltas()
	f, err := query.Load(write(t, told(1), capped, again, answered(4, 500*ms, 1000)))
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for _, r := range []record.Request{told(1), capped, again} {
		want += float64(r.Done-r.Intended) / 3
	}
	sum := 0.0
	by := map[string]float64{}
	for _, p := range f.Way.Parts {
		sum += p.Mean
		by[p.Name] = p.Mean * 3 / 1e6
	}
	if f.Way.N != 3 || math.Abs(sum-want) > 1 || math.Abs(f.Way.E2E-want) > 1 {
		t.Errorf("%d requests, parts of %v, %v as a whole, want %v", f.Way.N, sum, f.Way.E2E, want)
	}
	for name, ms := range map[string]float64{"earlier attempts": 30, "lag": 3, "client queue": 3, "connect": 1, "front end": 6, "queue": 15, "prefill": 60, "decode": 9} {
		if math.Abs(by[name]-ms) > 1e-6 {
			t.Errorf("%s: %v ms in all, want %v", name, by[name], ms)
		}
	}
}
