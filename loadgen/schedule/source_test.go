package schedule_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/schedule"
)

// take returns the first n arrivals of c, or all if there are fewer.
func take(t testing.TB, c schedule.Config, n int) []schedule.Arrival {
	t.Helper()
	s, err := schedule.New(c)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]schedule.Arrival, 0, n)
	for len(out) < n {
		a, ok := s.Next()
		if !ok {
			break
		}
		out = append(out, a)
	}
	return out
}

func instants(a []schedule.Arrival) []clock.Time {
	out := make([]clock.Time, len(a))
	for i := range a {
		out[i] = a[i].At
	}
	return out
}

// recorded makes a trace of offsets.
func recorded(c schedule.Config, offsets ...time.Duration) schedule.Config {
	c.Process = schedule.Trace
	c.Len = len(offsets)
	c.Times = func(i int) time.Duration { return offsets[i] }
	return c
}

func TestFixedTimes(t *testing.T) {
	const s = clock.Time(time.Second)
	inf := math.Inf(1)
	cases := []struct {
		name string
		c    schedule.Config
		want []clock.Time
	}{
		{"constant", schedule.Config{Process: schedule.Constant, Rate: 4, N: 3}, []clock.Time{0, s / 4, s / 2}},
		{"constant, a rate that no nanosecond divides", schedule.Config{Process: schedule.Constant, Rate: 3, N: 4}, []clock.Time{0, 333333333, 666666667, s}},
		{"gamma without variance", schedule.Config{Process: schedule.Gamma, Burstiness: inf, Rate: 4, N: 3}, []clock.Time{0, s / 4, s / 2}},
		{"duration is half open", schedule.Config{Process: schedule.Constant, Rate: 2, Duration: time.Second}, []clock.Time{0, s / 2}},
		{"number before duration", schedule.Config{Process: schedule.Constant, Rate: 2, N: 1, Duration: time.Second}, []clock.Time{0}},
		{"poisson at once", schedule.Config{Process: schedule.Poisson, Rate: inf, N: 3}, []clock.Time{0, 0, 0}},
		{"gamma at once", schedule.Config{Process: schedule.Gamma, Burstiness: 0.5, Rate: inf, N: 2}, []clock.Time{0, 0}},
		{"constant at once", schedule.Config{Process: schedule.Constant, Rate: inf, N: 2}, []clock.Time{0, 0}},
		{"trace", recorded(schedule.Config{}, 5, 5, 900), []clock.Time{5, 5, 900}},
		{"trace beyond the exact range of a float", recorded(schedule.Config{}, 1<<60+1), []clock.Time{1<<60 + 1}},
		{"trace at once", recorded(schedule.Config{Rate: inf}, 5, 6), []clock.Time{0, 0}},
		{"trace, number", recorded(schedule.Config{N: 1}, 5, 6), []clock.Time{5}},
		{"trace, more than it has", recorded(schedule.Config{N: 9}, 5, 6), []clock.Time{5, 6}},
		{"trace, duration", recorded(schedule.Config{Duration: 6}, 5, 6), []clock.Time{5}},
		{"empty trace", recorded(schedule.Config{Rate: 3}), []clock.Time{}},
		// Two gaps in two seconds are one a second; at 4 a second all is 4 times
		// faster, the wait before the first row too.
		{
			"trace, scaled",
			recorded(schedule.Config{Rate: 4}, time.Second, time.Second, 3*time.Second),
			[]clock.Time{s / 4, s / 4, 3 * s / 4},
		},
		// The factor is that of the whole trace, whatever part of it is used.
		{
			"trace, scaled and cut",
			recorded(schedule.Config{Rate: 4, N: 2}, time.Second, time.Second, 3*time.Second),
			[]clock.Time{s / 4, s / 4},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := take(t, c.c, 10)
			if diff := cmp.Diff(c.want, instants(got)); diff != "" {
				t.Error(diff)
			}
			for i, a := range got {
				if want := (schedule.Arrival{Seq: uint64(i), At: a.At, Item: uint64(i)}); a != want {
					t.Errorf("arrival %d is %+v, want %+v", i, a, want)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cases := []struct {
		name string
		c    schedule.Config
		want string
	}{
		{"no process", schedule.Config{Rate: 1, N: 1}, `process "" is unknown: choose poisson`},
		{"unknown process", schedule.Config{Process: "weekly", Rate: 1, N: 1}, `"weekly" is unknown`},
		{"no rate", schedule.Config{Process: schedule.Poisson, N: 1}, "need a rate above 0"},
		{"negative rate", schedule.Config{Process: schedule.Poisson, Rate: -1, N: 1}, "rate -1: must be from"},
		{"rate is no number", schedule.Config{Process: schedule.Poisson, Rate: nan, N: 1}, "rate NaN: must be from"},
		{"minus infinity", schedule.Config{Process: schedule.Poisson, Rate: -inf, N: 1}, "rate -Inf: must be from"},
		{"too slow", schedule.Config{Process: schedule.Constant, Rate: 1e-10, N: 1}, "rate 1e-10: must be from"},
		{"too fast", schedule.Config{Process: schedule.Constant, Rate: 1e10, N: 1}, "rate 1e+10: must be from"},
		{"no burstiness", schedule.Config{Process: schedule.Gamma, Rate: 1, N: 1}, "burstiness 0: must be from"},
		{"negative burstiness", schedule.Config{Process: schedule.Gamma, Rate: 1, N: 1, Burstiness: -2}, "burstiness -2: must be"},
		{"burstiness is no number", schedule.Config{Process: schedule.Gamma, Rate: 1, N: 1, Burstiness: nan}, "burstiness NaN"},
		{"weibull's shape", schedule.Config{Process: schedule.Weibull, Rate: 1, N: 1, Burstiness: 0.05}, "shape of Weibull gaps must be from 0.1"},
		{"no bursts", schedule.Config{Process: schedule.MMPP, Rate: 1, N: 1}, "burst factor 0: must be from 1"},
		{"short bursts", schedule.Config{Process: schedule.MMPP, Rate: 1, N: 1, Bursts: schedule.Bursts{Factor: 2, Burst: 1, Calm: time.Second}}, "mean duration 1ns"},
		{"bursts that nobody sees", schedule.Config{Process: schedule.MMPP, Rate: 1e-6, N: 1, Bursts: schedule.Bursts{Factor: 2, Burst: time.Second, Calm: time.Second}}, "every 2 s cannot be seen"},
		{"rate and stages", schedule.Config{Process: schedule.Poisson, Rate: 1, N: 1, Stages: []schedule.Stage{{Rate: 1}}}, "both a rate and stages"},
		{"late first stage", schedule.Config{Process: schedule.Poisson, N: 1, Stages: []schedule.Stage{{At: 1, Rate: 1}}}, "first stage is at 1ns"},
		{"stages out of order", schedule.Config{Process: schedule.Poisson, N: 1, Stages: []schedule.Stage{{Rate: 1}, {At: 2, Rate: 1}, {At: 1, Rate: 1}}}, "stage 2 is at 1ns"},
		{"stages without a rate", schedule.Config{Process: schedule.Poisson, N: 1, Stages: []schedule.Stage{{}}}, "all stages are 0"},
		{"exponential from 0", schedule.Config{Process: schedule.Poisson, N: 1, Stages: []schedule.Stage{{Geometric: true}, {At: 1, Rate: 1}}}, "exponentially from 0"},
		{"negative stage", schedule.Config{Process: schedule.Poisson, N: 1, Stages: []schedule.Stage{{Rate: -1}}}, "rate -1 of stage 0"},
		{"trace with stages", schedule.Config{Process: schedule.Trace, Stages: []schedule.Stage{{Rate: 1}}}, "trace has its own times"},
		{"negative number", schedule.Config{Process: schedule.Poisson, Rate: 1, N: -1}, "-1 arrivals"},
		{"negative duration", schedule.Config{Process: schedule.Poisson, Rate: 1, Duration: -1}, "duration -1ns"},
		{"endless", schedule.Config{Process: schedule.Poisson, Rate: 1}, "never end: limit"},
		{"endless at once", schedule.Config{Process: schedule.Poisson, Rate: inf, Duration: 1}, "infinitely many"},
		{"trace without times", schedule.Config{Process: schedule.Trace, Len: 2}, "2 rows has no times"},
		{"trace of negative length", schedule.Config{Process: schedule.Trace, Len: -1}, "-1 rows"},
		{"trace out of order", recorded(schedule.Config{}, 1, 3, 2), "row 2 is at 2ns, before row 1 at 3ns: sort"},
		{"trace before its start", recorded(schedule.Config{}, -1, 3), "row 0 is at -1ns"},
		{"trace of one instant", recorded(schedule.Config{Rate: 2}, 7, 7), "no rate that could be scaled to 2"},
		{"trace with an impossible rate", recorded(schedule.Config{Rate: nan}, 7, 8), "rate NaN"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := schedule.New(c.c)
			if err == nil || s != nil {
				t.Fatalf("New returned %v, %v", s, err)
			}
			if !strings.HasPrefix(err.Error(), "planning arrivals: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %q, want %q in it", err, c.want)
			}
		})
	}
}

// anyConfig draws any config at all; most of its numbers are odd ones.
func anyConfig(t *rapid.T) schedule.Config {
	number := rapid.OneOf(
		rapid.SampledFrom([]float64{0, 1, -1, 1e-9, 1e-3, 1e6, 1e9, 1e300, 5e-324, math.Inf(1), math.Inf(-1), math.NaN()}),
		rapid.Float64(),
		rapid.Float64Range(1e-3, 1e4),
	)
	times := rapid.SliceOfN(rapid.Int64Min(-1), 0, 8).Draw(t, "times")
	return schedule.Config{
		Process:    rapid.SampledFrom([]schedule.Process{schedule.Poisson, schedule.Gamma, schedule.Weibull, schedule.MMPP, schedule.Constant, schedule.Trace, ""}).Draw(t, "process"),
		Rate:       number.Draw(t, "rate"),
		Burstiness: number.Draw(t, "burstiness"),
		N:          rapid.OneOf(rapid.IntRange(0, 20), rapid.Int()).Draw(t, "n"),
		Duration:   time.Duration(rapid.OneOf(rapid.Int64Range(0, 1e10), rapid.Int64()).Draw(t, "duration")),
		Seed:       rapid.Uint64().Draw(t, "seed"),
		Bursts: schedule.Bursts{
			Factor: number.Draw(t, "factor"),
			Burst:  time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "burst")),
			Calm:   time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "calm")),
		},
		Stages: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) schedule.Stage {
			return schedule.Stage{
				At:        time.Duration(rapid.SampledFrom([]int64{0, 0, 1, 1e9, 2e9}).Draw(t, "at")),
				Rate:      number.Draw(t, "rate"),
				Geometric: rapid.Bool().Draw(t, "geometric"),
			}
		}), 0, 4).Draw(t, "stages"),
		Len:   len(times),
		Times: func(i int) time.Duration { return time.Duration(times[i]) },
	}
}

