package tui

import (
	"fmt"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"goodput/loadgen/monitor"
)

// Source is where pictures come from. It is asked by one goroutine at a time.
type Source interface {
	Picture(q monitor.Query) (monitor.Picture, error)
}

// Screen is one of the views.
type Screen int

// The screens. Those of a run are the ones up to Heatmap.
const (
	Overview Screen = iota
	Replicas
	Spans
	Sessions
	Requests
	Heatmap
	Knee           // of an Experiment
	Compare        // of an Experiment
	NumScreens int = iota
)

// String is the title.
func (s Screen) String() string {
	return [...]string{"Overview", "Replicas", "Spans", "Sessions", "Requests", "Heatmap", "Knee", "Compare"}[s]
}

// OfRun are the screens of a run, in the order of their keys.
func OfRun() []Screen { return []Screen{Overview, Replicas, Spans, Sessions, Requests, Heatmap} }

// Options are what a Model needs beside its Source.
type Options struct {
	// Colors is what the terminal can show; termenv.Ascii: none.
	Colors termenv.Profile
	// Screens are those to show, in the order of their keys; nil: OfRun.
	Screens []Screen
	// Stop ends the load: the first call drains it, a second one does not. The view
	// stays until whoever runs the program ends it. nil: there is no load to stop, and
	// q ends the view.
	Stop func()
	// Steer adds so many points, in per cent of the planned rate, to the rate of the
	// arrivals to come. nil: + and - are of the window, as < and > always are.
	Steer func(points int64)
	// Save keeps what is seen, and says where. nil: that is not possible.
	Save func(Shot) (where string, err error)
	// Stale reports, once, that the terminal has missed parts of frames, so that it is
	// to be drawn anew. nil: it never does.
	Stale func() bool
}

// Shot is what is seen at one moment: the data, and the frame of W by H cells that shows
// it, with and without colours.
type Shot struct {
	Picture       *monitor.Picture
	Doing         Doing
	Frame, Colors string
	W, H          int
}

// every is how often a new picture is asked for.
const every = 100 * time.Millisecond

// Model is the state of the view. It implements tea.Model.
type Model struct {
	source Source
	lab    Experiment // source; nil: it is none
	opt    Options
	inks   *inks

	w, h    int
	screen  Screen
	pic     monitor.Picture
	doing   Doing
	have    bool // pic is one
	problem error
	window  int // index of windows
	filter  monitor.Filter

	paused bool
	help   bool
	typing bool
	typed  []rune
	note   string // answer to the last key
	stops  int
	failed bool // Requests lists the failed ones
	cursor int  // in lists
	back   int  // Knee is of the latest objective but so many
	opened bool // Requests shows one
	row    monitor.Sample
	byTTFT bool // Heatmap is of TTFT
}

var _ tea.Model = Model{}

// windows are what + and - go through.
func windows() []time.Duration {
	return []time.Duration{10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, monitor.MaxWindow}
}

// New returns a view of s, 80 by 24 until the terminal says otherwise.
func New(s Source, o Options) Model {
	if o.Screens == nil {
		o.Screens = OfRun()
	}
	lab, _ := s.(Experiment)
	return Model{source: s, lab: lab, opt: o, inks: newInks(o.Colors), w: 80, h: 24, window: 2, screen: o.Screens[0]}
}

// Messages of the view to itself.
type (
	received struct {
		pic   monitor.Picture
		doing Doing
		err   error
	}
	saved struct {
		where string
		err   error
	}
)

// Init asks for the first picture.
func (m Model) Init() tea.Cmd { return m.ask() }

func (m Model) query() monitor.Query {
	return monitor.Query{Window: windows()[m.window], Filter: m.filter}
}

// ask gets a picture, on a goroutine of the program's.
func (m Model) ask() tea.Cmd {
	q := m.query()
	return func() tea.Msg {
		p, err := m.source.Picture(q)
		out := received{pic: p, err: err}
		if m.lab != nil {
			out.doing = m.lab.Doing()
		}
		return out
	}
}

