package dispatch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

// hand is a change of the rate by hand.
type hand struct {
	at     clock.Time
	points int64
}

// steered runs six arrivals every 10 ms, by hand.
func steered(t *testing.T, s schedule.Source, answer script, hands []hand, edit func(*dispatch.Config)) (at []clock.Time, changes []dispatch.RateChange) {
	t.Helper()
	l := clock.NewVirtual()
	f := newFake(l, always(answer))
	f.started = func(r *target.Request) { at = append(at, r.Intended) }
	r := prepare(t, l, s, f, func(c *dispatch.Config) {
		c.Steered = func(c dispatch.RateChange) { changes = append(changes, c) }
		if edit != nil {
			edit(c)
		}
	})
	for _, h := range hands {
		l.At(h.at, clock.RankControl, do(func(clock.Time) { r.Steer(h.points) }))
	}
	r.play()
	if len(r.finished) != 1 {
		t.Fatalf("finished %v", r.finished)
	}
	for i := range r.rows {
		if row := &r.rows[i]; row.Dispatched != row.Intended {
			t.Errorf("row %d: intended %v, dispatched %v", row.Seq, row.Intended, row.Dispatched)
		}
	}
	return at, changes
}

func TestSteer(t *testing.T) {
	for _, c := range []struct {
		name  string
		hands []hand
		want  []clock.Time
		told  []dispatch.RateChange
	}{
		{"not at all", nil, []clock.Time{10 * ms, 20 * ms, 30 * ms, 40 * ms, 50 * ms, 60 * ms}, nil},
		{"twice as fast", []hand{{24 * ms, 100}}, []clock.Time{10 * ms, 20 * ms, 27 * ms, 32 * ms, 37 * ms, 42 * ms}, []dispatch.RateChange{{At: 24 * ms, Percent: 200}}},
		{"half as fast", []hand{{24 * ms, -50}}, []clock.Time{10 * ms, 20 * ms, 36 * ms, 56 * ms, 76 * ms, 96 * ms}, []dispatch.RateChange{{At: 24 * ms, Percent: 50}}},
		{
			"and back", []hand{{24 * ms, -50}, {34 * ms, 50}}, // the third was an eighth of its gap away
			[]clock.Time{10 * ms, 20 * ms, 35 * ms, 45 * ms, 55 * ms, 65 * ms}, []dispatch.RateChange{{At: 24 * ms, Percent: 50}, {At: 34 * ms, Percent: 100}},
		},
		{"twice at one instant", []hand{{24 * ms, 50}, {24 * ms, 50}}, []clock.Time{10 * ms, 20 * ms, 27 * ms, 32 * ms, 37 * ms, 42 * ms}, []dispatch.RateChange{{At: 24 * ms, Percent: 150}, {At: 24 * ms, Percent: 200}}},
		{"no lower than it goes", []hand{{55 * ms, -500}, {56 * ms, -10}}, []clock.Time{10 * ms, 20 * ms, 30 * ms, 40 * ms, 50 * ms, 105 * ms}, []dispatch.RateChange{{At: 55 * ms, Percent: schedule.MinPercent}}},
		{"after the last", []hand{{60 * ms, 100}}, []clock.Time{10 * ms, 20 * ms, 30 * ms, 40 * ms, 50 * ms, 60 * ms}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, answer := range map[string]script{"quick": quick, "slow": {First: 500 * time.Millisecond, Tokens: 1}} {
				at, told := steered(t, every(10*ms, 6), answer, c.hands, nil)
				if diff := cmp.Diff(c.want, at); diff != "" {
					t.Errorf("%s: due at (-want +got):\n%s", name, diff)
				}
				if diff := cmp.Diff(c.told, told); diff != "" {
					t.Errorf("%s: told (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// A closed loop has no rate, and a warm-up goes on as it is.
func TestSteerRefused(t *testing.T) {
	at, told := steered(t, schedule.Warm(every(10*ms, 2), 100, every(5*ms, 3)), quick, []hand{{5 * ms, 100}, {15 * ms, 100}, {24 * ms, 100}, {33 * ms, 100}},
		func(c *dispatch.Config) { c.AwaitWarmup = true })
	if diff := cmp.Diff([]clock.Time{10 * ms, 20 * ms, 32 * ms, 35 * ms, 37*ms + ms/2}, at); diff != "" {
		t.Errorf("due at (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]dispatch.RateChange{{At: 33 * ms, Percent: 200}}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if _, told := steered(t, nil, quick, []hand{{ms, 100}}, func(c *dispatch.Config) { c.Closed, c.Source = &dispatch.Closed{Concurrency: 2, N: 5}, nil }); told != nil {
		t.Errorf("a closed loop was steered: %v", told)
	}
}

// TestSteeredIsOpenLoop (invariant 3): with the same hands at the same instants, when
// requests are due and what they ask does not depend on the target.
func TestSteeredIsOpenLoop(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var hands []hand
		for range rapid.IntRange(0, 5).Draw(rt, "hands") {
			hands = append(hands, hand{clock.Time(rapid.IntRange(0, 300).Draw(rt, "at")) * ms, 10 * rapid.Int64Range(-10, 30).Draw(rt, "points")})
		}
		n := rapid.IntRange(1, 30).Draw(rt, "n")
		a, toldA := steered(t, every(7*ms, n), script{}, hands, nil)
		b, toldB := steered(t, every(7*ms, n), script{First: 40 * time.Millisecond, Gap: time.Millisecond, Tokens: 9}, hands, nil)
		if len(a) != n || !cmp.Equal(a, b) || !cmp.Equal(toldA, toldB) {
			rt.Fatalf("due at %v and %v, %v and %v", a, b, toldA, toldB)
		}
		for i := 1; i < n; i++ {
			if a[i] < a[i-1] {
				rt.Fatalf("out of order: %v", a)
			}
		}
	})
}