// TestAnyConfig: whatever New accepts gives arrivals in order and within the limits.
func TestAnyConfig(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := anyConfig(rt)
		s, err := schedule.New(c)
		if err != nil {
			return
		}
		last := clock.Time(0)
		for i := range 50 {
			a, ok := s.Next()
			if !ok {
				if _, again := s.Next(); again {
					rt.Fatal("arrivals go on after the end")
				}
				return
			}
			if c.N > 0 && i >= c.N {
				rt.Fatalf("arrival %d of %d", i, c.N)
			}
			if c.Duration > 0 && a.At >= clock.Time(c.Duration) {
				rt.Fatalf("arrival at %v, duration is %v", a.At, c.Duration)
			}
			if a.At < last {
				rt.Fatalf("time went back from %v to %v", last, a.At)
			}
			last = a.At
		}
	})
}

// somethingRandom draws a valid config of a random process.
func somethingRandom(t *rapid.T) schedule.Config {
	return schedule.Config{
		Process:    rapid.SampledFrom([]schedule.Process{schedule.Poisson, schedule.Gamma}).Draw(t, "process"),
		Rate:       rapid.Float64Range(1e-3, 1e6).Draw(t, "rate"),
		Burstiness: rapid.Float64Range(0.01, 100).Draw(t, "burstiness"),
		Seed:       rapid.Uint64().Draw(t, "seed"),
		N:          100,
	}
}

