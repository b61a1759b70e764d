package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
	"goodput/report/knee"
)

// Search is what the Knee screen shows of a sweep.
type Search struct {
	Method    string  `json:"method"`
	N         int     `json:"n"` // requests of a trial
	Tolerance float64 `json:"tolerance"`
	// Objectives are those begun so far.
	Objectives []Objective `json:"objectives"`
	// UnderWay are the trials that have not ended.
	UnderWay []Probe `json:"under_way"`
}

// Objective is the search for the knee of one objective.
type Objective struct {
	SLO string `json:"slo"` // empty: there is none, and trials draw a curve
	// Trials are those that have ended, in that order.
	Trials []record.Trial `json:"trials"`
	// Seeds are their brackets; nil: there are none to be had.
	Seeds []knee.SeedStanding `json:"seeds"`
	// Settled of the seeds are searched to the end. Rate is the mean of their knees, Lo
	// and Hi its interval between seeds, in requests per second.
	Settled int            `json:"settled"`
	Rate    monitor.Number `json:"rate_rps"`
	Lo      monitor.Number `json:"lo_rps"`
	Hi      monitor.Number `json:"hi_rps"`
	// Outcome is how it ended, and Why; empty: it goes on.
	Outcome string `json:"outcome,omitempty"`
	Why     string `json:"why,omitempty"`
}

// Probe is a trial under way.
type Probe struct {
	Seed uint64  `json:"seed"`
	Rate float64 `json:"rate_rps"`
}

// objective is the one that is looked at: the latest, or by o one before it.
func (m *Model) objective() *Objective {
	l := m.doing.Search.Objectives
	return &l[(len(l)-1+m.back*(len(l)-1))%len(l)]
}

// knee is how far a search is.
func (m *Model) knee(w, h int) []string {
	k, s := m.inks, m.doing.Search
	if s == nil || len(s.Objectives) == 0 {
		return []string{k.write(dim, " no trial yet: single requests and a burst tell where to begin")}
	}
	o := m.objective()
	out := []string{m.kneeLine(s, o), m.underWayLine(s, o), ""}
	tall := max(min((h-len(out))/2-1, 24), 5)
	out = append(out, m.curve(o, w-1, tall)...)
	left := h - len(out)
	if len(o.Seeds) > 0 {
		rows := min(len(o.Seeds), max(left/3, 1))
		out = append(out, m.brackets(o, w, rows)...)
		left = h - len(out)
	}
	return append(out, m.trialTable(o, w, left-1)...)
}

// kneeLine is the objective and where its knee is thought to be.
func (m *Model) kneeLine(s *Search, o *Objective) string {
	k := m.inks
	name := o.SLO
	if name == "" {
		name = "no objective: the curve"
	}
	line := " " + k.write(bold, Clean(name)) + "   "
	switch {
	case o.Outcome != "" && o.Outcome != string(knee.OK):
		return line + k.write(warn, Clean(o.Outcome))
	case !o.Rate.Known() && len(o.Seeds) == 0:
		return line + fmt.Sprintf("%d trials of %d requests", len(o.Trials), s.N)
	case !o.Rate.Known():
		return line + k.write(dim, "knee ") + unknown + k.write(dim, "  none yet")
	}
	line += k.write(dim, "knee ") + k.write(accent, digits(float64(o.Rate))+"/s")
	if o.Lo.Known() {
		line += fmt.Sprintf(" [%s, %s]", digits(float64(o.Lo)), digits(float64(o.Hi)))
	}
	if o.Outcome == "" {
		line += k.write(dim, " so far")
	}
	return line
}

// underWayLine names the trials that go on, and tells how far the search is, or why it has
// found no knee.
func (m *Model) underWayLine(s *Search, o *Objective) string {
	k := m.inks
	if o.Outcome != "" && o.Outcome != string(knee.OK) && o.Why != "" {
		return " " + Clean(o.Why)
	}
	var parts []string
	for _, p := range s.UnderWay {
		parts = append(parts, fmt.Sprintf("seed %d at %s/s", p.Seed, digits(p.Rate)))
	}
	line := k.write(dim, fmt.Sprintf(" %s, trials of %d requests", Clean(s.Method), s.N))
	if len(parts) > 0 && o.Outcome == "" {
		line = k.write(dim, " under way  ") + strings.Join(parts, ", ")
	}
	switch {
	case len(o.Seeds) == 0:
	case o.Outcome == "":
		line += k.write(dim, fmt.Sprintf(", %d of %d seeds settled", o.Settled, len(o.Seeds)))
	case o.Lo.Known():
		line += k.write(dim, fmt.Sprintf("; [ ]: 95 %% between %d seeds", len(o.Seeds)))
	}
	return line
}

