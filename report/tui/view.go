package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"goodput/loadgen/monitor"
)

const (
	tabLine  = 1
	leastW   = 40
	leastH   = 10
	headRows = 3 // title, tabs, what figures are of
	footRows = 2
)

// View is the frame: as many lines as the terminal has, each of its width.
func (m Model) View() string {
	if m.w < leastW || m.h < leastH {
		return fmt.Sprintf("%d×%d is too small: make it %d×%d", m.w, m.h, leastW, leastH)
	}
	lines := make([]string, 0, m.h)
	lines = append(append(lines, m.title()), m.tabBar()...)
	h := m.h - headRows - footRows
	body := m.body(m.w, h)
	if len(body) > h {
		body = body[:h]
	}
	lines = append(lines, body...)
	for len(lines) < m.h-footRows {
		lines = append(lines, "")
	}
	lines = append(lines, m.generator(), m.keys())
	for i := range lines {
		lines[i] = fit(lines[i], m.w)
	}
	return strings.Join(lines, "\n")
}

func (m *Model) body(w, h int) []string {
	switch {
	case m.help:
		return m.helpText()
	case !m.have:
		return []string{m.inks.write(dim, " waiting for the first picture")}
	}
	switch m.screen {
	case Replicas:
		return m.replicas(w, h)
	case Spans:
		return m.spans(w, h)
	case Sessions:
		return m.sessions(w, h)
	case Requests:
		return m.requests(w, h)
	case Heatmap:
		return m.heatmap(w, h)
	case Knee:
		return m.knee(w, h)
	case Compare:
		return m.compare(w, h)
	}
	return m.overview(w, h)
}

// title says which run it is and how far it is.
func (m *Model) title() string {
	k, p := m.inks, &m.pic
	left := " " + k.write(bold, "goodput") + "  " + Clean(p.Title)
	text, done := m.progress()
	if math.IsNaN(done) {
		return ends(left, "  "+text+" ", m.w)
	}
	share := right(fmt.Sprintf("%.0f %%", 100*done), 6) + " "
	if side := "  " + text + "  " + k.write(accent, bar(done, 10)) + share; m.w >= 100 || ansi.StringWidth(left)+ansi.StringWidth(side) <= m.w {
		return ends(left, side, m.w)
	}
	return ends(left, "  "+text+share, m.w) // a bar is worth less than the title
}

// progress is the state, the time and the share that is done; NaN: not known.
func (m *Model) progress() (text string, done float64) {
	k, p := m.inks, &m.pic
	done = math.NaN()
	if !m.have {
		return "", done
	}
	ink := good
	if p.State != "running" {
		ink = warn
	}
	text = k.write(ink, Clean(p.State))
	switch s, c := m.doing.Search, m.doing.Comparison; {
	case m.screen == Knee && s != nil && len(s.Objectives) > 0:
		return text + "  " + plural(len(m.objective().Trials), "trial"), done
	case m.screen == Compare && c != nil:
		over, all := c.runs()
		return text + fmt.Sprintf("  %d of %d runs", over, all), float64(over) / float64(max(all, 1))
	}
	if p.Elapsed.Known() {
		text += "  " + clockText(p.Elapsed)
	}
	if share, ok := p.Done(); ok {
		done = share
		if left, ok := p.Left(); ok {
			text += k.write(dim, ", "+clockText(left)+" left")
		}
	}
	return text, done
}

// tabs are the first cell of each tab and the one behind its last.
func (m *Model) tabs() [][2]int {
	x := 1
	var out [][2]int
	for i, s := range m.opt.Screens {
		n := ansi.StringWidth(tabText(i, s)) + 2
		out = append(out, [2]int{x, x + n})
		x += n
	}
	return out
}

func tabText(at int, s Screen) string { return fmt.Sprintf("%d %v", at+1, s) }

// tabBar are two lines: the second has what the first has no room for.
func (m *Model) tabBar() []string {
	var b strings.Builder
	b.WriteString(" ")
	for i, s := range m.opt.Screens {
		text := " " + tabText(i, s) + " "
		switch {
		case s == m.screen && m.inks.on[chosen] == "":
			text = "[" + tabText(i, s) + "]"
		case s == m.screen:
			text = m.inks.write(chosen, text)
		}
		b.WriteString(text)
	}
	side := m.side()
	if ansi.StringWidth(b.String())+ansi.StringWidth(side) < m.w {
		return []string{ends(b.String(), side, m.w), ""}
	}
	return []string{fit(b.String(), m.w), ends("", side, m.w)}
}

// side is what figures are of.
func (m *Model) side() string {
	if m.screen == Knee || m.screen == Compare {
		return ""
	}
	window, filter := windows()[m.window], m.filter.String()
	if m.paused && m.have { // what is seen is not of the keys that were pressed since
		window, filter = time.Duration(m.pic.Window), m.pic.Filter
	}
	side := "last " + windowText(window) + " "
	if filter != "" {
		side = m.inks.write(warn, "/"+Clean(filter)) + "  " + side
	}
	return side
}

