package tui

import (
	"fmt"
	"math"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"goodput/loadgen/monitor"
)

// Comparison is what the Compare screen shows of arms that meet the same load.
type Comparison struct {
	// Arms are what is compared, the first with all others.
	Arms []Arm `json:"arms"`
	// Seeds is the number of runs of each arm, and Paired how many of the seeds have a
	// run of all arms: figures are of those.
	Seeds  int `json:"seeds"`
	Paired int `json:"paired"`
	// Figures are the lines of the table.
	Figures []Figure `json:"figures"`
	// Invalid names the runs whose figures do not count, and says why.
	Invalid  []string `json:"invalid"`
	UnderWay []string `json:"under_way"`
	// Costs are what routers cost, of the seeds that are paired; none without an arm that
	// goes past them.
	Costs []RouterCost `json:"costs,omitempty"`
}

// RouterCost is what the router of an arm costs in one figure: the figure through it less
// the same past it, a mean over seeds with its interval, which is unknown with one seed.
type RouterCost struct {
	Arm    string        `json:"arm"`
	Figure string        `json:"figure"`
	Via    monitor.Nanos `json:"via_ns"`
	Direct monitor.Nanos `json:"direct_ns"`
	// Cost is below 0 where it took less through the router. It is in milliseconds, as
	// Nanos below 0 are unknown.
	Cost monitor.Number `json:"cost_ms"`
	Lo   monitor.Number `json:"lo_ms"`
	Hi   monitor.Number `json:"hi_ms"`
}

// Arm is one of what is compared, with the number of its runs that have ended.
type Arm struct {
	Name string `json:"name"`
	Done int    `json:"done"`
}

// Figure is one figure of all arms, a mean over seeds. Base is that of the first arm.
type Figure struct {
	Title string       `json:"title"`
	Base  string       `json:"base"`
	Cells []Difference `json:"cells"` // of the other arms
}

// Difference is a figure of an arm, and how it differs from that of the first. Value,
// Lo and Hi are the change as a share with its interval; unknown where it is none, such
// as with one seed or where arms differ by points.
type Difference struct {
	Mean    string         `json:"mean"`
	Change  string         `json:"change"` // with the interval
	Verdict Verdict        `json:"verdict"`
	Value   monitor.Number `json:"value"`
	Lo      monitor.Number `json:"lo"`
	Hi      monitor.Number `json:"hi"`
}

// Verdict is what a difference says.
type Verdict string

// The verdicts: conclusively better or worse, none yet, or nothing to be told.
const (
	Better       Verdict = "better"
	Worse        Verdict = "worse"
	Inconclusive Verdict = "inconclusive"
	NoVerdict    Verdict = ""
)

// compare is the arms side by side.
func (m *Model) compare(w, h int) []string {
	k, c := m.inks, m.doing.Comparison
	if c == nil || len(c.Arms) == 0 {
		return []string{k.write(dim, " no run has been begun")}
	}
	out := []string{m.armLine(c), m.comparedLine(c), ""}
	out = append(out, m.invalidLines(c, h)...)
	if len(c.Figures) == 0 {
		return append(out, k.write(dim, " figures come when all arms have a run of the same seed"))
	}
	if len(c.Arms) == 1 {
		return append(out, k.write(dim, " one arm has nothing to be compared with"))
	}
	meanW := meanWidth(w)
	wide := 1 + titleW + 2 + meanW
	per := meanW + changeW + verdictW + 6
	fit := max((w-wide)/per, 1)
	first := min(m.cursor, max(len(c.Arms)-1-fit, 0))
	shown := min(fit, len(c.Arms)-1)
	plot := 0
	if rest := w - wide - shown*per - 2; shown == 1 && rest >= 16 {
		plot = min(rest, 60)
	}
	out = append(out, m.armHead(c, first, shown, plot, meanW)...)
	var under []string // lines under the table
	if len(c.Arms)-1 > shown {
		which := fmt.Sprintf(" arm %d", first+2)
		if shown > 1 {
			which = fmt.Sprintf(" arms %d to %d", first+2, first+shown+1)
		}
		under = append(under, k.write(dim, which+fmt.Sprintf(" of %d; up and down: the others", len(c.Arms))))
	}
	for i := range c.Figures {
		if left := len(c.Figures) - i; len(out)+len(under)+min(left, 2) > h {
			out = append(out, k.write(dim, " and "+plural(left, "figure")+" more, for which this terminal is too low"))
			break
		}
		out = append(out, m.figureRow(&c.Figures[i], first, shown, plot, meanW, c.reach(first)))
	}
	return append(out, under...)
}

// invalidLines name runs that do not count, fewer of them where lines are scarce.
func (m *Model) invalidLines(c *Comparison, h int) []string {
	most := 3
	if h < 30 {
		most = 1
	}
	var out []string
	for i, text := range c.Invalid {
		if i == most {
			return append(out, m.inks.write(bad, " and "+plural(len(c.Invalid)-i, "run")+" more INVALID"))
		}
		out = append(out, " "+m.inks.write(bad, "INVALID")+" "+Clean(text))
	}
	return out
}

