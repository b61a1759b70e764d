package raster

import (
	"fmt"
	"math"
	"strings"
)

// point is a place, in units of the chart or in dots.
type point struct{ x, y float64 }

// stretch is one line of a path.
type stretch struct {
	points []point
	closed bool
}

// mostAt is how far from the origin anything may be.
const mostAt = 2e4

// outline reads the commands of a path, all of which are absolute: M, L, H, V, A and Z.
// Arcs become lines.
func outline(d string) ([]stretch, error) {
	r := &numbers{text: d}
	var out []stretch
	var at point
	for {
		c, ok := r.command()
		if !ok {
			return out, r.err
		}
		if len(out) == 0 && c != 'M' {
			return nil, fmt.Errorf("path %.40q does not begin with M", d)
		}
		for first := true; first || r.more(); first = false {
			switch c {
			case 'M', 'L':
				at = point{r.next(), r.next()}
			case 'H':
				at.x = r.next()
			case 'V':
				at.y = r.next()
			case 'A':
				radius, _, _, large, sweep := r.next(), r.next(), r.next(), r.next(), r.next()
				to := point{r.next(), r.next()}
				last := &out[len(out)-1]
				last.points = append(last.points, arc(at, to, radius, large != 0, sweep != 0)...)
				at = to
			case 'Z':
				out[len(out)-1].closed = true
				at = out[len(out)-1].points[0]
			default:
				return nil, fmt.Errorf("path %.40q: no command %c is known", d, c)
			}
			if r.err != nil {
				return nil, r.err
			}
			if c == 'M' && first {
				out = append(out, stretch{})
			}
			if c != 'Z' {
				last := &out[len(out)-1]
				last.points = append(last.points, at)
			} else {
				break
			}
		}
	}
}

// arc are points of a circle's arc, without its ends.
func arc(from, to point, radius float64, large, sweep bool) []point {
	dx, dy := to.x-from.x, to.y-from.y
	chord := math.Hypot(dx, dy)
	if chord == 0 || radius <= 0 {
		return nil
	}
	radius = max(radius, chord/2)
	// The centre lies on the chord's bisector, on the side that the two flags say.
	off := math.Sqrt(max(0, radius*radius-chord*chord/4)) / chord
	if large == sweep {
		off = -off
	}
	cx, cy := (from.x+to.x)/2-dy*off, (from.y+to.y)/2+dx*off
	a := math.Atan2(from.y-cy, from.x-cx)
	turn := math.Atan2(to.y-cy, to.x-cx) - a
	switch {
	case sweep && turn <= 0:
		turn += 2 * math.Pi
	case !sweep && turn >= 0:
		turn -= 2 * math.Pi
	}
	const steps = 24
	out := make([]point, 0, steps)
	for i := 1; i < steps; i++ {
		sin, cos := math.Sincos(a + turn*float64(i)/steps)
		out = append(out, point{cx + radius*cos, cy + radius*sin})
	}
	return out
}

// numbers reads the text of a path or a transform.
type numbers struct {
	text string
	err  error
}

func (r *numbers) space() { r.text = strings.TrimLeft(r.text, " ,\t\n") }

// command is the next letter.
func (r *numbers) command() (byte, bool) {
	if r.space(); r.text == "" || r.err != nil {
		return 0, false
	}
	c := r.text[0]
	r.text = r.text[1:]
	return c, true
}

// more reports whether a number follows.
func (r *numbers) more() bool {
	r.space()
	return r.err == nil && r.text != "" && strings.IndexByte("0123456789+-.", r.text[0]) >= 0
}

// next is the next number; 0 where there is none, which is an error.
func (r *numbers) next() float64 {
	r.space()
	n := 0
	for n < len(r.text) && (strings.IndexByte("0123456789.e", r.text[n]) >= 0 || strings.IndexByte("+-", r.text[n]) >= 0 && (n == 0 || r.text[n-1] == 'e')) {
		n++
	}
	v, err := number(r.text[:n], -mostAt, mostAt)
	if r.text = r.text[n:]; err != nil && r.err == nil {
		r.err = err
	}
	return v
}