// TestArrivalsArePure is a part of invariant 3: arrivals follow from config and
// seed alone, also when two sources are read in turns.
func TestArrivalsArePure(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := somethingRandom(rt)
		want := take(t, c, c.N)
		a, _ := schedule.New(c)
		c.Seed++
		b, _ := schedule.New(c)
		var got, other []schedule.Arrival
		for range c.N {
			x, _ := a.Next()
			y, _ := b.Next()
			got, other = append(got, x), append(other, y)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
		if cmp.Equal(want, other) {
			rt.Fatal("the next seed gives the same arrivals")
		}
	})
}

func TestSeedZeroIsASeed(t *testing.T) {
	c := schedule.Config{Process: schedule.Poisson, Rate: 1, N: 5}
	zero := take(t, c, 5)
	if diff := cmp.Diff(zero, take(t, c, 5)); diff != "" {
		t.Errorf("seed 0 is not repeatable: %s", diff)
	}
	c.Seed = 1
	if cmp.Equal(zero, take(t, c, 5)) {
		t.Error("seeds 0 and 1 give the same arrivals")
	}
}

// TestRateOnlyStretches: at another rate, arrival i lies at the same point of the
// unit-rate process, within the rounding to nanoseconds.
func TestRateOnlyStretches(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := somethingRandom(rt)
		d := c
		d.Rate = rapid.Float64Range(1e-3, 1e6).Draw(rt, "other rate")
		a, b := take(t, c, c.N), take(t, d, d.N)
		for i := range a {
			u, v := float64(a[i].At)*c.Rate, float64(b[i].At)*d.Rate
			// Half a nanosecond each, and a few units in the last place.
			if math.Abs(u-v) > 0.5*(c.Rate+d.Rate)+1e-15*(u+v) {
				rt.Fatalf("arrival %d: %v at %v/s and %v at %v/s", i, a[i].At, c.Rate, b[i].At, d.Rate)
			}
		}
	})
}