// Update implements tea.Model.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		return m, tea.ClearScreen
	case received:
		if m.problem = msg.err; msg.err == nil && !m.paused {
			m.pic, m.doing, m.have = msg.pic, msg.doing, true
		}
		// One message a picture: each makes the program draw a frame.
		ask := m.ask()
		next := tea.Tick(every, func(time.Time) tea.Msg { return ask() })
		if m.opt.Stale != nil && m.opt.Stale() {
			return m, tea.Batch(tea.ClearScreen, next)
		}
		return m, next
	case saved:
		m.note = "saved " + msg.where
		if msg.err != nil {
			m.note = "not saved: " + msg.err.Error()
		}
	case tea.MouseMsg:
		return m.mouse(msg), nil
	case tea.KeyMsg:
		return m.keyed(msg)
	}
	return m, nil
}

// keyed takes keys. Characters that were read at once, as a slow program finds them, are
// as many keys, unless they were pasted.
func (m Model) keyed(msg tea.KeyMsg) (tea.Model, tea.Cmd) {
	if m.typing {
		return m.typeKey(msg), nil
	}
	if msg.Type != tea.KeyRunes || len(msg.Runes) < 2 || msg.Paste {
		return m.key(msg)
	}
	var next tea.Model = m
	var cmds []tea.Cmd
	for _, r := range msg.Runes {
		var cmd tea.Cmd
		next, cmd = next.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt})
		cmds = append(cmds, cmd)
	}
	return next, tea.Sequence(cmds...)
}

// mouse chooses tabs by clicks, and rows by the wheel.
func (m Model) mouse(msg tea.MouseMsg) Model {
	switch {
	case msg.Button == tea.MouseButtonWheelUp:
		return m.move(-1)
	case msg.Button == tea.MouseButtonWheelDown:
		return m.move(1)
	case msg.Action != tea.MouseActionPress || msg.Button != tea.MouseButtonLeft || msg.Y != tabLine:
		return m
	}
	for i, at := range m.tabs() {
		if msg.X >= at[0] && msg.X < at[1] {
			return m.show(i)
		}
	}
	return m
}

// show chooses the screen at a place among those that there are.
func (m Model) show(at int) Model {
	if at < len(m.opt.Screens) {
		m.screen, m.opened, m.help, m.note, m.cursor = m.opt.Screens[at], false, false, "", 0
	}
	return m
}

// turn is show of the screen so many places on.
func (m Model) turn(by int) Model {
	n := len(m.opt.Screens)
	return m.show((slices.Index(m.opt.Screens, m.screen) + by + n) % n)
}

// move moves the cursor of lists.
func (m Model) move(by int) Model {
	if !m.opened {
		m.cursor = min(max(m.cursor+by, 0), max(m.listed()-1, 0))
	}
	return m
}

// listed is how many entries the screen lists.
func (m *Model) listed() int {
	switch s, c := m.doing.Search, m.doing.Comparison; {
	case m.screen == Requests:
		return len(m.list())
	case m.screen == Knee && s != nil && len(s.Objectives) > 0:
		return len(m.objective().Trials)
	case m.screen == Compare && c != nil:
		return len(c.Arms) - 1
	}
	return 0
}

// typeKey takes keys while a filter is typed.
func (m Model) typeKey(msg tea.KeyMsg) Model {
	switch msg.Type {
	case tea.KeyEnter:
		m.filter, m.typing, m.cursor = monitor.ParseFilter(string(m.typed)), false, 0
	case tea.KeyEsc, tea.KeyCtrlC:
		m.typing = false
	case tea.KeyBackspace:
		m.typed = m.typed[:max(0, len(m.typed)-1)]
	case tea.KeyCtrlU:
		m.typed = nil
	case tea.KeySpace, tea.KeyRunes:
		m.typed = append(slices.Clone(m.typed), msg.Runes...)
	}
	return m
}

