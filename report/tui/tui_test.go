package tui_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
	"goodput/report/tui"
)

var update = flag.Bool("update", false, "write the frames in testdata anew")

const ms = monitor.Nanos(time.Millisecond)

// seeded is a picture of a run with a stall, a failing replica and sessions.
func seeded() monitor.Picture {
	b := monitor.NewBoard(monitor.About{Title: "seeded run", Total: 1200, SLO: monitor.Promise{TTFT: 500 * ms, TPOT: 25 * ms, E2E: monitor.Unknown}})
	s := monitor.Snapshot{Elapsed: clock.Time(50 * time.Second), Total: 1200, Sent: 500, InFlight: 20, OutputTokens: 480 * 64}
	for i := range 480 {
		at := clock.Time(i+1) * clock.Time(100*time.Millisecond)
		var r record.Request
		r.Reset()
		r.Seq, r.RequestID, r.Final, r.Class = int64(i), fmt.Sprint("id-", i), true, []string{"chat", "code"}[i%2]
		r.Replica = fmt.Sprint(i % 4)
		ttft := clock.Time(40+i%7*10) * clock.Time(time.Millisecond)
		if i/10 == 30 { // a stall of a second
			ttft *= 12
		}
		decode := clock.Time(64*10+i%5) * clock.Time(time.Millisecond)
		r.Intended = at - ttft - decode
		r.Dispatched, r.FirstToken, r.LastToken = r.Intended+clock.Time(i%3)*1000, r.Intended+ttft, at
		r.PromptTokens, r.CachedTokens, r.OutputTokens = 512, int32(128*(i%4)), 64
		r.ServerSpentFrontEnd, r.ServerSpentQueue, r.ServerSpentPrefill, r.ServerSpentDecode = 1e6, int64(ttft)/2, int64(ttft)/3, int64(decode)
		r.ServerE2E = int64(ttft + decode)
		r.SLOMet = record.Yes
		if ttft > clock.Time(500*ms) {
			r.SLOMet = record.No
		}
		if i%40 == 39 {
			r.Outcome, r.Error, r.HTTPStatus, r.SLOMet = record.HTTP429, "server\x1b[31m says no", 429, record.No
			r.FirstToken, r.LastToken, r.OutputTokens = clock.Never, clock.Never, record.Null32
		}
		s.Outcomes[r.Outcome]++
		b.Started(r.Dispatched)
		b.Ended(at, &r)
	}
	b.Session(&record.Session{
		SessionID: "s1", Outcome: record.SessionCompleted, Ended: clock.Time(9 * time.Second), SCT: int64(8 * time.Second), ModelTime: int64(4 * time.Second),
		WaitTime: int64(3 * time.Second), Unloaded: int64(2 * time.Second), StepsPlanned: 7, StepsOK: 7,
	})
	g := &monitor.Gauges{Sessions: monitor.SessionGauge{Scheduled: 9, Live: 3, Completed: 5, Failed: 1}}
	for i := range 3 {
		g.Live = append(g.Live, monitor.LiveSession{
			ID: fmt.Sprint("l", i), Tenant: "acme", Arrival: monitor.Nanos(20+i) * 1000 * ms, Age: monitor.Nanos(30-i) * 1000 * ms,
			ModelTime: 12 * 1000 * ms, WaitTime: monitor.Nanos(i) * 1000 * ms, StepsPlanned: 9, StepsOK: int32(i), InFlight: monitor.Whole(i),
		})
	}
	for i := range 4 {
		g.Replicas = append(g.Replicas, monitor.ReplicaGauge{Name: fmt.Sprint(i), Running: 3 + i, Waiting: i, KVUsed: 0.3 * float64(i+1) / 1.2, Preemptions: int64(i), Outstanding: 4 + i, Stale: monitor.Nanos(i) * ms})
	}
	p := b.Draw(&s, g, monitor.Query{Window: time.Minute})
	p.CPU = 0.25
	return p
}

// fixed is a Source of one picture.
type fixed struct {
	pic monitor.Picture
	err error
}

func (f fixed) Picture(monitor.Query) (monitor.Picture, error) { return f.pic, f.err }

// shown is a model that has received its picture and these keys.
func shown(w, h int, o tui.Options, p monitor.Picture, keys ...string) tea.Model {
	var m tea.Model = tui.New(fixed{pic: p}, o)
	m, _ = m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	m, _ = m.Update(m.Init()())
	return press(m, keys...)
}

func press(m tea.Model, keys ...string) tea.Model {
	for _, k := range keys {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		switch k {
		case "enter":
			msg = tea.KeyMsg{Type: tea.KeyEnter}
		case "esc":
			msg = tea.KeyMsg{Type: tea.KeyEsc}
		case "tab":
			msg = tea.KeyMsg{Type: tea.KeyTab}
		case "down":
			msg = tea.KeyMsg{Type: tea.KeyDown}
		}
		m, _ = m.Update(msg)
	}
	return m
}

var sizes = [][2]int{{80, 24}, {120, 40}, {220, 60}}

