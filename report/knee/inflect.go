package knee

import (
	"fmt"
	"math"
	"slices"
)

// Point is one rate of a sweep: offered and delivered requests per second, and the
// mean latency in seconds.
type Point struct{ Offered, Delivered, Latency float64 }

// sorted checks points and puts them in the order of their offered rates.
func sorted(points []Point) ([]Point, error) {
	if len(points) < 3 {
		return nil, fmt.Errorf("an inflection of %d points: need 3 at least", len(points))
	}
	for _, p := range points {
		if !(p.Offered > 0) || !(p.Delivered >= 0) || math.IsInf(p.Offered, 0) || math.IsInf(p.Delivered, 0) {
			return nil, fmt.Errorf("a point of %v/s offered and %v/s delivered: rates must be positive and finite", p.Offered, p.Delivered)
		}
	}
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int {
		switch {
		case a.Offered < b.Offered:
			return -1
		case a.Offered > b.Offered:
			return 1
		}
		return 0
	})
	return points, nil
}

// BrokenStick fits delivered = min(offered, c) by least squares and returns c. It
// does not depend on how far the sweep went beyond c, and is exact for a server that
// works as long as there is work. bent is false when no point is above c: the sweep
// did not reach capacity.
func BrokenStick(points []Point) (c float64, bent bool, err error) {
	points, err = sorted(points)
	if err != nil {
		return 0, false, err
	}
	loss := func(c float64) (sum float64) {
		for _, p := range points {
			d := p.Delivered - min(p.Offered, c)
			sum += d * d
		}
		return sum
	}
	best := math.Inf(1)
	// Between two neighbouring rates the set of points on the flat part is fixed, and
	// the best c is their mean delivered rate, if it lies there.
	for i := 0; i <= len(points); i++ {
		lo, hi := 0.0, math.Inf(1)
		if i > 0 {
			lo = points[i-1].Offered
		}
		if i < len(points) {
			hi = points[i].Offered
		}
		at := lo
		if flat := points[i:]; len(flat) > 0 {
			mean := 0.0
			for _, p := range flat {
				mean += p.Delivered / float64(len(flat))
			}
			at = min(max(mean, lo), hi)
		}
		if l := loss(at); l < best {
			best, c = l, at
		}
	}
	return c, c < points[len(points)-1].Offered, nil
}

// Power returns the offered rate at which delivered rate over mean latency is
// largest (Kleinrock's power): half of capacity for a single exponential server.
func Power(points []Point) (rate float64, err error) {
	points, err = sorted(points)
	if err != nil {
		return 0, err
	}
	best := -1.0
	for _, p := range points {
		if !(p.Latency > 0) {
			return 0, fmt.Errorf("a mean latency of %v s at %v/s: must be positive", p.Latency, p.Offered)
		}
		if power := p.Delivered / p.Latency; power > best {
			best, rate = power, p.Offered
		}
	}
	return rate, nil
}

// Shape is that of a curve for Kneedle.
type Shape uint8

// The shapes: delivered over offered is concave, latency over offered convex.
const (
	Concave Shape = iota
	Convex
)

// Kneedle returns the offered rates at which an increasing curve bends most
// (Satopaa and others, "Finding a Kneedle in a Haystack", 2011; without smoothing,
// sensitivity 1). Where it is depends on how far the sweep went: of the latency of
// a single exponential server it is 1-sqrt(1-m) of capacity for a sweep to m of it,
// which is an artefact. Print the range beside it.
func Kneedle(points []Point, value func(Point) float64, shape Shape) ([]float64, error) {
	points, err := sorted(points)
	if err != nil {
		return nil, err
	}
	first, last := points[0], points[len(points)-1]
	least, most := value(first), value(first)
	for _, p := range points {
		least, most = min(least, value(p)), max(most, value(p))
	}
	if first.Offered == last.Offered || least == most || math.IsNaN(least) || math.IsInf(most, 0) {
		return nil, fmt.Errorf("a curve without extent has no bend")
	}
	diff := make([]float64, len(points)) // of the curve normalised to the unit square
	for i, p := range points {
		x := (p.Offered - first.Offered) / (last.Offered - first.Offered)
		y := (value(p) - least) / (most - least)
		diff[i] = y - x
		if shape == Convex {
			diff[i] = x - y
		}
	}
	fall := 1 / float64(len(points)-1) // mean distance of x
	var out []float64
	peak := -1 // index of the local maximum under watch
	for i := 1; i < len(diff); i++ {
		if i+1 < len(diff) && diff[i] >= diff[i-1] && diff[i] > diff[i+1] {
			peak = i
		}
		if peak >= 0 && diff[i] < diff[peak]-fall {
			out = append(out, points[peak].Offered)
			peak = -1
		}
	}
	return out, nil
}

// Slope is the steepest linear ramp, in requests per second per second, whose first
// miss of a wait lies at most the given share above capacity: the backlog after
// capacity mu is crossed grows with the square of time, so that a wait s is missed
// sqrt(2*slope*s*mu) requests per second late.
func Slope(mu, wait, share float64) float64 { return share * share * mu / (2 * wait) }

// Overshoot is how far above capacity mu, in requests per second, a linear ramp
// first misses a wait of so many seconds.
func Overshoot(mu, wait, slope float64) float64 { return math.Sqrt(2 * slope * wait * mu) }