func windowText(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d min", d/time.Minute)
}

// generator is the line about the load generator's own health.
func (m *Model) generator() string {
	k, p := m.inks, &m.pic
	if !m.have {
		return ""
	}
	cpu := unknown
	if p.CPU.Known() {
		cpu = digits(float64(p.CPU)) + " cores"
	}
	lag := k.write(lagInk(p.Lag.P99), span(p.Lag.P99))
	s := k.write(dim, " generator ") + " lag p99 " + lag + "   CPU " + cpu
	if p.RateChanges > 0 {
		s += k.write(warn, fmt.Sprintf("   rate %d %% of the planned, by hand", p.RatePercent))
	}
	if p.Lost > 0 {
		s += k.write(warn, fmt.Sprintf("   view missed %d events", p.Lost))
	}
	if p.UnknownTokens > 0 {
		s += k.write(dim, fmt.Sprintf("   %d without token count", p.UnknownTokens))
	}
	return s
}

// lagInk warns of lateness that shows in the latencies.
func lagInk(n monitor.Nanos) ink {
	switch {
	case !n.Known():
		return plain
	case n > monitor.Nanos(10*time.Millisecond):
		return bad
	case n > monitor.Nanos(2*time.Millisecond):
		return warn
	}
	return good
}

// keys is the last line.
func (m *Model) keys() string {
	if i, s := m.status(); s != "" {
		return " " + m.inks.write(i, s)
	}
	s := "? help"
	for _, text := range m.hints() {
		if ansi.StringWidth(s)+ansi.StringWidth(text)+4 <= m.w {
			s += "  " + text
		}
	}
	return " " + m.inks.write(dim, s)
}

// hints are keys, the most wanted first: a narrow terminal has no room for all.
func (m *Model) hints() []string {
	out := []string{"q quit"}
	if m.opt.Stop != nil {
		out[0] = "q drain, quit"
	}
	switch m.screen {
	case Requests:
		out = append(out, "f slowest/failed", "↑↓ enter")
	case Heatmap:
		out = append(out, "t TTFT/E2E")
	case Knee:
		return append(out, "↑↓ trials", "o objective", "p pause", "s save")
	case Compare:
		return append(out, "↑↓ arms", "p pause", "s save")
	}
	if m.opt.Steer != nil {
		return append(out, "+/- rate", "p pause", "/ filter", "</> window", "s save")
	}
	if !slices.Contains(m.opt.Screens, Overview) {
		return append(out, "p pause", "s save") // no run is looked at
	}
	return append(out, "p pause", "/ filter", "+/- window", "s save")
}

func (m *Model) helpText() []string {
	k := m.inks
	out := []string{" " + k.write(bold, "Keys"), ""}
	quit := "end the view"
	if m.opt.Stop != nil {
		quit = "drain, then report; twice: stop now"
	}
	ofRun := slices.Contains(m.opt.Screens, Overview)
	window := [2]string{"+ and -", "longer, shorter window: 10 s to 5 min of run time"}
	if m.opt.Steer != nil {
		out = append(out, "   "+k.write(accent, fit("+ and -", 20))+"  "+fmt.Sprintf("rate of the arrivals to come: %d %% of the planned more or less", points))
		window[0] = "> and <"
	}
	screen := [2]string{"1 to " + fmt.Sprint(len(m.opt.Screens)) + ", tab, click", "choose a screen"}
	for _, l := range []struct {
		on   bool
		text [2]string
	}{
		{len(m.opt.Screens) > 1, screen},
		{ofRun, window},
		{true, [2]string{"p", "pause the view; the load goes on"}},
		{ofRun, [2]string{"/", "filter by class, tenant, arm, replica, outcome"}},
		{ofRun, [2]string{"esc", "no filter; back to the list of requests"}},
		{true, [2]string{"s", "save what is seen as JSON, text and SVG"}},
		{ofRun, [2]string{"f, up, down, enter", "Requests: slowest or failed; open one"}},
		{ofRun, [2]string{"t", "Heatmap: TTFT or E2E"}},
		{slices.Contains(m.opt.Screens, Knee), [2]string{"up, down, o", "Knee: earlier trials; the next objective"}},
		{slices.Contains(m.opt.Screens, Compare), [2]string{"up, down", "Compare: other arms"}},
		{true, [2]string{"q", quit}},
	} {
		if l.on {
			out = append(out, "   "+k.write(accent, fit(l.text[0], 20))+"  "+l.text[1])
		}
	}
	if ofRun {
		out = append(out, "",
			" Rates and charts are of the window, tables of its latest 4,096 requests.",
			" TTFT and E2E count from the intended instant. Lag: how late requests left.")
	}
	return append(out, " "+unknown+": not known, or there is none.", "", k.write(dim, " ? to go back"))
}