// runs are how many have ended, and how many there will be.
func (c *Comparison) runs() (over, all int) {
	for _, a := range c.Arms {
		over += a.Done
	}
	return over, c.Seeds * len(c.Arms)
}

// Widths of the table, in cells.
const (
	titleW   = 13
	changeW  = 27
	verdictW = 12
)

// meanWidth is that of figures; a narrow terminal cuts the names of arms.
func meanWidth(w int) int {
	if w < 90 {
		return 9
	}
	return 12
}

// armLine is how many runs there are of each arm.
func (m *Model) armLine(c *Comparison) string {
	k := m.inks
	var parts []string
	for _, a := range c.Arms {
		parts = append(parts, fmt.Sprintf("%s %d/%d", Clean(a.Name), a.Done, c.Seeds))
	}
	return k.write(dim, " runs  ") + strings.Join(parts, "   ")
}

// comparedLine says what the differences rest on, and which runs go on.
func (m *Model) comparedLine(c *Comparison) string {
	line := m.restsOn(c)
	if len(c.UnderWay) == 0 {
		return line
	}
	if line != "" {
		line += "  "
	}
	return line + m.inks.write(dim, " under way  ") + Clean(strings.Join(c.UnderWay, ", "))
}

// restsOn is how many pairs the differences are of.
func (m *Model) restsOn(c *Comparison) string {
	k := m.inks
	switch {
	case c.Paired == 0:
		return ""
	case c.Paired == 1:
		return k.write(dim, " of 1 seed: no interval yet")
	case c.Paired < c.Seeds:
		return k.write(dim, fmt.Sprintf(" paired by seed, %d of %d so far; verdicts are of all", c.Paired, c.Seeds))
	}
	return k.write(dim, fmt.Sprintf(" paired by seed, 95 %% interval over %d seeds", c.Paired))
}

func (m *Model) armHead(c *Comparison, first, shown, plot, meanW int) []string {
	k := m.inks
	line := " " + ansiFit("figure", titleW) + "  " + right(ansiFitted(c.Arms[0].Name, meanW), meanW)
	for a := range shown {
		line += "  " + right(ansiFitted(c.Arms[first+a+1].Name, meanW), meanW) + "  " + ansiFit("difference", changeW) + "  " + ansiFit("", verdictW)
	}
	if reach := c.reach(first); plot > 0 && reach > 0 {
		line += "  " + ends(fmt.Sprintf("-%.0f %%", 100*reach), fmt.Sprintf("+%.0f %%", 100*reach), plot)
	}
	return []string{k.write(dim, line)}
}

// oneUnit leaves out the unit of an interval's ends if that is the value's and long.
func oneUnit(change string) string {
	return strings.NewReplacer(" points,", ",", " points]", "]").Replace(change)
}

// ansiFitted cuts text from elsewhere to w cells.
func ansiFitted(s string, w int) string { return ansi.Truncate(Clean(s), w, "…") }

// ansiFit makes it exactly w cells wide.
func ansiFit(s string, w int) string { return fit(Clean(s), w) }

// figureRow is one figure of the arms that fit.
func (m *Model) figureRow(f *Figure, first, shown, plot, meanW int, reach float64) string {
	k := m.inks
	line := " " + ansiFit(f.Title, titleW) + "  " + right(ansiFitted(f.Base, meanW), meanW)
	for a := range shown {
		d := &f.Cells[first+a]
		ink, text := plain, ""
		switch d.Verdict {
		case Better:
			ink, text = good, "* better"
		case Worse:
			ink, text = bad, "* worse"
		case Inconclusive:
			ink, text = dim, "inconclusive"
		}
		line += "  " + right(ansiFitted(d.Mean, meanW), meanW) + "  " + k.write(ink, ansiFit(oneUnit(d.Change), changeW)) + "  " + k.write(ink, fit(text, verdictW))
		if plot > 0 && reach > 0 {
			line += "  " + written(k, whisker(d, reach, plot, ink))
		}
	}
	return line
}

// reach is how far the changes of an arm go from none, as a share.
func (c *Comparison) reach(arm int) float64 {
	most := 0.0
	for i := range c.Figures {
		d := &c.Figures[i].Cells[arm]
		for _, v := range []monitor.Number{d.Value, d.Lo, d.Hi} {
			if v.Known() && !math.IsInf(float64(v), 0) {
				most = max(most, math.Abs(float64(v)))
			}
		}
	}
	return most
}

// whisker draws a change and its interval around the line of no change.
func whisker(d *Difference, reach float64, w int, i ink) []cell {
	out := make([]cell, w)
	for x := range out {
		out[x] = cell{plain, ' '}
	}
	at := func(v monitor.Number) int { return place((float64(v)/reach+1)/2, w) }
	out[w/2] = cell{dim, '│'}
	if !d.Value.Known() {
		return out
	}
	if d.Lo.Known() && d.Hi.Known() {
		for x := at(d.Lo); x <= at(d.Hi); x++ {
			out[x] = cell{i, '─'}
		}
	}
	out[at(d.Value)] = cell{i, '●'}
	return out
}
