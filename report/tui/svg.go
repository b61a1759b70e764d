package tui

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Size of a cell and its text in the units of SVG, and the edge around all.
const (
	cellW  = 7.2
	cellH  = 15
	glyphH = 12
	edge   = 8
)

// ground are the colours of a drawing: the ground, the text, and the 16 basic ones,
// which a terminal lets its user choose. These can be told apart on a dark ground.
type ground struct {
	back, text string
	basic      [16]string
}

func dark() ground {
	return ground{back: "#16181d", text: "#d5d8de", basic: [16]string{
		"#3b4048", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d5d8de",
		"#5c6370", "#ff7b86", "#b5e890", "#ffd68a", "#7cc4ff", "#de91f5", "#6fd6e0", "#ffffff",
	}}
}

// style is how a piece of text looks.
type style struct {
	color          string // empty: that of the text
	faint, reverse bool
	bold           bool
}

// piece is a run of cells in one style.
type piece struct {
	x    int // its first cell
	text string
	style
}

// SVG draws a frame of a Model as a picture of w by h cells that needs no font but a
// monospaced one.
func SVG(frame string, w, h int) []byte {
	var b strings.Builder
	open(&b, w, h)
	g := dark()
	for y, line := range strings.Split(frame, "\n") {
		b.WriteString(lineSVG(&g, line, y))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// Shown is a frame of a recording, and for how long it stands.
type Shown struct {
	Frame string
	For   time.Duration
}

// Recording draws frames one after the other, over and over. A line that does not change
// from one frame to the next is drawn once.
func Recording(frames []Shown, w, h int) []byte {
	total := time.Duration(0)
	for _, f := range frames {
		total += f.For
	}
	var b strings.Builder
	open(&b, w, h)
	g := dark()
	lines := make([][]string, len(frames))
	for i, f := range frames {
		lines[i] = strings.Split(f.Frame, "\n")
	}
	for y := range h {
		at := time.Duration(0)
		for i := 0; i < len(frames); {
			from, line := at, lineAt(lines[i], y)
			for ; i < len(frames) && lineAt(lines[i], y) == line; i++ {
				at += frames[i].For
			}
			drawn := lineSVG(&g, line, y)
			switch {
			case drawn == "":
			case from == 0 && at == total:
				b.WriteString(drawn)
			default:
				fmt.Fprintf(&b, "<g visibility=\"hidden\">%s%s</g>\n", shownFor(from, at, total), drawn)
			}
		}
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// shownFor makes what it is in visible from one instant to another of each round.
func shownFor(from, to, total time.Duration) string {
	share := func(d time.Duration) string {
		return strconv.FormatFloat(float64(d.Milliseconds())/float64(total.Milliseconds()), 'f', 4, 64)
	}
	values, times := "visible;hidden", "0;"+share(to)
	switch {
	case from > 0 && to < total:
		values, times = "hidden;visible;hidden", "0;"+share(from)+";"+share(to)
	case from > 0:
		values, times = "hidden;visible", "0;"+share(from)
	}
	return fmt.Sprintf(`<animate attributeName="visibility" dur="%.1fs" repeatCount="indefinite" calcMode="discrete" values="%s" keyTimes="%s"/>`, total.Seconds(), values, times)
}

func lineAt(lines []string, y int) string {
	if y < len(lines) {
		return strings.TrimRight(lines[y], " ")
	}
	return ""
}

func open(b *strings.Builder, w, h int) {
	g := dark()
	width, height := cellW*float64(w)+2*edge, float64(cellH*h+2*edge)
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="DejaVu Sans Mono,Menlo,Consolas,monospace" font-size="%d" fill="%s" xml:space="preserve"><style>text{white-space:pre}</style>`+"\n",
		width, height, glyphH, g.text)
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", g.back)
}

// lineSVG draws a line: each piece at its own cell and of its own width, so that the
// columns stand even where a font lacks a character.
func lineSVG(g *ground, line string, y int) string {
	var b strings.Builder
	for _, p := range pieces(line, g) {
		drawPiece(&b, g, p, y)
	}
	return b.String()
}

func drawPiece(b *strings.Builder, g *ground, p piece, y int) {
	cells := ansi.StringWidth(p.text)
	color := p.color
	x, top := edge+cellW*float64(p.x), edge+cellH*y
	if p.reverse {
		back := color
		if back == "" {
			back = g.text
		}
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, x, top, cellW*float64(cells), cellH, back)
		color = g.back
	}
	text := strings.TrimRight(p.text, " ")
	if text == "" {
		return
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f"`, x, top+glyphH-1, cellW*float64(ansi.StringWidth(text)))
	if color != "" {
		fmt.Fprintf(b, ` fill="%s"`, color)
	}
	if p.faint {
		b.WriteString(` opacity=".6"`)
	}
	if p.bold {
		b.WriteString(` font-weight="bold"`)
	}
	fmt.Fprintf(b, ">%s</text>\n", html.EscapeString(text))
}

// pieces cuts a line with escape sequences where its style changes and, so that little
// text needs to be placed, at gaps.
func pieces(line string, g *ground) []piece {
	var out []piece
	var now style
	var text strings.Builder
	x, from := 0, 0
	flush := func() {
		if s := text.String(); strings.TrimSpace(s) != "" || now.reverse && s != "" {
			lead := 0
			if !now.reverse {
				lead = len(s) - len(strings.TrimLeft(s, " "))
			}
			out = append(out, piece{x: from + lead, text: s[lead:], style: now})
		}
		text.Reset()
		from = x
	}
	for len(line) > 0 {
		if strings.HasPrefix(line, "\x1b[") {
			end := strings.IndexByte(line, 'm')
			if end < 0 {
				break
			}
			flush()
			now = now.after(line[2:end], g)
			line = line[end+1:]
			continue
		}
		if strings.HasPrefix(line, "   ") && !now.reverse {
			flush()
		}
		cluster, n := ansi.FirstGraphemeCluster(line, ansi.GraphemeWidth)
		if drawable(cluster) {
			text.WriteString(cluster)
			x += n
		}
		line = line[len(cluster):]
	}
	flush()
	return out
}

// drawable reports whether XML may have the character.
func drawable(cluster string) bool {
	return utf8.ValidString(cluster) && !strings.ContainsFunc(cluster, func(r rune) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0xfffd && r <= 0xffff
	})
}

// after is the style behind a sequence such as 1;31.
func (s style) after(sequence string, g *ground) style {
	codes := strings.Split(sequence, ";")
	for i := 0; i < len(codes); i++ {
		n, _ := strconv.Atoi(codes[i])
		switch {
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.faint = true
		case n == 7:
			s.reverse = true
		case n >= 30 && n <= 37:
			s.color = g.basic[n-30]
		case n >= 90 && n <= 97:
			s.color = g.basic[n-90+8]
		case n == 38 && i+4 < len(codes) && codes[i+1] == "2":
			s.color = "#"
			for _, c := range codes[i+2 : i+5] {
				v, _ := strconv.Atoi(c)
				s.color += fmt.Sprintf("%02x", byte(v))
			}
			i += 4
		case n == 38 && i+2 < len(codes) && codes[i+1] == "5":
			v, _ := strconv.Atoi(codes[i+2])
			s.color = indexed(v, g)
			i += 2
		}
	}
	return s
}

// indexed is one of the 256 colours: 16 basic ones, a cube of 6 by 6 by 6, and greys.
func indexed(n int, g *ground) string {
	switch {
	case n < 0 || n > 255:
		return ""
	case n < 16:
		return g.basic[n]
	case n > 231:
		v := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", v, v, v)
	}
	level := func(i int) int {
		if i == 0 {
			return 0
		}
		return 55 + 40*i
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}
