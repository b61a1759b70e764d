package tui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
	"goodput/report/tui"
)

// gauged is a Source over a board at 40 s, with levels.
type gauged struct {
	board  *monitor.Board
	levels *monitor.Gauges
}

func (g gauged) Picture(q monitor.Query) (monitor.Picture, error) {
	return g.board.Draw(&monitor.Snapshot{Elapsed: clock.Time(40 * time.Second)}, g.levels, q), nil
}

// crowded is a run with 40 live and 30 ended sessions of three tenants in turn.
func crowded() gauged {
	b := monitor.NewBoard(monitor.About{Title: "sessions"})
	tenant := func(i int) string { return []string{"acme", "umbrella", "initech"}[i%3] }
	for i := range 30 {
		b.Session(&record.Session{
			SessionID: fmt.Sprint("e", i), Tenant: tenant(i), Outcome: record.SessionCompleted, Ended: clock.Time(i) * clock.Time(time.Second),
			SCT: int64(i+1) * int64(time.Second), ModelTime: record.Null, WaitTime: record.Null, Unloaded: record.Null, StepsPlanned: 3, StepsOK: 3,
		})
	}
	g := &monitor.Gauges{Sessions: monitor.SessionGauge{Scheduled: 70, Live: 40, Completed: 30}}
	for i := range 40 {
		g.Live = append(g.Live, monitor.LiveSession{ID: fmt.Sprint("l", i), Tenant: tenant(i), ModelTime: monitor.Unknown, WaitTime: monitor.Unknown, StepsPlanned: 5})
	}
	return gauged{b, g}
}

// TestSessionsOfTenant: under a filter the lists, the completion times and the number of
// those that found no line are of the tenant's sessions; the counts say that they are of
// all.
func TestSessionsOfTenant(t *testing.T) {
	for _, c := range []struct {
		filter string
		size   [2]int
		want   []string
		not    []string
	}{
		{"", [2]int{220, 60}, []string{" scheduled 70 live 40", "latest 30: p50 15.0 s", "l0 ", "l1 ", "e29 "}, []string{"of all"}},
		{"tenant=umbrella", [2]int{220, 60}, []string{"of all scheduled 70 live 40", "latest 10: p50 14.0 s p95 29.0 s", "l1 ", "l37 ", "e1 ", "e28 "}, []string{"acme", "initech", " more"}},
		{"acme", [2]int{80, 24}, []string{"latest 10: p50 13.0 s", "l0 ", "l3 ", "and 10 more", "unfinished 0", "e27 "}, []string{" l1 ", " e29 "}},
		{"l4", [2]int{220, 60}, []string{"latest 0: p50 –", "l4 ", "none has ended yet"}, []string{"l3 ", "e29 "}},
		{"class=chat", [2]int{220, 60}, []string{"l0 ", "l1 ", "e29 "}, nil}, // of requests
		{"tenant=nobody", [2]int{220, 60}, []string{"latest 0: p50 –", " none"}, []string{"acme", "umbrella", "initech"}},
	} {
		t.Run(c.filter, func(t *testing.T) {
			m, _ := filtered(crowded(), "4", c.filter).Update(tea.WindowSizeMsg{Width: c.size[0], Height: c.size[1]})
			v := m.View()
			text := squeezed(v)
			for _, want := range c.want {
				if !strings.Contains(text, squeezed(want)) {
					t.Errorf("no %q in\n%s", want, v)
				}
			}
			for _, not := range c.not {
				if strings.Contains(v, not) {
					t.Errorf("%q in\n%s", not, v)
				}
			}
		})
	}
}

// TestRouterCosts: the Spans screen of a comparison with an arm past the router has all
// figures of what that costs, with their intervals, at 80 columns; beside the waterfall of
// the run under way if there is one.
func TestRouterCosts(t *testing.T) {
	l := comparing()
	none := monitor.None()
	l.doing.Comparison.Costs = []tui.RouterCost{
		{Arm: "nginx", Figure: "d_ttft mean", Via: 1_570_000, Direct: 669_000, Cost: 0.9, Lo: 0.71, Hi: 1.09},
		{Arm: "nginx", Figure: "ttft_send p50", Via: 253 * ms, Direct: 217 * ms, Cost: 35.971, Lo: -396.455, Hi: 468.398},
		{Arm: "nginx", Figure: "d_tail mean", Via: -83_500, Direct: 316_000, Cost: -0.3995, Lo: none, Hi: none},
		{Arm: "nginx", Figure: "d_e2e mean", Via: 3000 * ms, Direct: 1 * ms, Cost: 2999, Lo: 1, Hi: 20000},
	}
	o := tui.Options{Colors: termenv.Ascii, Screens: []tui.Screen{tui.Compare, tui.Spans}}
	want := []string{
		"router cost: through it less direct, of 4 seeds; d_: client less server", "arm figure through direct cost, ms 95 % between seeds",
		"nginx d_ttft mean 1.57 ms 669 µs +0.900 [+0.710, +1.090]", "ttft_send p50 253 ms 217 ms +36.0 [-396.5, +468.4]",
		"d_tail mean -83.5 µs 316 µs -0.400\n", "d_e2e mean 3.00 s 1.00 ms +2999 [+1.000, +20000]",
	}
	over := looked(80, 24, l, o, "2").View()
	l.fixed.pic = seeded()
	under := looked(220, 60, l, o, "2").View()
	for name, v := range map[string]string{"over": over, "under way": under} {
		var lines []string
		for line := range strings.Lines(v) {
			lines = append(lines, squeezed(line))
		}
		text := strings.Join(lines, "\n")
		for _, x := range want {
			if !strings.Contains(text, x) {
				t.Errorf("%s: no %q in\n%s", name, x, v)
			}
		}
		if strings.Contains(v, "…") {
			t.Errorf("%s: something is cut in\n%s", name, v)
		}
		if has := strings.Contains(v, "the server accounts for"); has != (name == "under way") {
			t.Errorf("%s: a waterfall: %v", name, has)
		}
	}
	l.doing.Comparison.Paired = 1
	if v := looked(80, 24, l, o, "2").View(); !strings.Contains(v, "of 1 seed; d_") || !strings.Contains(v, "no interval yet") {
		t.Errorf("one seed:\n%s", v)
	}
}

// TestSessionsOfRows: where rows tell of sessions the screen says so, and has no number of
// what they do not tell.
func TestSessionsOfRows(t *testing.T) {
	g := crowded()
	g.levels.Seen = true
	for i := range g.levels.Live {
		x := &g.levels.Live[i]
		x.InFlight, x.Queued, x.StepsPlanned, x.StepsOK = monitor.Whole(monitor.Unknown), monitor.Whole(monitor.Unknown), 0, 2
	}
	v := filtered(g, "4", "").View()
	text := squeezed(v)
	for _, want := range []string{" live 40 whose first step is over completed 30 failed 0", "l0 – 2 0 ms – – –"} {
		if !strings.Contains(text, squeezed(want)) {
			t.Errorf("no %q in\n%s", want, v)
		}
	}
	if strings.Contains(v, "scheduled") || strings.Contains(v, "waits 2") {
		t.Errorf("more than rows tell in\n%s", v)
	}
}