// TestFrames compares each screen at each size with the frame that was looked at.
func TestFrames(t *testing.T) {
	p := seeded()
	for _, size := range sizes {
		for i, s := range tui.OfRun() {
			name := fmt.Sprintf("%v-%dx%d.txt", s, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				golden(t, name, shown(size[0], size[1], tui.Options{Colors: termenv.Ascii}, p, fmt.Sprint(i+1)).View())
			})
		}
	}
}

// golden compares a frame with the one in testdata.
func golden(t *testing.T, name, frame string) {
	t.Helper()
	got := frame + "\n"
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// TestFramesFill: a frame has as many lines as the terminal, each of its width, in
// colours and without, whatever is shown.
func TestFramesFill(t *testing.T) {
	for _, p := range []monitor.Picture{seeded(), {}, {Elapsed: monitor.Unknown, Window: 1}} {
		for _, size := range append(sizes, [2]int{40, 10}, [2]int{60, 15}, [2]int{81, 200}) {
			for _, colors := range []termenv.Profile{termenv.Ascii, termenv.ANSI, termenv.ANSI256, termenv.TrueColor} {
				for _, keys := range [][]string{{"1"}, {"2"}, {"3"}, {"4"}, {"5"}, {"5", "f"}, {"5", "enter"}, {"6"}, {"6", "t"}, {"?"}, {"/", "x"}, {"p"}} {
					v := shown(size[0], size[1], tui.Options{Colors: colors}, p, keys...).View()
					lines := strings.Split(v, "\n")
					if len(lines) != size[1] {
						t.Fatalf("%v %v: %d lines", size, keys, len(lines))
					}
					for _, l := range lines {
						if w := ansi.StringWidth(l); w != size[0] {
							t.Fatalf("%v %v: %d cells in %q", size, keys, w, l)
						}
					}
					if colors == termenv.Ascii && strings.Contains(v, "\x1b") {
						t.Fatalf("%v: escape sequences without colours", keys)
					}
				}
			}
		}
	}
}

// TestNumbersAreThePictures: what stands on the screens is what is in the picture.
func TestNumbersAreThePictures(t *testing.T) {
	p := seeded()
	msText := func(n monitor.Nanos) string { return fmt.Sprintf("%.1f ms", float64(n)/1e6) }
	cases := []struct {
		keys []string
		want []string
	}{
		{[]string{"1"}, []string{
			fmt.Sprintf("%d/%d", p.Sent, p.Total), fmt.Sprintf("in flight %d", p.InFlight), "completed 468", "errors 12 http_429 12",
			fmt.Sprintf("attainment %.1f %%", 100*float64(p.Attainment)), fmt.Sprintf("offered %.2f/s", float64(p.Offered)),
			"p50 " + msText(p.TTFT.P50), "SLO 500 ms", "CPU 0.25 cores",
		}},
		{[]string{"2"}, []string{fmt.Sprintf("skew %.2f", float64(p.Skew)), "75 %", "100 ms", fmt.Sprintf("%.1f %%", 100*float64(p.Replicas[2].Share))}},
		{[]string{"3"}, []string{
			fmt.Sprintf("%d of %d successes", p.Spans.Covered, p.Spans.N), msText(p.Spans.Parts[3].Mean),
			fmt.Sprintf("%s %d %.0f ms %.2f µs 1.00 ms %s", p.Replicas[2].Name, p.Replicas[2].Spans.Covered, float64(p.Replicas[2].Spans.E2E)/1e6,
				float64(p.Replicas[2].Spans.Parts[0].Mean)/1e3, msText(p.Replicas[2].Spans.Parts[3].Mean)),
		}},
		{[]string{"4"}, []string{"scheduled 9", "live 3", "completed 5", "7/7", "8.00 s", "2.00×", "l0 waits 0/9 30.0 s", "l2 2 sent 2/9 28.0 s 12.0 s 2.00 s – 00:22 – acme"}},
		{[]string{"5"}, []string{fmt.Sprintf("by E2E: %d", len(p.Slowest)), fmt.Sprint(p.Slowest[0].Seq)}},
		{[]string{"5", "f"}, []string{fmt.Sprintf("latest first: %d", len(p.Failed)), "479", "http_429"}},
		{[]string{"5", "f", "enter"}, []string{"request 479", "id-479", "status 429", "server says no"}},
	}
	for _, c := range cases {
		v := shown(200, 60, tui.Options{Colors: termenv.Ascii}, p, c.keys...).View()
		for _, want := range c.want {
			if !strings.Contains(strings.Join(strings.Fields(v), " "), strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%v: no %q in\n%s", c.keys, want, v)
			}
		}
	}
}

func TestHeatmapShowsTheStall(t *testing.T) {
	v := shown(120, 40, tui.Options{Colors: termenv.Ascii}, seeded(), "6", "t").View()
	lines := strings.Split(v, "\n")
	for _, l := range lines {
		if strings.Contains(l, "1.00 s │") || strings.Contains(l, "1.58 s │") {
			if strings.ContainsAny(l, "·░▒▓█") {
				return
			}
		}
	}
	t.Errorf("no requests near a second in\n%s", v)
}

func TestKeys(t *testing.T) {
	stops := 0
	o := tui.Options{Colors: termenv.Ascii, Stop: func() { stops++ }, Save: func(tui.Shot) (string, error) { return "", errors.New("disk full") }}
	m := shown(80, 24, o, seeded())
	has := func(want string) {
		t.Helper()
		if v := m.View(); !strings.Contains(v, want) {
			t.Errorf("no %q in\n%s", want, v)
		}
	}
	m = press(m, "tab", "tab")
	has("[3 Spans]")
	m = press(m, "-", "-", "-")
	has("last 10 s")
	m = press(m, "/", "class=chat", "enter")
	has("/class=chat")
	m = press(m, "p")
	has("view paused")
	m = press(m, "p")
	m, cmd := m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("s")})
	m, _ = m.Update(cmd())
	has("not saved: disk full")
	m, _ = m.Update(tea.MouseMsg{X: 3, Y: 1, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
	has("[1 Overview]")
	for i := range 2 {
		m, cmd = m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")})
		if msg := cmd(); msg != nil || stops != i+1 {
			t.Errorf("q: %v, %d stops", msg, stops)
		}
	}
	has("stopping")
}

func TestProblemIsShown(t *testing.T) {
	var m tea.Model = tui.New(fixed{err: errors.New("nobody there")}, tui.Options{Colors: termenv.Ascii})
	m, _ = m.Update(m.Init()())
	if v := m.View(); !strings.Contains(v, "nobody there") {
		t.Error(v)
	}
}

// TestProgramPutsTheTerminalBack runs the program on a buffer.
func TestProgramPutsTheTerminalBack(t *testing.T) {
	in, keys := io.Pipe()
	var out bytes.Buffer
	p := tui.Start(tui.New(fixed{pic: seeded()}, tui.Options{Colors: termenv.Ascii}), in, &out)
	for _, k := range []string{"2", "3q"} {
		if _, err := keys.Write([]byte(k)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	_ = keys.Close()
	for _, want := range []string{"\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestColors(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want termenv.Profile
	}{
		{map[string]string{"TERM": "xterm-256color"}, termenv.ANSI256},
		{map[string]string{"TERM": "xterm"}, termenv.ANSI},
		{map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}, termenv.TrueColor},
		{map[string]string{"TERM": "xterm-256color", "NO_COLOR": "1"}, termenv.Ascii},
		{map[string]string{"TERM": "dumb"}, termenv.Ascii},
	} {
		if got := tui.Colors(func(n string) string { return c.env[n] }); got != c.want {
			t.Errorf("%v: %v", c.env, got.Name())
		}
	}
}

func BenchmarkView(b *testing.B) {
	p := seeded()
	for i, s := range tui.OfRun() {
		b.Run(s.String(), func(b *testing.B) {
			b.ReportAllocs()
			m := shown(220, 60, tui.Options{Colors: termenv.TrueColor}, p, fmt.Sprint(i+1))
			for b.Loop() {
				_ = m.View()
			}
		})
	}
}

// TestSteerKeys: + and - change the rate only where that was allowed, and what the picture
// says of it is always in sight.
func TestSteerKeys(t *testing.T) {
	p := seeded()
	p.RatePercent, p.RateChanges = 120, 2
	var points []int64
	m := shown(120, 40, tui.Options{Colors: termenv.Ascii, Steer: func(by int64) { points = append(points, by) }}, p)
	for _, k := range []string{"+", "=", "-", ">", "<", "<"} {
		var cmd tea.Cmd
		if m, cmd = m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}); cmd != nil {
			cmd()
		}
	}
	if diff := cmp.Diff([]int64{10, 10, -10}, points); diff != "" {
		t.Error(diff)
	}
	for i := range tui.OfRun() {
		if v := press(m, fmt.Sprint(i+1)).View(); !strings.Contains(v, "rate 120 % of the planned, by hand") || !strings.Contains(v, "last 30 s") || !strings.Contains(v, "+/- rate") {
			t.Error(v)
		}
	}
	if v := press(m, "?").View(); !strings.Contains(v, "10 % of the planned more or less") {
		t.Error(v)
	}
	if v := press(shown(120, 40, tui.Options{Colors: termenv.Ascii}, seeded()), "-").View(); !strings.Contains(v, "last 30 s") || strings.Contains(v, "by hand") {
		t.Error(v)
	}
}

// TestKeysAtOnce: a program that reads late finds several keys in one text.
func TestKeysAtOnce(t *testing.T) {
	m := shown(120, 40, tui.Options{Colors: termenv.Ascii}, seeded(), "3--/class=chat")
	if v := m.View(); !strings.Contains(v, "[3 Spans]") || !strings.Contains(v, "last 10 s") || !strings.Contains(v, "text): class=chat") {
		t.Error(v)
	}
	pasted, _ := shown(120, 40, tui.Options{Colors: termenv.Ascii}, seeded()).Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("3q"), Paste: true})
	if v := pasted.View(); !strings.Contains(v, "[1 Overview]") {
		t.Error(v)
	}
}
