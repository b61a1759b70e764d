package knee

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// mm1 is a sweep of a single exponential server of capacity 1.
func mm1(upTo float64, n int) []Point {
	out := make([]Point, n)
	for i := range out {
		rho := upTo * float64(i+1) / float64(n)
		out[i] = Point{rho, rho, 1 / (1 - rho)}
	}
	return out
}

func TestBrokenStick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.Float64Range(1, 100).Draw(t, "capacity")
		n := rapid.IntRange(3, 30).Draw(t, "points")
		beyond := rapid.Float64Range(1.05, 5).Draw(t, "sweep to")
		points := make([]Point, n)
		for i := range points {
			x := c * beyond * float64(i+1) / float64(n)
			points[i] = Point{Offered: x, Delivered: min(x, c)}
		}
		got, bent, err := BrokenStick(points)
		if err != nil || !bent || math.Abs(got/c-1) > 1e-9 {
			t.Fatalf("%v %v %v, want %v", got, bent, err, c)
		}
	})
	if _, bent, err := BrokenStick(mm1(0.9, 10)); err != nil || bent {
		t.Errorf("a sweep below capacity bends: %v, %v", bent, err)
	}
}

func TestPower(t *testing.T) {
	got, err := Power(mm1(0.99, 99))
	if err != nil || math.Abs(got-0.5) > 0.011 {
		t.Errorf("%v %v, want 0.5", got, err)
	}
}

// On latency the bend is where the sweep's end puts it; on delivered rate it is not.
func TestKneedle(t *testing.T) {
	for _, c := range []struct{ upTo, want float64 }{{0.8, 0.55}, {0.9, 0.68}, {0.95, 0.78}, {0.99, 0.90}} {
		got, err := Kneedle(mm1(c.upTo, 400), func(p Point) float64 { return p.Latency }, Convex)
		if err != nil || len(got) != 1 || math.Abs(got[0]-(1-math.Sqrt(1-c.upTo))) > 0.01 || math.Abs(got[0]-c.want) > 0.01 {
			t.Errorf("sweep to %v: %v %v, want %v", c.upTo, got, err, c.want)
		}
	}
	var points []Point
	for i := range 30 {
		x := float64(i + 1)
		points = append(points, Point{Offered: x, Delivered: min(x, 20)})
	}
	got, err := Kneedle(points, func(p Point) float64 { return p.Delivered }, Concave)
	if err != nil || len(got) != 1 || got[0] != 20 {
		t.Errorf("delivered rate: %v %v, want 20", got, err)
	}
}

func TestInflectionsRefuse(t *testing.T) {
	flat := []Point{{1, 1, 1}, {2, 1, 1}, {3, 1, 1}}
	if _, err := Kneedle(flat, func(p Point) float64 { return p.Latency }, Convex); err == nil {
		t.Error("a flat curve has a bend")
	}
	for _, bad := range [][]Point{nil, {{1, 1, 1}}, {{1, 1, 1}, {2, 2, 2}, {math.NaN(), 1, 1}}, {{0, 1, 1}, {1, 1, 1}, {2, 2, 2}}} {
		if _, _, err := BrokenStick(bad); err == nil {
			t.Errorf("%v has a knee", bad)
		}
	}
	if _, err := Power([]Point{{1, 1, 0}, {2, 2, 1}, {3, 3, 1}}); err == nil {
		t.Error("no latency has power")
	}
}

// A linear ramp of a deterministic server first misses the wait by the overshoot.
func TestOvershoot(t *testing.T) {
	const mu, wait = 32.0, 0.5
	slope := Slope(mu, wait, 0.05)
	if got := Overshoot(mu, wait, slope); math.Abs(got-0.05*mu) > 1e-9 {
		t.Errorf("%v above %v, want 5 %%", got, mu)
	}
	backlog, now := 0.0, mu/slope // from the instant at which capacity is crossed
	for backlog/mu < wait {
		now += 1e-3
		backlog += (slope*now - mu) * 1e-3
	}
	if got := slope*now - mu; math.Abs(got-0.05*mu) > 0.02 {
		t.Errorf("simulated %v above %v, want %v", got, mu, 0.05*mu)
	}
}
