package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
	"goodput/report/tui"
)

// drawn is a Source over a board that has all that it will have.
type drawn struct {
	board *monitor.Board
	snap  monitor.Snapshot
}

func (d drawn) Picture(q monitor.Query) (monitor.Picture, error) {
	return d.board.Draw(&d.snap, nil, q), nil
}

// mixed is a board of 60 requests, each of a class, a tenant, an arm and a replica, with a
// TTFT by its number; every tenth failed.
func mixed() (drawn, []record.Request) {
	d := drawn{monitor.NewBoard(monitor.About{Title: "a mix"}), monitor.Snapshot{Elapsed: clock.Time(30 * time.Second), Sent: 60}}
	var all []record.Request
	for i := range 60 {
		at := clock.Time(i+1) * clock.Time(400*time.Millisecond)
		var r record.Request
		r.Reset()
		r.Seq, r.Final = int64(i), true
		r.Class, r.Tenant = []string{"chat", "code"}[i%2], []string{"acme", "umbrella", "initech"}[i%3]
		r.Arm, r.Replica = []string{"left", "right"}[i/30], fmt.Sprint(i%4)
		r.Intended = at - clock.Time(100+i)*clock.Time(time.Millisecond)
		r.Dispatched, r.FirstToken, r.LastToken = r.Intended, at-clock.Time(50*time.Millisecond), at
		r.OutputTokens, r.ServerE2E = 8, int64(80*time.Millisecond)
		if i%10 == 9 {
			r.Outcome, r.HTTPStatus = record.HTTP5xx, 503
		}
		d.snap.Outcomes[r.Outcome]++
		d.board.Ended(at, &r)
		all = append(all, r)
	}
	return d, all
}

// filtered types a filter, and receives the picture that it asks for.
func filtered(s tui.Source, screen, filter string) tea.Model {
	var m tea.Model = tui.New(s, tui.Options{Colors: termenv.Ascii})
	m, _ = m.Update(tea.WindowSizeMsg{Width: 160, Height: 40})
	m = press(m, screen, "/", filter, "enter")
	m, _ = m.Update(m.Init()())
	return m
}

