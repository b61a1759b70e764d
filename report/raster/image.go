package raster

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"strings"

	"golang.org/x/image/vector"
)

// mostDots is the largest picture.
const mostDots = 16 << 20

// Draw paints a chart, which is one svg element with a style sheet in it, with scale dots for
// each of its units.
func Draw(svg []byte, scale float64) (*image.RGBA, error) {
	l, err := newLetters()
	if err != nil {
		return nil, err
	}
	rules, err := sheetOf(svg)
	if err != nil {
		return nil, fmt.Errorf("drawing a chart: %w", err)
	}
	p := painter{letters: l, sheet: rules, base: matrix{scale, 0, 0, scale, 0, 0}}
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading a chart: %w", err)
		}
		if e, ok := t.(xml.StartElement); ok {
			if e.Name.Local != "svg" || p.image != nil {
				return nil, fmt.Errorf("drawing a chart: %s is not the one svg element", e.Name.Local)
			}
			if err := p.begin(e); err != nil {
				return nil, fmt.Errorf("drawing a chart: %w", err)
			}
			look := paint{filled: true, fill: color.NRGBA{A: 255}, fillOpacity: 1, strokeOpacity: 1, width: 1, size: 16}
			if err := p.inside(d, e, look, p.base); err != nil {
				return nil, fmt.Errorf("drawing a chart: %w", err)
			}
		}
	}
	if p.image == nil {
		return nil, errors.New("drawing a chart: no svg element")
	}
	return p.image, nil
}

// sheetOf is the style sheet in a chart, which is about what stands before it, too.
func sheetOf(svg []byte) (*sheet, error) {
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return &sheet{}, nil
		}
		if err != nil {
			return nil, err
		}
		if e, ok := t.(xml.StartElement); ok && e.Name.Local == "style" {
			var text string
			if err := d.DecodeElement(&text, &e); err != nil {
				return nil, err
			}
			return parseSheet(text)
		}
	}
}

// painter is a picture under way.
type painter struct {
	image   *image.RGBA
	letters *letters
	sheet   *sheet
	base    matrix
	view    point // the chart's size in its own units
	z       vector.Rasterizer
}

// begin makes the picture, as large as the svg element says.
func (p *painter) begin(e xml.StartElement) error {
	r := &numbers{text: attribute(e, "viewBox")}
	x, y := r.next(), r.next()
	p.view = point{r.next(), r.next()}
	w, h := math.Ceil(p.view.x*p.base.a), math.Ceil(p.view.y*p.base.a)
	if r.err != nil || x != 0 || y != 0 || !(w >= 1 && h >= 1 && w*h <= mostDots) {
		return fmt.Errorf("viewBox %.60q at %g dots a unit: need 0 0 and a size of at most %d dots", attribute(e, "viewBox"), p.base.a, mostDots)
	}
	p.image = image.NewRGBA(image.Rect(0, 0, int(w), int(h)))
	return nil
}

// inside draws an element and what is in it, up to its end.
func (p *painter) inside(d *xml.Decoder, e xml.StartElement, look paint, m matrix) error {
	m, err := transformed(m, attribute(e, "transform"))
	if err != nil {
		return err
	}
	if look, err = p.sheet.of(look, e.Name.Local, strings.Fields(attribute(e, "class")), attribute(e, "style")); err != nil {
		return err
	}
	if err := p.shape(e, &look, m); err != nil {
		return fmt.Errorf("%s: %w", e.Name.Local, err)
	}
	var text strings.Builder
	for {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := p.inside(d, t, look, m); err != nil {
				return err
			}
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			if e.Name.Local == "text" {
				return p.text(e, text.String(), &look, m)
			}
			return nil
		}
	}
}