// TestLimitsOnlyCut: a shorter schedule is the beginning of a longer one.
func TestLimitsOnlyCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := somethingRandom(rt)
		whole := take(t, c, c.N)
		short := c
		short.N = rapid.IntRange(1, c.N).Draw(rt, "short n")
		if diff := cmp.Diff(whole[:short.N], take(t, short, c.N)); diff != "" {
			rt.Fatal(diff)
		}
		i := rapid.IntRange(0, c.N-1).Draw(rt, "cut")
		if whole[i].At == 0 {
			return
		}
		short = c
		short.Duration = time.Duration(whole[i].At)
		for i > 0 && whole[i-1].At == whole[i].At {
			i--
		}
		if diff := cmp.Diff(whole[:i], take(t, short, c.N)); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestGammaOfShapeOneIsPoisson(t *testing.T) {
	c := schedule.Config{Process: schedule.Poisson, Rate: 3, N: 100, Seed: 9}
	want := take(t, c, c.N)
	c.Process, c.Burstiness = schedule.Gamma, 1
	if diff := cmp.Diff(want, take(t, c, c.N)); diff != "" {
		t.Error(diff)
	}
}

// TestGolden freezes what a seed stands for.
func TestGolden(t *testing.T) {
	cases := []struct {
		c    schedule.Config
		want []clock.Time
	}{
		{schedule.Config{Process: schedule.Poisson, Rate: 1}, []clock.Time{84441864, 2083093436, 3059445050, 4847423768}},
		{schedule.Config{Process: schedule.Gamma, Rate: 1, Burstiness: 0.5}, []clock.Time{3085255719, 7930796950, 8631669210, 8632553215}},
	}
	for _, c := range cases {
		c.c.N = 4
		if diff := cmp.Diff(c.want, instants(take(t, c.c, 4))); diff != "" {
			t.Errorf("%s: %s", c.c.Process, diff)
		}
	}
}

