package schedule_test

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/schedule"
)

func TestStretch(t *testing.T) {
	sec := func(x float64) clock.Time { return clock.Time(x * 1e9) }
	var s schedule.Stretch
	check := func(planned, want float64) {
		t.Helper()
		if got := s.At(sec(planned)); got != sec(want) {
			t.Errorf("planned for %v s: due at %v, want %v s", planned, got, want)
		}
	}
	check(7, 7)
	s.Change(sec(10), 200)
	check(10, 10)
	check(30, 20)
	s.Change(sec(15), 50) // the schedule stands at 20 s
	check(20, 15)
	check(25, 25)
	s.Change(sec(25), schedule.PlannedPercent)
	check(30, 30)
	check(3, 25)
}

// TestStretchIsExact: between two changes times differ by exactly the planned ones times
// 100/percent, to the nanosecond; nothing is due before a change that it follows; order
// stays.
func TestStretchIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s schedule.Stretch
		planned, due := new(big.Rat), clock.Time(0) // where the schedule stands
		percent := int64(schedule.PlannedPercent)
		at, last := clock.Time(0), clock.Time(0)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "change") {
				now := last + clock.Time(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "later"))
				planned.Add(planned, big.NewRat(int64(now-due)*percent, 100))
				due, percent = now, rapid.Int64Range(schedule.MinPercent, schedule.MaxPercent).Draw(t, "percent")
				s.Change(now, percent)
				last = now
				continue
			}
			at += clock.Time(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "gap"))
			got := s.At(at)
			if got < last {
				t.Fatalf("planned for %v: due at %v, before %v", at, got, last)
			}
			last = got
			gap := new(big.Rat).Sub(new(big.Rat).SetInt64(int64(at)), planned)
			if gap.Sign() < 0 {
				continue // it would have been due before the change
			}
			want := gap.Mul(gap, big.NewRat(100, percent))
			want.Add(want, new(big.Rat).SetInt64(int64(due)))
			// Each change may cut a nanosecond of the plan, which is at most ten of time.
			if d, _ := want.Sub(want, new(big.Rat).SetInt64(int64(got))).Float64(); d < -210 || d > 210 {
				t.Fatalf("planned for %v: due at %v, which is off by %v ns", at, got, d)
			}
		}
	})
}
