package raster

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"
)

// sheet is a style sheet: its rules with the weakest first, and its variables.
type sheet struct {
	rules []rule
	vars  []setting
}

// rule applies to elements of a name and with all of some classes; an empty name is any. Of
// a selector only the last part counts: what charts are inside of is always the same.
type rule struct {
	element string
	classes []string
	weight  int
	set     []setting
}

type setting struct{ name, value string }

// parseSheet reads the rules of a style sheet. Those for a medium are left out: they are for
// dark screens and for paper.
func parseSheet(text string) (*sheet, error) {
	s := &sheet{}
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		head, rest, ok := strings.Cut(text, "{")
		if !ok {
			return nil, fmt.Errorf("style sheet: %.40q is no rule", text)
		}
		if strings.HasPrefix(head, "@") {
			if text, ok = afterBlock(rest); !ok {
				return nil, fmt.Errorf("style sheet: %.40q does not end", head)
			}
			continue
		}
		body, after, ok := strings.Cut(rest, "}")
		if !ok {
			return nil, fmt.Errorf("style sheet: %.40q does not end", head)
		}
		set := settings(body)
		for selector := range strings.SplitSeq(head, ",") {
			if selector = strings.TrimSpace(selector); selector == ":root" {
				s.vars = append(s.vars, set...)
				continue
			}
			parts := strings.Fields(selector)
			if len(parts) == 0 {
				return nil, fmt.Errorf("style sheet: %.40q selects nothing", head)
			}
			names := strings.Split(parts[len(parts)-1], ".")
			s.rules = append(s.rules, rule{names[0], names[1:], 100*strings.Count(selector, ".") + len(parts), set})
		}
		text = after
	}
	slices.SortStableFunc(s.rules, func(a, b rule) int { return cmp.Compare(a.weight, b.weight) })
	return s, nil
}

// afterBlock is what follows on the brace that closes an open one.
func afterBlock(text string) (string, bool) {
	open := 1
	for i := range len(text) {
		switch text[i] {
		case '{':
			open++
		case '}':
			if open--; open == 0 {
				return text[i+1:], true
			}
		}
	}
	return "", false
}

// settings reads what is between the braces of a rule, or in a style attribute.
func settings(text string) []setting {
	var out []setting
	for one := range strings.SplitSeq(text, ";") {
		if name, value, ok := strings.Cut(one, ":"); ok {
			out = append(out, setting{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return out
}

// paint is how a shape or text looks. All of it is inherited by what is inside.
type paint struct {
	fill, stroke               color.NRGBA
	filled, stroked            bool
	fillOpacity, strokeOpacity float64
	width                      float64
	dash                       []float64
	size                       float64 // of letters
	bold                       bool
}

// of is how an element looks that is inside of one that looks so: the stronger rule
// prevails, and the element's own style over all.
func (s *sheet) of(p paint, element string, classes []string, style string) (paint, error) {
	for i := range s.rules {
		r := &s.rules[i]
		if r.element != "" && r.element != element || !containsAll(classes, r.classes) {
			continue
		}
		if err := s.apply(&p, r.set); err != nil {
			return p, err
		}
	}
	return p, s.apply(&p, settings(style))
}

func containsAll(have, want []string) bool {
	for _, w := range want {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return true
}

func (s *sheet) apply(p *paint, set []setting) (err error) {
	for _, x := range set {
		switch x.name {
		case "fill":
			p.fill, p.filled, err = s.colour(x.value)
		case "stroke":
			p.stroke, p.stroked, err = s.colour(x.value)
		case "fill-opacity":
			p.fillOpacity, err = number(x.value, 0, 1)
		case "stroke-opacity":
			p.strokeOpacity, err = number(x.value, 0, 1)
		case "stroke-width":
			p.width, err = number(x.value, 0, 100)
		case "font-size":
			p.size, err = number(strings.TrimSuffix(x.value, "px"), 1, 100)
		case "font":
			size, _, _ := strings.Cut(x.value, "px")
			p.size, err = number(size, 1, 100)
		case "font-weight":
			weight, e := strconv.Atoi(x.value)
			p.bold = x.value == "bold" || e == nil && weight >= 600
		case "stroke-dasharray":
			p.dash = nil
			for _, f := range strings.Fields(x.value) {
				v, e := number(f, 0, 1000)
				if e != nil {
					return fmt.Errorf("%s: %w", x.name, e)
				}
				p.dash = append(p.dash, v)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return nil
}

// colour reads one; there is none where it says so.
func (s *sheet) colour(text string) (c color.NRGBA, there bool, err error) {
	if name, ok := strings.CutPrefix(text, "var("); ok {
		name, text = strings.TrimSuffix(name, ")"), ""
		for _, v := range s.vars {
			if v.name == name {
				text = v.value
			}
		}
	}
	if text == "none" {
		return c, false, nil
	}
	hex, ok := strings.CutPrefix(text, "#")
	v, e := strconv.ParseUint(hex, 16, 32)
	if !ok || len(hex) != 6 || e != nil {
		return c, false, fmt.Errorf("%.40q is no colour: need one like #0072b2", text)
	}
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}, true, nil
}

// number reads one within bounds, which NaN is not.
func number(text string, lo, hi float64) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= lo && v <= hi) {
		return 0, fmt.Errorf("%.40q is no number from %g to %g", text, lo, hi)
	}
	return v, nil
}