func each(f func(name string, c schedule.Config)) {
	f("poisson", schedule.Config{Process: schedule.Poisson, Rate: 100})
	f("gamma 0.5", schedule.Config{Process: schedule.Gamma, Rate: 100, Burstiness: 0.5})
	f("gamma 4", schedule.Config{Process: schedule.Gamma, Rate: 100, Burstiness: 4})
	f("weibull 0.5", schedule.Config{Process: schedule.Weibull, Rate: 100, Burstiness: 0.5})
	f("mmpp", schedule.Config{Process: schedule.MMPP, Rate: 100, Bursts: schedule.Bursts{Factor: 10, Burst: time.Second, Calm: 9 * time.Second}})
	f("ramp", schedule.Config{Process: schedule.Poisson, Stages: []schedule.Stage{{Rate: 1}, {At: time.Hour, Rate: 200}}})
	f("constant", schedule.Config{Process: schedule.Constant, Rate: 100})
	times := func(i int) time.Duration { return time.Duration(i) }
	f("trace", schedule.Config{Process: schedule.Trace, Rate: 100, Times: times, Len: 1_000_000})
}

func TestNextAllocatesNothing(t *testing.T) {
	each(func(name string, c schedule.Config) {
		c.N = 10_000
		s, err := schedule.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(1000, func() { s.Next() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	each(func(name string, c schedule.Config) {
		b.Run(name, func(b *testing.B) {
			c.N = 1_000_000
			b.ReportAllocs()
			var s schedule.Source
			for i := 0; b.Loop(); i++ {
				if i%c.N == 0 {
					b.StopTimer()
					var err error
					if s, err = schedule.New(c); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				s.Next()
			}
		})
	})
}

func ExampleNew() {
	s, err := schedule.New(schedule.Config{Process: schedule.Constant, Rate: 2, Duration: 1500 * time.Millisecond})
	if err != nil {
		panic(err)
	}
	for a, ok := s.Next(); ok; a, ok = s.Next() {
		fmt.Println(a.Seq, a.At)
	}
	// Output:
	// 0 0s
	// 1 500ms
	// 2 1s
}

func ExampleNew_trace() {
	offsets := []time.Duration{0, 100 * time.Millisecond, 2 * time.Second}
	s, err := schedule.New(schedule.Config{
		Process: schedule.Trace,
		Rate:    10, // recorded was one a second
		Len:     len(offsets),
		Times:   func(i int) time.Duration { return offsets[i] },
	})
	if err != nil {
		panic(err)
	}
	for a, ok := s.Next(); ok; a, ok = s.Next() {
		fmt.Println(a.Item, a.At)
	}
	// Output:
	// 0 0s
	// 1 10ms
	// 2 200ms
}

// Rescaled gaps end at N/Rate exactly, and are the gaps of the same process but for one
// factor.
func TestRescale(t *testing.T) {
	for _, c := range []schedule.Config{
		{Process: schedule.Poisson, Rate: 20, N: 50, Seed: 3},
		{Process: schedule.Gamma, Burstiness: 0.25, Rate: 7, N: 20},
	} {
		plain := take(t, c, c.N)
		c.Rescale = true
		scaled := take(t, c, c.N)
		want := clock.Time(float64(c.N) / c.Rate * 1e9)
		if got := scaled[c.N-1].At; got < want-1 || got > want+1 {
			t.Errorf("%s: the last arrives at %v, want %v", c.Process, got, want)
		}
		factor := float64(scaled[c.N-1].At) / float64(plain[c.N-1].At)
		for i := range plain {
			if d := float64(scaled[i].At) - factor*float64(plain[i].At); d < -2 || d > 2 {
				t.Errorf("%s: arrival %d is at %v, not %v times %v", c.Process, i, scaled[i], factor, plain[i])
			}
		}
	}
	for name, c := range map[string]schedule.Config{
		"a duration":  {Process: schedule.Poisson, Rate: 1, N: 5, Duration: 1, Rescale: true},
		"no number":   {Process: schedule.Poisson, Rate: 1, Duration: 1, Rescale: true},
		"all at once": {Process: schedule.Poisson, Rate: math.Inf(1), N: 3, Rescale: true},
	} {
		if _, err := schedule.New(c); err == nil {
			t.Errorf("%s: was rescaled", name)
		}
	}
}