func squeezed(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestFilterOnScreen: with a filter by any property the numbers on each screen are those of
// the requests that have it, counted here from the rows.
func TestFilterOnScreen(t *testing.T) {
	source, rows := mixed()
	for _, c := range []struct {
		filter string
		has    func(*record.Request) bool
	}{
		{"class=code", func(r *record.Request) bool { return r.Class == "code" }},
		{"tenant=umbrella", func(r *record.Request) bool { return r.Tenant == "umbrella" }},
		{"arm=right", func(r *record.Request) bool { return r.Arm == "right" }},
		{"replica=3", func(r *record.Request) bool { return r.Replica == "3" }},
		{"outcome=http_5xx", func(r *record.Request) bool { return r.Outcome == record.HTTP5xx }},
		{"init", func(r *record.Request) bool { return r.Tenant == "initech" }},
		{"", func(*record.Request) bool { return true }},
	} {
		t.Run(c.filter, func(t *testing.T) {
			var ok, failed int
			by := map[string]int{}
			for i := range rows {
				r := &rows[i]
				switch {
				case !c.has(r):
					continue
				case r.Outcome == record.OK:
					ok++
				default:
					failed++
				}
				by[r.Replica]++
			}
			for _, x := range []struct {
				screen string
				want   []string
			}{
				{"1", []string{fmt.Sprintf("achieved %.2f/s", float64(ok)/30), "completed 54", "errors 6 http_5xx 6"}}, // counts are of the run
				{"3", []string{fmt.Sprintf("accounts for %d of %d successes", ok, ok)}},
				{"5", []string{fmt.Sprintf("by E2E: %d", ok)}},
				{"5f", []string{fmt.Sprintf("latest first: %d", failed)}},
			} {
				v := filtered(source, x.screen, c.filter).View()
				for _, want := range x.want {
					if ok == 0 && (x.screen == "3" || x.screen == "1") {
						want = map[string]string{"1": "achieved 0.00/s", "3": "no request has succeeded"}[x.screen]
					}
					if !strings.Contains(squeezed(v), want) {
						t.Errorf("screen %s: no %q in\n%s", x.screen, want, v)
					}
				}
				if c.filter != "" && !strings.Contains(v, "/"+c.filter) {
					t.Errorf("screen %s does not say that it is filtered:\n%s", x.screen, v)
				}
				if strings.Contains(v, "no request with") {
					t.Errorf("screen %s says that nothing passes:\n%s", x.screen, v)
				}
			}
			table := filtered(source, "2", c.filter).View()
			for name, n := range by {
				row := ""
				for _, l := range strings.Split(table, "\n") {
					if strings.HasPrefix(l, " "+name+" ") {
						row = squeezed(l)
					}
				}
				share := fmt.Sprintf(" %.1f %% ", 100*float64(n)/float64(ok+failed))
				if !strings.Contains(row, share) || !strings.Contains(row, fmt.Sprintf(" – %d ", n)) {
					t.Errorf("replica %s has %d requests, and is shown as %q", name, n, row)
				}
			}
		})
	}
}

// TestFilterOfNothing: a value that nothing has is said to be one, until the filter is
// taken away.
func TestFilterOfNothing(t *testing.T) {
	source, _ := mixed()
	for _, filter := range []string{"class=poetry", "tenant=acm", "arm=middle", "replica=4", "outcome=http_429", "nobody"} {
		for _, screen := range []string{"1", "2", "5"} {
			m := filtered(source, screen, filter)
			if v := m.View(); !strings.Contains(v, "no request with "+filter+" among the latest; esc shows all") {
				t.Errorf("screen %s, %s: it is not said\n%s", screen, filter, v)
			}
			m = press(m, "esc")
			m, _ = m.Update(m.Init()())
			if v := m.View(); strings.Contains(v, "no request with") || strings.Contains(v, "/"+filter) {
				t.Errorf("screen %s, after esc:\n%s", screen, v)
			}
		}
	}
}

// TestClicks: a click on any cell of a tab chooses its screen, at any width where it is
// seen, and one beside them none.
func TestClicks(t *testing.T) {
	click := func(m tea.Model, x, y int) tea.Model {
		m, _ = m.Update(tea.MouseMsg{X: x, Y: y, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
		m, _ = m.Update(tea.MouseMsg{X: x, Y: y, Action: tea.MouseActionRelease, Button: tea.MouseButtonLeft})
		return m
	}
	for _, screens := range [][]tui.Screen{tui.OfRun(), append([]tui.Screen{tui.Knee, tui.Compare}, tui.OfRun()...)} {
		for _, w := range []int{80, 120, 220} {
			m := shown(w, 24, tui.Options{Colors: termenv.Ascii, Screens: screens}, seeded())
			for i, s := range screens {
				title := fmt.Sprintf("%d %v", i+1, s)
				bar := strings.Split(m.View(), "\n")[1]
				before, _, seen := strings.Cut(bar, title)
				if !seen {
					continue
				}
				at := ansi.StringWidth(before)
				for _, x := range []int{at, at + len(title) - 1} {
					m = click(press(m, fmt.Sprint((i+1)%len(screens)+1)), x, 1)
					if v := m.View(); !strings.Contains(v, "["+title+"]") {
						t.Errorf("a click on %d of %d cells does not choose %s:\n%s", x, w, title, v)
					}
				}
				for _, aside := range [][2]int{{at, 0}, {at, 2}, {0, 1}} {
					if v := click(m, aside[0], aside[1]).View(); !strings.Contains(v, "["+title+"]") {
						t.Errorf("a click at %v leaves %s", aside, title)
					}
				}
			}
		}
	}
}

// TestWheel: the wheel goes through a list.
func TestWheel(t *testing.T) {
	m := shown(120, 24, tui.Options{Colors: termenv.Ascii}, seeded(), "5")
	chosen := func() string {
		for _, l := range strings.Split(m.View(), "\n") {
			if strings.HasPrefix(l, ">") {
				return l
			}
		}
		return ""
	}
	first := chosen()
	m, _ = m.Update(tea.MouseMsg{Button: tea.MouseButtonWheelDown, Action: tea.MouseActionPress})
	if second := chosen(); first == "" || second == first {
		t.Errorf("the wheel moves from %q to %q", first, second)
	}
	m, _ = m.Update(tea.MouseMsg{Button: tea.MouseButtonWheelUp, Action: tea.MouseActionPress})
	if chosen() != first {
		t.Errorf("the wheel moves back to %q, not to %q", chosen(), first)
	}
}

// counting is a Source whose pictures differ, and that counts them.
type counting struct{ n *int64 }

func (c counting) Picture(q monitor.Query) (monitor.Picture, error) {
	*c.n++
	p := monitor.Blank("a run")
	p.Total, p.Sent, p.Elapsed = 1000, *c.n, monitor.Nanos(*c.n)*1000*ms
	p.Window, p.Filter = monitor.Nanos(q.Window), q.Filter.String()
	return p, nil
}

// TestPauseHoldsTheView and not the load: pictures are asked for as before, and the latest
// is shown when the view goes on. Meanwhile nothing says of what is seen what was chosen
// later.
func TestPauseHoldsTheView(t *testing.T) {
	var n int64
	var m tea.Model = tui.New(counting{&n}, tui.Options{Colors: termenv.Ascii})
	next := func() { m, _ = m.Update(m.Init()()) }
	next()
	m = press(m, "p")
	held := m.View()
	if !strings.Contains(held, "sent 1/1000") || !strings.Contains(held, "view paused at 00:01, the load goes on") {
		t.Error(held)
	}
	for range 5 {
		next()
	}
	if v := m.View(); v != held || n != 6 {
		t.Errorf("after %d pictures a paused view is\n%s\nand was\n%s", n, v, held)
	}
	m = press(m, "-", "/", "class=chat", "enter")
	next()
	if v := m.View(); v != held {
		t.Errorf("with other keys a paused view is\n%s\nand was\n%s", v, held)
	}
	m = press(m, "p")
	next()
	if v := m.View(); !strings.Contains(v, "sent 8/1000") || strings.Contains(v, "paused") || !strings.Contains(v, "/class=chat  last 30 s") {
		t.Errorf("%d pictures, shown is\n%s", n, v)
	}
}
