package raster

import "math"

// mostDashes of a line are drawn one by one.
const mostDashes = 10_000

// dashed cuts a line into those of its parts that are drawn; a pattern of odd length is
// repeated, as in SVG. A line that would be of too many is drawn whole.
func dashed(s stretch, pattern []float64) []stretch {
	points := s.round()
	period, whole := 0.0, 0.0
	for _, v := range pattern {
		period += v
	}
	for i := 1; i < len(points); i++ {
		whole += math.Hypot(points[i].x-points[i-1].x, points[i].y-points[i-1].y)
	}
	if whole*float64(len(pattern)) >= mostDashes*period {
		return []stretch{s}
	}
	var out []stretch
	part, left := 0, pattern[0]
	now := []point{points[0]}
	flush := func() {
		if part%2 == 0 && len(now) > 1 {
			out = append(out, stretch{points: now})
		}
		now = nil
	}
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		at := 0.0
		for length-at > left {
			at += left
			p := point{a.x + (b.x-a.x)*at/length, a.y + (b.y-a.y)*at/length}
			now = append(now, p)
			flush()
			part++
			left, now = pattern[part%len(pattern)], []point{p}
		}
		left -= length - at
		now = append(now, b)
	}
	flush()
	return out
}

// round are the points of a line, with the first one again where it is closed.
func (s *stretch) round() []point {
	if !s.closed {
		return s.points
	}
	return append(append([]point(nil), s.points...), s.points[0])
}

// widened are the shapes that a line of a width covers: a box for each of its parts and a
// disc at each bend, all turning the same way, so that they add up.
func widened(s stretch, width float64) []stretch {
	points := s.round()
	h := width / 2
	var out []stretch
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		length := math.Hypot(b.x-a.x, b.y-a.y)
		if length == 0 {
			continue
		}
		nx, ny := -(b.y-a.y)/length*h, (b.x-a.x)/length*h
		out = append(out, stretch{points: []point{{a.x + nx, a.y + ny}, {a.x - nx, a.y - ny}, {b.x - nx, b.y - ny}, {b.x + nx, b.y + ny}}, closed: true})
		if width > 1 && (i+1 < len(points) || s.closed) {
			out = append(out, disc(b, h))
		}
	}
	return out
}

// disc turns as the boxes do.
func disc(at point, radius float64) stretch {
	const corners = 12
	s := stretch{closed: true}
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
		s.points = append(s.points, point{at.x + radius*cos, at.y + radius*sin})
	}
	return s
}