// shape draws an element by its attributes.
func (p *painter) shape(e xml.StartElement, look *paint, m matrix) error {
	switch e.Name.Local {
	case "svg", "g", "style", "title", "text":
		return nil
	case "path":
		s, err := outline(attribute(e, "d"))
		if err != nil {
			return err
		}
		return p.draw(s, look, m)
	case "rect":
		var at [4]float64
		for i, name := range []string{"x", "y", "width", "height"} {
			switch text := attribute(e, name); {
			case text == "" && i < 2:
			case text == "100%":
				at[i] = []float64{0, 0, p.view.x, p.view.y}[i]
			default:
				v, err := number(text, -mostAt, mostAt)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				at[i] = v
			}
		}
		x, y := at[0]+at[2], at[1]+at[3]
		return p.draw([]stretch{{[]point{{at[0], at[1]}, {x, at[1]}, {x, y}, {at[0], y}}, true}}, look, m)
	}
	return errors.New("no such element is known")
}

// text draws letters at the element's place.
func (p *painter) text(e xml.StartElement, text string, look *paint, m matrix) error {
	var at point
	for _, c := range []struct {
		name string
		to   *float64
	}{{"x", &at.x}, {"y", &at.y}} {
		if s := attribute(e, c.name); s != "" {
			v, err := number(s, -mostAt, mostAt)
			if err != nil {
				return fmt.Errorf("text: %s: %w", c.name, err)
			}
			*c.to = v
		}
	}
	s, width, err := p.letters.lay(text, look.bold)
	if err != nil {
		return err
	}
	switch attribute(e, "text-anchor") {
	case "middle":
		at.x -= width * look.size / 2
	case "end":
		at.x -= width * look.size
	}
	return p.draw(s, &paint{fill: look.fill, filled: look.filled, fillOpacity: look.fillOpacity}, m.then(matrix{look.size, 0, 0, look.size, at.x, at.y}))
}

// draw fills lines and draws them, by a look.
func (p *painter) draw(lines []stretch, look *paint, m matrix) error {
	placed := make([]stretch, len(lines))
	for i, s := range lines {
		placed[i].closed = s.closed
		for _, q := range s.points {
			q = m.at(q)
			if !(math.Abs(q.x) <= mostAt && math.Abs(q.y) <= mostAt) {
				return fmt.Errorf("a point at %g, %g dots: too far away", q.x, q.y)
			}
			placed[i].points = append(placed[i].points, q)
		}
	}
	if look.filled {
		p.fill(placed, look.fill, look.fillOpacity)
	}
	if !look.stroked {
		return nil
	}
	var shapes []stretch
	for _, s := range placed {
		parts := []stretch{s}
		if len(look.dash) > 0 {
			pattern := make([]float64, len(look.dash))
			for i, v := range look.dash {
				pattern[i] = v * m.size()
			}
			parts = dashed(s, pattern)
		}
		for _, part := range parts {
			shapes = append(shapes, widened(part, look.width*m.size())...)
		}
	}
	p.fill(shapes, look.stroke, look.strokeOpacity)
	return nil
}

// fill paints what lines enclose, however often.
func (p *painter) fill(shapes []stretch, c color.NRGBA, opacity float64) {
	box := image.Rectangle{}
	for _, s := range shapes {
		for _, q := range s.points {
			box = box.Union(image.Rect(int(math.Floor(q.x)), int(math.Floor(q.y)), int(math.Ceil(q.x))+1, int(math.Ceil(q.y))+1))
		}
	}
	if box = box.Intersect(p.image.Bounds()); box.Empty() {
		return
	}
	p.z.Reset(box.Dx(), box.Dy())
	x, y := float64(box.Min.X), float64(box.Min.Y)
	for _, s := range shapes {
		for i, q := range s.points {
			if i == 0 {
				p.z.MoveTo(float32(q.x-x), float32(q.y-y))
				continue
			}
			p.z.LineTo(float32(q.x-x), float32(q.y-y))
		}
		p.z.ClosePath()
	}
	c.A = uint8(math.Round(255 * opacity))
	p.z.Draw(p.image, box, image.NewUniform(c), image.Point{})
}

// attribute is the value of one; "": it has none.
func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
