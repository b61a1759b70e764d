package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"goodput/loadgen/monitor"
)

const (
	tabLine  = 1
	leastW   = 40
	leastH   = 10
	headRows = 3 // title, tabs, an empty line
	footRows = 2
)

// View is the frame: as many lines as the terminal has, each of its width.
func (m Model) View() string {
	if m.w < leastW || m.h < leastH {
		return fmt.Sprintf("%d×%d is too small: make it %d×%d", m.w, m.h, leastW, leastH)
	}
	lines := make([]string, 0, m.h)
	lines = append(lines, m.title(), m.tabBar(), "")
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
	left := " " + k.write(bold, "goodput") + "  " + clean(p.Title)
	return ends(left, "  "+m.progress()+" ", m.w)
}

// progress is the state, the time and the share that is done.
func (m *Model) progress() string {
	k, p := m.inks, &m.pic
	if !m.have {
		return ""
	}
	ink := good
	if p.State != "running" {
		ink = warn
	}
	s := k.write(ink, clean(p.State)) + "  " + clockText(p.Elapsed)
	done, ok := p.Done()
	if !ok {
		return s
	}
	if left, ok := p.Left(); ok {
		s += k.write(dim, ", "+clockText(left)+" left")
	}
	return s + "  " + k.write(accent, bar(done, 10)) + right(fmt.Sprintf("%.0f %%", 100*done), 6)
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

func (m *Model) tabBar() string {
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
	window, filter := windows()[m.window], m.filter.String()
	if m.paused && m.have { // what is seen is not of the keys that were pressed since
		window, filter = time.Duration(m.pic.Window), m.pic.Filter
	}
	side := "last " + windowText(window) + " "
	if m.screen == Knee || m.screen == Compare {
		return ends(b.String(), "", m.w)
	}
	if filter != "" {
		side = m.inks.write(warn, "/"+clean(filter)) + "  " + side
	}
	return ends(b.String(), side, m.w)
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
	return append(out, "p pause", "/ filter", "+/- window", "s save")
}

func (m *Model) helpText() []string {
	k := m.inks
	out := []string{" " + k.write(bold, "Keys"), ""}
	quit := "end the view"
	if m.opt.Stop != nil {
		quit = "drain, then report; twice: stop now"
	}
	window := [2]string{"+ and -", "longer, shorter window: 10 s to 5 min of run time"}
	if m.opt.Steer != nil {
		out = append(out, "   "+k.write(accent, fit("+ and -", 20))+"  "+fmt.Sprintf("rate of the arrivals to come: %d %% of the planned more or less", points))
		window[0] = "> and <"
	}
	for _, l := range [][2]string{
		{"1 to " + fmt.Sprint(len(m.opt.Screens)) + ", tab, click", "choose a screen"},
		window,
		{"p", "pause the view; the load goes on"},
		{"/", "filter by class, tenant, arm, replica, outcome; esc: all"},
		{"s", "save what is seen as JSON, text and SVG"},
		{"f, up, down, enter", "Requests: slowest or failed; open one"},
		{"t", "Heatmap: TTFT or E2E"},
		{"o", "Knee: the next objective"},
		{"q", quit},
	} {
		out = append(out, "   "+k.write(accent, fit(l[0], 20))+"  "+l[1])
	}
	return append(out, "",
		" Rates and charts are of the window, tables of its latest 4,096 requests.",
		" TTFT, E2E and lag count from the intended instant. "+unknown+": not known.", "", k.write(dim, " ? to go back"))
}