// key takes all other keys.
func (m Model) key(msg tea.KeyMsg) (tea.Model, tea.Cmd) {
	m.note = ""
	switch k := msg.String(); k {
	case "q", "ctrl+c":
		return m.quit()
	case "1", "2", "3", "4", "5", "6", "7", "8":
		return m.show(int(k[0] - '1')), nil
	case "tab", "right", "l":
		return m.turn(1), nil
	case "shift+tab", "left", "h":
		return m.turn(-1), nil
	case "?":
		m.help = !m.help
	case "p", " ":
		m.paused = !m.paused
	case "+", "=", "-":
		by := 1
		if k == "-" {
			by = -1
		}
		if m.opt.Steer == nil {
			return m.widen(by), nil
		}
		return m, m.steer(int64(by) * points)
	case ">", ".":
		return m.widen(1), nil
	case "<", ",":
		return m.widen(-1), nil
	case "/":
		m.typing, m.typed = true, []rune(m.filter.String())
	case "s":
		return m, m.save()
	case "up", "k":
		return m.move(-1), nil
	case "down", "j":
		return m.move(1), nil
	case "pgup":
		return m.move(-10), nil
	case "pgdown":
		return m.move(10), nil
	case "f":
		m.failed, m.cursor, m.opened = !m.failed, 0, false
	case "t":
		m.byTTFT = !m.byTTFT
	case "o":
		m.back, m.cursor = m.back+1, 0
	case "enter":
		if l := m.list(); m.screen == Requests && m.cursor < len(l) {
			m.opened, m.row = true, l[m.cursor]
		}
	case "esc":
		if !m.opened && !m.help {
			m.filter = monitor.Filter{}
		}
		m.opened, m.help = false, false
	}
	return m, nil
}

// points of the planned rate are what a key changes it by.
const points = 10

// widen makes the window longer or shorter.
func (m Model) widen(by int) Model {
	m.window = min(max(m.window+by, 0), len(windows())-1)
	return m
}

func (m Model) steer(by int64) tea.Cmd {
	return func() tea.Msg {
		m.opt.Steer(by)
		return nil
	}
}

func (m Model) quit() (tea.Model, tea.Cmd) {
	if m.opt.Stop == nil {
		return m, tea.Quit
	}
	m.stops++
	return m, func() tea.Msg {
		m.opt.Stop()
		return nil
	}
}

func (m Model) save() tea.Cmd {
	if m.opt.Save == nil || !m.have {
		return nil
	}
	plainly, colorful := m, m
	plainly.inks, colorful.inks = new(inks), newInks(termenv.ANSI)
	return func() tea.Msg {
		where, err := m.opt.Save(Shot{Picture: &plainly.pic, Doing: m.doing, Frame: plainly.View(), Colors: colorful.View(), W: m.w, H: m.h})
		return saved{where, err}
	}
}

// list is what Requests lists.
func (m *Model) list() []monitor.Sample {
	if m.failed {
		return m.pic.Failed
	}
	return m.pic.Slowest
}

// nothing reports whether the filter of the picture has let nothing pass.
func (m *Model) nothing() bool {
	p, f := &m.pic, monitor.ParseFilter(m.pic.Filter)
	if f == (monitor.Filter{}) || p.E2E.N > 0 || len(p.Slowest)+len(p.Failed) > 0 {
		return false
	}
	ofSessions := f.Key == "" || f.Key == "tenant" // others let all sessions pass
	return !ofSessions || len(p.Sessions.Live)+len(p.Sessions.Ended) == 0
}

// status is what the last line says instead of the keys; empty: nothing.
func (m *Model) status() (ink, string) {
	switch {
	case m.typing:
		return accent, "filter (class=, tenant=, arm=, replica=, outcome= or text): " + Clean(string(m.typed)) + "▏"
	case m.problem != nil:
		return bad, Clean(m.problem.Error())
	case m.stops == 1:
		return warn, "no more arrivals, waiting for what is in flight; q again to stop now"
	case m.stops > 1:
		return warn, "stopping"
	case m.note != "":
		return accent, Clean(m.note)
	case m.have && !m.paused && m.nothing():
		return warn, fmt.Sprintf("no request with %s among the latest; esc shows all", Clean(m.pic.Filter))
	case m.paused:
		return warn, fmt.Sprintf("view paused at %s, the load goes on; p to go on", clockText(m.pic.Elapsed))
	}
	return plain, ""
}
