package schedule_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/schedule"
)

// seconds are the gaps between arrivals, the first from the epoch on.
func seconds(at []clock.Time) []float64 {
	gaps := make([]float64, len(at))
	last := clock.Time(0)
	for i, a := range at {
		gaps[i] = a.Sub(last).Seconds()
		last = a
	}
	return gaps
}

// TestWeibullGaps checks the distribution and its coefficient of variation, which is
// sqrt(G(1+2/k)/G(1+1/k)^2 - 1), within 2 %.
func TestWeibullGaps(t *testing.T) {
	const n, rate = 100_000, 0.1
	for _, k := range []float64{0.5, 0.8, 3} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			gaps := seconds(instants(take(t, schedule.Config{Process: schedule.Weibull, Rate: rate, Burstiness: k, N: n}, n)))
			g := math.Gamma(1 + 1/k)
			checkKS(t, gaps, distuv.Weibull{K: k, Lambda: 1 / (rate * g)})
			cv := math.Sqrt(math.Gamma(1+2/k)/(g*g) - 1)
			mean, sd := stat.MeanStdDev(gaps, nil)
			if got := sd / mean; math.Abs(got-cv) > 0.02*cv {
				t.Errorf("CV of gaps %v, want %v", got, cv)
			}
		})
	}
}

// TestMMPPDispersion checks the index of dispersion of counts against theory. For
// levels a and b around a mean of 1, left at rates p and q, and windows of length w,
// it is 1 + 2 R p q (a-b)^2 / (p+q)^3 (1 - (1 - e^-x)/x) with x = (p+q) w and the
// mean rate R (Fischer and Meier-Hellstern: The MMPP cookbook, 1993).
func TestMMPPDispersion(t *testing.T) {
	const n, rate = 400_000, 20.0
	b := schedule.Bursts{Factor: 6, Burst: 500 * time.Millisecond, Calm: 1500 * time.Millisecond}
	for _, w := range []float64{0.2, 1, 5} {
		at := instants(take(t, schedule.Config{Process: schedule.MMPP, Rate: rate, Bursts: b, N: n}, n))
		p, q, share := 1/b.Burst.Seconds(), 1/b.Calm.Seconds(), 0.25
		calm := 1 / (b.Factor*share + 1 - share)
		x, diff := (p+q)*w, (b.Factor-1)*calm
		want := 1 + 2*rate*p*q*diff*diff/math.Pow(p+q, 3)*(1-(1-math.Exp(-x))/x)
		checkDispersion(t, at, clock.Time(w*1e9), want)
		if got := float64(n) / at[n-1].Sub(0).Seconds(); math.Abs(got-rate) > 0.03*rate {
			t.Errorf("mean rate %v, want %v within 3 %%", got, rate)
		}
	}
}

func TestMMPPWithoutBurstsIsPoisson(t *testing.T) {
	c := schedule.Config{Process: schedule.Poisson, Rate: 3, N: 100, Seed: 9}
	want := instants(take(t, c, c.N))
	c.Process, c.Bursts = schedule.MMPP, schedule.Bursts{Factor: 1, Burst: time.Second, Calm: time.Second}
	for i, a := range instants(take(t, c, c.N)) {
		if d := a - want[i]; d < -2 || d > 2 {
			t.Fatalf("arrival %d at %v, want %v", i, a, want[i])
		}
	}
}

// integral is the number of arrivals to expect until t seconds, by the midpoint rule
// on the rate as its definition says it.
func integral(list []schedule.Stage, t float64) float64 {
	const steps = 4000
	sum := 0.0
	for i, s := range list {
		from, to := s.At.Seconds(), t
		end := s
		if i+1 < len(list) {
			end = list[i+1]
			to = min(to, end.At.Seconds())
		}
		if to <= from {
			continue
		}
		length := end.At.Seconds() - from
		for k := range steps {
			x := from + (to-from)*(float64(k)+0.5)/steps
			r := s.Rate
			if length > 0 {
				share := (x - from) / length
				r = s.Rate + (end.Rate-s.Rate)*share
				if s.Geometric {
					r = s.Rate * math.Pow(end.Rate/s.Rate, share)
				}
			}
			sum += r * (to - from) / steps
		}
	}
	return sum
}

