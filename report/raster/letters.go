package raster

import (
	"fmt"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// letters are the outlines of a font's letters. They may be used from one goroutine.
type letters struct {
	regular, bold *sfnt.Font
	buf           sfnt.Buffer
}

// em is the size at which outlines are read, in units of which there are 64 in one.
const em = 1024

func newLetters() (*letters, error) {
	regular, err := sfnt.Parse(goregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("reading the font: %w", err)
	}
	bold, err := sfnt.Parse(gobold.TTF)
	if err != nil {
		return nil, fmt.Errorf("reading the bold font: %w", err)
	}
	return &letters{regular: regular, bold: bold}, nil
}

// lay are the outlines of a text that begins at the origin, for letters of size 1, and how
// wide it is.
func (l *letters) lay(text string, bold bool) (out []stretch, width float64, err error) {
	f := l.regular
	if bold {
		f = l.bold
	}
	const unit = 1.0 / (em * 64)
	for _, r := range text {
		i, err := f.GlyphIndex(&l.buf, r) // 0, which is a box, for letters that it lacks
		if err != nil {
			return nil, 0, fmt.Errorf("letter %q: %w", r, err)
		}
		segments, err := f.LoadGlyph(&l.buf, i, fixed.I(em), nil)
		if err != nil {
			return nil, 0, fmt.Errorf("letter %q: %w", r, err)
		}
		at := func(p fixed.Point26_6) point { return point{width + float64(p.X)*unit, float64(p.Y) * unit} }
		for _, s := range segments {
			if s.Op == sfnt.SegmentOpMoveTo {
				out = append(out, stretch{points: []point{at(s.Args[0])}, closed: true})
				continue
			}
			last := &out[len(out)-1]
			last.points = append(last.points, bent(last.points[len(last.points)-1], s, at)...)
		}
		advance, err := f.GlyphAdvance(&l.buf, i, fixed.I(em), font.HintingNone)
		if err != nil {
			return nil, 0, fmt.Errorf("letter %q: %w", r, err)
		}
		width += float64(advance) * unit
	}
	return out, width, nil
}

// bent are the points of a segment, after its first one: a line, or a curve of Bézier with
// one or two points off it.
func bent(from point, s sfnt.Segment, at func(fixed.Point26_6) point) []point {
	const steps = 8
	p := []point{from}
	switch s.Op {
	case sfnt.SegmentOpQuadTo:
		p = append(p, at(s.Args[0]), at(s.Args[1]))
	case sfnt.SegmentOpCubeTo:
		p = append(p, at(s.Args[0]), at(s.Args[1]), at(s.Args[2]))
	default:
		return []point{at(s.Args[0])}
	}
	var out []point
	for i := 1; i <= steps; i++ {
		t := float64(i) / steps
		q := append([]point(nil), p...)
		for n := len(q) - 1; n > 0; n-- { // de Casteljau
			for k := range n {
				q[k] = point{q[k].x + t*(q[k+1].x-q[k].x), q[k].y + t*(q[k+1].y-q[k].y)}
			}
		}
		out = append(out, q[0])
	}
	return out
}