// brackets are the highest rate that passed and the lowest that failed, by seed.
func (m *Model) brackets(o *Objective, w, rows int) []string {
	k := m.inks
	t := table{inks: k, w: w, cols: []column{
		{"seed", 8, false},
		{"passed at", 10, false},
		{"failed at", 10, false},
		{"width", 8, false},
		{"trials", 6, false},
		{"", 8, true},
	}}
	out := []string{t.head()}
	for i := range o.Seeds {
		s := &o.Seeds[i]
		if i == rows-1 && len(o.Seeds) > rows {
			return append(out, k.write(dim, fmt.Sprintf(" and %d seeds more", len(o.Seeds)-i)))
		}
		width, state := unknown, ""
		if s.Lo > 0 && s.Hi > 0 {
			width = fmt.Sprintf("%.1f %%", 100*(s.Hi/s.Lo-1))
		}
		if s.Settled {
			state = k.write(good, "settled")
		}
		out = append(out, t.row([]string{fmt.Sprint(s.Seed), bound(s.Lo), bound(s.Hi), width, fmt.Sprint(s.Trials), state}))
	}
	return out
}

// bound is a rate of a bracket; 0 is none yet.
func bound(v float64) string {
	if v == 0 {
		return unknown
	}
	return digits(v) + "/s"
}

// trialTable lists trials, latest first.
func (m *Model) trialTable(o *Objective, w, rows int) []string {
	k := m.inks
	met, fast := "attained", "good"
	if o.SLO == "" {
		met, fast = "ended ok", "delivered"
	}
	t := table{inks: k, w: w, cols: []column{
		{"trial", 5, false},
		{"rate", 9, false},
		{"seed", 6, false},
		{met, 11, false},
		{fast, 9, false},
		{"TTFT p95", 8, false},
		{"TPOT p95", 8, false},
		{"verdict", 8, true},
		{"E2E p50", 8, false},
		{"in flight", 9, false},
		{"lag p99", 8, false},
		{"ended", 50, true},
	}}
	if rows < 1 {
		return nil
	}
	out := []string{t.head()}
	last := len(o.Trials) - 1 - min(m.cursor, max(len(o.Trials)-1, 0))
	for i := last; i >= 0 && len(out) <= rows; i-- {
		out = append(out, t.row(trialRow(k, i+1, &o.Trials[i])))
	}
	return out
}

func trialRow(k *inks, number int, t *record.Trial) []string {
	ink := good
	switch t.Verdict {
	case "fail":
		ink = bad
	case "invalid":
		ink = warn
	case "none":
		ink = dim
	}
	ended := Clean(t.Stop)
	if t.Drift {
		ended += ", backlog grows"
	}
	if t.Verify {
		ended += ", verifies"
	}
	if t.Invalid != nil {
		ended += ": " + Clean(*t.Invalid)
	}
	goodput := unknown
	if fast := t.Goodput; fast != nil {
		goodput = digits(*fast) + "/s"
	} else if fast = t.Delivered; fast != nil && t.SLO == nil {
		goodput = digits(*fast) + "/s"
	}
	whole := t.Good+t.Bad == t.N && t.Stop == string(knee.Complete)
	part := func(v *int64) string { // the figures of a part would be of the quicker one
		if v == nil || !whole {
			return unknown
		}
		return span(monitor.Nanos(*v))
	}
	lag := unknown
	if t.LagP99 != nil {
		lag = span(monitor.Nanos(*t.LagP99))
	}
	return []string{
		fmt.Sprint(number), digits(t.Rate) + "/s", fmt.Sprint(t.Seed), attained(t), goodput, part(t.TTFTP95), part(t.TPOTP95),
		k.write(ink, Clean(t.Verdict)), part(t.E2EP50), fmt.Sprint(t.MaxInFlight), lag, ended,
	}
}