// TestStagesAreExact: with constant gaps arrival i lies where the integral of the rate
// is i; and any process is its unit-rate form, stretched so.
func TestStagesAreExact(t *testing.T) {
	s := func(at time.Duration, rate float64) schedule.Stage { return schedule.Stage{At: at, Rate: rate} }
	x := func(at time.Duration, rate float64) schedule.Stage {
		return schedule.Stage{At: at, Rate: rate, Geometric: true}
	}
	const sec = time.Second
	cases := map[string][]schedule.Stage{
		"one rate":        {s(0, 7)},
		"linear up":       {s(0, 2), s(10*sec, 20)},
		"linear from 0":   {s(0, 0), s(10*sec, 20)},
		"linear to 0":     {s(0, 20), s(10*sec, 0)},
		"exponential":     {x(0, 1), s(10*sec, 50)},
		"exponential off": {x(0, 50), s(10*sec, 1)},
		"jump":            {s(0, 3), s(4*sec, 3), s(4*sec, 30), s(6*sec, 30), s(6*sec, 1)},
		"pause":           {s(0, 5), s(2*sec, 5), s(2*sec, 0), s(7*sec, 0), s(7*sec, 5)},
	}
	for name, list := range cases {
		t.Run(name, func(t *testing.T) {
			c := schedule.Config{Process: schedule.Constant, Stages: list, Duration: 12 * sec}
			at := instants(take(t, c, 10_000))
			if total := integral(list, 12); math.Abs(float64(len(at))-total) > 1.01 {
				t.Errorf("%d arrivals, the rate's integral is %v", len(at), total)
			}
			for i, a := range at {
				if got := integral(list, a.Sub(0).Seconds()); i > 0 && math.Abs(got-float64(i)) > 1e-4*float64(1+i) {
					t.Fatalf("arrival %d at %v, where the integral is %v", i, a, got)
				}
			}
			c.Process, c.Burstiness = schedule.Gamma, 0.5
			random := instants(take(t, c, 10_000))
			c.Stages, c.Rate, c.Duration, c.N = nil, 1, 0, len(random)
			for i, u := range instants(take(t, c, len(random))) {
				if got, want := integral(list, random[i].Sub(0).Seconds()), u.Sub(0).Seconds(); math.Abs(got-want) > 1e-4*(1+want) {
					t.Fatalf("arrival %d: integral %v, unit process %v", i, got, want)
				}
			}
		})
	}
}

// TestRampCounts: the arrivals of a Poisson ramp are as many as its integral says,
// within 4 standard deviations, in each quarter of it.
func TestRampCounts(t *testing.T) {
	list := []schedule.Stage{{Rate: 100}, {At: 40 * time.Second, Rate: 900}}
	at := instants(take(t, schedule.Config{Process: schedule.Poisson, Stages: list, Duration: 40 * time.Second}, 1<<20))
	var got [4]float64
	for _, a := range at {
		got[int(a.Sub(0)/(10*time.Second))]++
	}
	for i, n := range got {
		want := integral(list, float64(10*i+10)) - integral(list, float64(10*i))
		if math.Abs(n-want) > 4*math.Sqrt(want) {
			t.Errorf("quarter %d has %v arrivals, want %v", i, n, want)
		}
	}
}

// TestStatesKeepTheGaps: bursts have a stream of their own, so that another factor
// or duration leaves the gaps at unit rate as they are.
func TestStatesKeepTheGaps(t *testing.T) {
	b := schedule.Bursts{Factor: 1, Burst: time.Second, Calm: time.Second}
	plain := schedule.Config{Process: schedule.MMPP, Rate: 10, N: 200, Seed: 4, Bursts: b}
	bursty := plain
	bursty.Bursts.Factor = 50
	a, z := instants(take(t, plain, 200)), instants(take(t, bursty, 200))
	// The first arrival of both is the same point of the unit process: their ratio of
	// times is one of the two levels, if no state ends before it.
	calm := 2.0 / 51
	ratio := float64(a[0]) / float64(z[0])
	if near := func(x float64) bool { return math.Abs(ratio-x) < 1e-6*x }; !near(calm) && !near(50*calm) {
		t.Errorf("first arrivals at %v and %v", a[0], z[0])
	}
}

// TestMerge: the union is all of each, in order, and says whose each is.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(rt, "sources")
		var sources []schedule.Source
		var alone [][]schedule.Arrival
		var offset []uint64
		for i := range n {
			c := somethingRandom(rt)
			c.N, c.Seed = rapid.IntRange(1, 30).Draw(rt, "n"), uint64(i)
			alone = append(alone, take(t, c, c.N))
			s, err := schedule.New(c)
			if err != nil {
				rt.Fatal(err)
			}
			sources, offset = append(sources, s), append(offset, uint64(1000*i))
		}
		m := schedule.Merge(sources, offset)
		var last schedule.Arrival
		for seq := uint64(0); ; seq++ {
			a, ok := m.Next()
			if !ok {
				break
			}
			if a.Seq != seq || a.At < last.At || a.At == last.At && a.Class < last.Class {
				rt.Fatalf("%+v after %+v", a, last)
			}
			last = a
			i := a.Class - 1
			want := alone[i][0]
			alone[i] = alone[i][1:]
			if a.At != want.At || a.Item != want.Item+offset[i] {
				rt.Fatalf("%+v is not %+v of source %d", a, want, i)
			}
		}
		for i := range alone {
			if len(alone[i]) > 0 {
				rt.Fatalf("%d arrivals of source %d are missing", len(alone[i]), i)
			}
		}
	})
}

func ExampleMerge() {
	every := func(rate float64, n int) schedule.Source {
		s, err := schedule.New(schedule.Config{Process: schedule.Constant, Rate: rate, N: n})
		if err != nil {
			panic(err)
		}
		return s
	}
	m := schedule.Merge([]schedule.Source{every(2, 3), every(1, 2)}, []uint64{0, 3})
	for a, ok := m.Next(); ok; a, ok = m.Next() {
		fmt.Println(a.Seq, a.At, "class", a.Class, "item", a.Item)
	}
	// Output:
	// 0 0s class 1 item 0
	// 1 0s class 2 item 3
	// 2 500ms class 1 item 1
	// 3 1s class 1 item 2
	// 4 1s class 2 item 4
}
