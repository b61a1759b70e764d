package raster

import (
	"fmt"
	"math"
	"strings"
)

// matrix maps (x, y) to (a x + c y + e, b x + d y + f).
type matrix struct{ a, b, c, d, e, f float64 }

// then is what maps by n first and by m after it.
func (m matrix) then(n matrix) matrix {
	return matrix{
		m.a*n.a + m.c*n.b, m.b*n.a + m.d*n.b,
		m.a*n.c + m.c*n.d, m.b*n.c + m.d*n.d,
		m.a*n.e + m.c*n.f + m.e, m.b*n.e + m.d*n.f + m.f,
	}
}

func (m matrix) at(p point) point { return point{m.a*p.x + m.c*p.y + m.e, m.b*p.x + m.d*p.y + m.f} }

// size is by how much lengths grow.
func (m matrix) size() float64 { return math.Sqrt(math.Abs(m.a*m.d - m.b*m.c)) }

// transformed reads a transform attribute: translate, scale and rotate (degrees), one number
// or two each.
func transformed(m matrix, text string) (matrix, error) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		name, rest, _ := strings.Cut(text, "(")
		inside, after, ok := strings.Cut(rest, ")")
		if !ok {
			return m, fmt.Errorf("transform %.40q does not end", text)
		}
		r := &numbers{text: inside}
		x, y, two := r.next(), 0.0, false
		if r.more() {
			y, two = r.next(), true
		}
		if r.err != nil || r.more() {
			return m, fmt.Errorf("transform %.40q: need one number or two", text)
		}
		switch {
		case name == "translate":
			m = m.then(matrix{1, 0, 0, 1, x, y})
		case name == "scale" && two:
			m = m.then(matrix{x, 0, 0, y, 0, 0})
		case name == "scale":
			m = m.then(matrix{x, 0, 0, x, 0, 0})
		case name == "rotate" && !two:
			sin, cos := math.Sincos(x * math.Pi / 180)
			m = m.then(matrix{cos, sin, -sin, cos, 0, 0})
		default:
			return m, fmt.Errorf("transform %.40q is not known: use translate, scale or rotate", text)
		}
		text = after
	}
	return m, nil
}
