package plot

import "fmt"

// colours is the number of colours, and of shapes.
const colours = 8

// shape is the path of a mark around the origin. Marks of one colour differ in
// shape, so that neither has to be told by colour alone.
func shape(mark int) string {
	switch (mark + mark/colours) % colours {
	case 0:
		return "M-3.6 0A3.6 3.6 0 1 0 3.6 0A3.6 3.6 0 1 0 -3.6 0Z" // circle
	case 1:
		return "M-3.2 -3.2H3.2V3.2H-3.2Z" // square
	case 2:
		return "M0 -4.4L4 3.2H-4Z" // triangle
	case 3:
		return "M0 -4.6L4.6 0L0 4.6L-4.6 0Z" // diamond
	case 4:
		return "M0 4.4L4 -3.2H-4Z" // triangle, point down
	case 5:
		return "M-1.3 -4.2H1.3V-1.3H4.2V1.3H1.3V4.2H-1.3V1.3H-4.2V-1.3H-1.3Z" // plus
	case 6:
		return "M0 -4.5L4.3 -1.4L2.6 3.6H-2.6L-4.3 -1.4Z" // pentagon
	}
	return "M-4.4 -2.2H4.4V2.2H-4.4Z" // bar
}

// Mark is the mark of a series as an svg element of its own, for legends and
// tables. It is decoration: its meaning must stand beside it.
func Mark(mark int) string {
	return fmt.Sprintf(`<svg class="legend" viewBox="-6 -6 12 12" aria-hidden="true"><path class="mark s%d" d="%s"/></svg>`, mark%colours, shape(mark))
}

// Style is the style sheet of charts. The page sets --ink (text and marks of the
// axes), --faint (grid) and --paper (background) for light and dark; the colours of
// series are a set that the colour-blind can tell apart (Okabe and Ito), lightened
// for dark pages.
const Style = `
:root { --s0:#0072b2; --s1:#b45a00; --s2:#00795a; --s3:#a8488a; --s4:#9b1b30; --s5:#a89200; --s6:#35308c; --s7:#555555; }
@media screen and (prefers-color-scheme: dark) {
  :root { --s0:#5cb3f0; --s1:#f0a04b; --s2:#3fcf9f; --s3:#e08fc4; --s4:#ff8a7a; --s5:#e6cf4e; --s6:#8577ff; --s7:#bbbbbb; }
}
svg.plot { width:100%; height:auto; font:11px system-ui,sans-serif; }
svg.plot text { fill:var(--ink); }
svg.plot .title { font-size:13px; font-weight:600; }
svg.plot .grid { stroke:var(--faint); stroke-width:.6; fill:none; }
svg.plot .frame { stroke:var(--ink); stroke-width:.8; fill:none; }
svg.plot .same { stroke:var(--ink); stroke-width:1.2; fill:none; }
svg.plot .band { stroke:var(--ink); stroke-width:.8; stroke-dasharray:3 3; fill:none; }
svg .mark { fill-opacity:.75; stroke-width:1; }
svg .mark.again { fill-opacity:.3; }
svg .mark.hollow { fill-opacity:0; stroke-opacity:.8; }
svg .s0 { fill:var(--s0); stroke:var(--s0); } svg .s1 { fill:var(--s1); stroke:var(--s1); }
svg .s2 { fill:var(--s2); stroke:var(--s2); } svg .s3 { fill:var(--s3); stroke:var(--s3); }
svg .s4 { fill:var(--s4); stroke:var(--s4); } svg .s5 { fill:var(--s5); stroke:var(--s5); }
svg .s6 { fill:var(--s6); stroke:var(--s6); } svg .s7 { fill:var(--s7); stroke:var(--s7); }
svg .line { fill:none; stroke-width:1.6; stroke-linejoin:round; }
svg .l0 { stroke:var(--s0); } svg .l1 { stroke:var(--s1); }
svg .l2 { stroke:var(--s2); } svg .l3 { stroke:var(--s3); }
svg .l4 { stroke:var(--s4); } svg .l5 { stroke:var(--s5); }
svg .l6 { stroke:var(--s6); } svg .l7 { stroke:var(--s7); }
svg .d1 { stroke-dasharray:5 2; } svg .d2 { stroke-dasharray:2 1.6; } svg .d3 { stroke-dasharray:7 2 1.5 2; }
svg .area { fill-opacity:.15; stroke:none; }
svg.legend { width:14px; height:14px; vertical-align:-2px; }
svg.legend.stroke { width:26px; } svg .line.sample { stroke-width:2.2; }
`