// attained is the share of the cohort that met the objective, as far as it is certain.
func attained(t *record.Trial) string {
	if t.N == 0 || t.Good+t.Bad == 0 || t.Verdict == "invalid" {
		return unknown
	}
	switch {
	case t.Good+t.Bad == t.N:
		return fmt.Sprintf("%.2f %%", 100*float64(t.Good)/float64(t.N))
	case t.Verdict == "pass":
		return fmt.Sprintf("≥ %.2f %%", 100*float64(t.Good)/float64(t.N))
	}
	return fmt.Sprintf("≤ %.2f %%", 100*(1-float64(t.Bad)/float64(t.N)))
}

// point is where a trial is on the curve: its rate, and the good ones of it, or without
// an objective what was delivered. Of a trial that was stopped early that is a bound,
// from below if it passed.
func point(t *record.Trial) (x, y float64) {
	switch {
	case t.N == 0 || t.SLO == nil && t.Delivered == nil:
		return t.Rate, math.NaN()
	case t.SLO == nil:
		return t.Rate, *t.Delivered
	}
	share := float64(t.Good) / float64(t.N)
	if t.Good+t.Bad < t.N && t.Verdict != "pass" {
		share = 1 - float64(t.Bad)/float64(t.N)
	}
	return t.Rate, t.Rate * share
}

// mark is how a trial looks: hollow where only a bound is known.
func mark(t *record.Trial) (ink, rune) {
	whole := t.Good+t.Bad == t.N
	switch {
	case t.Verdict == "invalid":
		return warn, '?'
	case t.SLO == nil:
		return accent, '●'
	case t.Verdict == "pass" && whole:
		return good, '●'
	case t.Verdict == "pass":
		return good, '○'
	case whole:
		return bad, '■'
	}
	return bad, '□'
}

// curve draws goodput over the rate that was offered; the dotted line is that of a
// target that serves all of it well.
func (m *Model) curve(o *Objective, w, h int) []string {
	const axis = 9
	k := m.inks
	top := 0.0
	for i := range o.Trials {
		top = max(top, o.Trials[i].Rate)
	}
	right0 := niceTop(top)
	width, rows := w-axis, h-2
	if width < 10 || rows < 2 {
		return nil
	}
	c := newChart(width, rows)
	c.draw(curve{ink: dim, x: []float64{0, 1}, y: []float64{0, right0}}, right0)
	lines := c.grid()
	if o.Lo.Known() && o.Hi.Known() && float64(o.Lo) <= right0 {
		for y := range lines {
			for _, v := range []float64{float64(o.Lo), float64(o.Hi)} {
				if x := place(v/right0, width); x < width {
					lines[y][x] = cell{accent, '│'}
				}
			}
		}
	}
	for i := range o.Trials {
		t := &o.Trials[i]
		x, y := point(t)
		if math.IsNaN(y) {
			continue
		}
		ink, r := mark(t)
		lines[rows-1-place(y/right0, rows)][place(x/right0, width)] = cell{ink, r}
	}
	legend := k.write(bold, " goodput over offered rate") + "   " + k.write(good, "●") + " pass  " + k.write(bad, "■") + " fail  " +
		k.write(dim, "○ □ bound only") + "   " + k.write(accent, "│") + k.write(dim, " interval")
	if o.SLO == "" {
		legend = k.write(bold, " delivered over offered rate") + "   " + k.write(accent, "●") + " a trial"
	}
	out := []string{legend}
	for y, line := range lines {
		label := ""
		switch y {
		case 0:
			label = digits(right0) + "/s"
		case rows - 1:
			label = "0"
		}
		out = append(out, k.write(dim, right(label, axis-2)+" │")+written(k, line))
	}
	ticks := slices.Repeat([]rune{' '}, width)
	for _, f := range []float64{0.25, 0.5, 0.75} {
		copy(ticks[place(f, width):], []rune(digits(f*right0)))
	}
	ticks[0] = '0'
	end := []rune(digits(right0) + "/s")
	copy(ticks[max(width-len(end), 0):], end)
	return append(out, k.write(dim, strings.Repeat(" ", axis)+string(ticks)))
}

// place is the cell of n for a share from 0 to 1.
func place(x float64, n int) int { return min(max(int(x*float64(n)), 0), n-1) }
