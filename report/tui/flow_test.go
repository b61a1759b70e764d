package tui_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"goodput/loadgen/monitor"
	"goodput/report/tui"
)

// output is what a program writes, for who waits for a part of it.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	since int // where to look from
	more  chan struct{}
}

func newOutput() *output { return &output{more: make(chan struct{}, 1)} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(b)
}

// await waits until want has been written since the last call, and returns what was.
func (o *output) await(t *testing.T, want string) string {
	t.Helper()
	limit := time.NewTimer(30 * time.Second)
	defer limit.Stop()
	for {
		o.mu.Lock()
		text := o.text.String()[o.since:]
		found := strings.Contains(text, want)
		if found {
			o.since = o.text.Len()
		}
		o.mu.Unlock()
		if found {
			return text
		}
		select {
		case <-o.more:
		case <-limit.C:
			t.Fatalf("no %q in %q", want, text)
		}
	}
}

// running is a program of m on nothing but its output. Its keys come by press.
type running struct {
	*output
	program *tea.Program
	keys    *io.PipeWriter
	final   chan tea.Model
}

func begin(t *testing.T, m tea.Model, w, h int) *running {
	t.Helper()
	in, keys := io.Pipe()
	r := &running{newOutput(), nil, keys, make(chan tea.Model, 1)}
	r.program = tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(r.output), tea.WithAltScreen(), tea.WithMouseCellMotion(), tea.WithoutSignalHandler(), tea.WithFPS(20))
	go func() {
		m, err := r.program.Run()
		if err != nil {
			t.Error(err)
		}
		r.final <- m
	}()
	r.program.Send(tea.WindowSizeMsg{Width: w, Height: h})
	return r
}

func (r *running) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(r.keys, keys); err != nil {
		t.Fatal(err)
	}
}

// end presses q, and returns the last frame.
func (r *running) end(t *testing.T) string {
	t.Helper()
	r.press(t, "q")
	m := <-r.final
	_ = r.keys.Close()
	r.await(t, "\x1b[?1049l")
	return m.View()
}

// TestFlows goes through each screen as a user does: to it, about on it, with another size
// of the terminal, and out.
func TestFlows(t *testing.T) {
	type step struct{ keys, want string } // what is written then
	run := tui.Options{Colors: termenv.Ascii}
	filter := []step{{"/class=chat", "or text): class=chat"}, {"\r", "/class=chat"}, {"\x1b", "last "}}
	for _, c := range []struct {
		name  string
		lab   laboratory
		opt   tui.Options
		steps []step
		want  []string // of the last frame
	}{
		{"Overview", laboratory{fixed: fixed{pic: seeded()}}, run, append([]step{{"2", "[2 Replicas]"}, {"1", "[1 Overview]"}, {"-", "last 30 s"}}, filter...), []string{"[1 Overview]", "last 30 s", "sent 500/1200", "╌ SLO 500 ms"}},
		{"Replicas", laboratory{fixed: fixed{pic: seeded()}}, run, append([]step{{"\t", "[2 Replicas]"}, {"j", ""}}, filter...), []string{"[2 Replicas]", "KV used", "skew 1.00"}},
		{"Spans", laboratory{fixed: fixed{pic: seeded()}}, run, append([]step{{"3", "[3 Spans]"}, {"?", "choose a screen"}, {"\x1b", "prefill"}}, filter...), []string{"[3 Spans]", "468 of 468 successes", "prefill", "router, network"}},
		{"Sessions", laboratory{fixed: fixed{pic: seeded()}}, run, append([]step{{"4", "[4 Sessions]"}, {"p", "view paused"}, {"p", "? help"}}, filter...), []string{"[4 Sessions]", "scheduled 9", "s1", "2.00×"}},
		{"Requests", laboratory{fixed: fixed{pic: seeded()}}, run, append(append([]step{{"5", "[5 Requests]"}}, filter...), []step{{"\x1b[B", ">"}, {"f", "failed, latest first"}, {"j", ">"}, {"\r", "request 439"}, {"\x1b", "failed, latest first"}, {"k", ">"}, {"\r", "request 479"}}...), []string{"[5 Requests]", "request 479", "server says no", "status 429"}},
		{"Heatmap", laboratory{fixed: fixed{pic: seeded()}}, run, append([]step{{"6", "[6 Heatmap]"}, {"t", "TTFT by when"}}, filter...), []string{"[6 Heatmap]", "TTFT by when requests ended"}},
		{"Knee", searching(), options(tui.Knee), []step{{"2", "[2 Overview]"}, {"1", "[1 Knee]"}, {"o", "tpot p(95) <= 50ms"}, {"o", "ttft p(95) <= 2s"}, {"jj", " 6"}}, []string{"[1 Knee]", "ttft p(95) <= 2s", "seed 1 at 106/s"}},
		{"Compare", comparing(), options(tui.Compare), []step{{"\x1b[Z", "[7 Heatmap]"}, {"\t", "[1 Compare]"}, {"j", "worse"}}, []string{"[1 Compare]", "prefix-hash with a long name", "+8.1 %"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they wait more than they work
			r := begin(t, tui.New(c.lab, c.opt), 80, 24)
			r.await(t, "generator")
			for _, s := range c.steps {
				r.press(t, s.keys)
				r.await(t, s.want)
			}
			r.program.Send(tea.WindowSizeMsg{Width: 130, Height: 40})
			r.await(t, "generator") // drawn anew
			last := r.end(t)
			fillsAsTold(t, last, 130, 40)
			for _, want := range c.want {
				if !strings.Contains(squeezed(last), want) {
					t.Errorf("no %q in the last frame:\n%s", want, last)
				}
			}
		})
	}
}

// stepped is a Source that gives a picture each time that one is put in.
type stepped struct{ pics chan monitor.Picture }

func (s stepped) Picture(monitor.Query) (monitor.Picture, error) {
	p, ok := <-s.pics
	if !ok {
		return monitor.Blank("over"), nil
	}
	return p, nil
}

// TestOnlyChangesAreWritten: of a picture in which one number is another, only its line is
// sent to the terminal, and nothing of one that is the same.
func TestOnlyChangesAreWritten(t *testing.T) {
	const w, h = 120, 40
	for at, c := range []struct {
		change func(p *monitor.Picture, n int)
		want   func(n int) string
		lines  int
	}{
		{func(p *monitor.Picture, n int) { p.Sent = int64(600 + n) }, func(n int) string { return fmt.Sprintf("%d/1200", 600+n) }, 2}, // and the share that is done
		{func(p *monitor.Picture, n int) { p.Replicas[2].Preemptions = int64(700 + n) }, func(n int) string { return fmt.Sprint(700 + n) }, 1},
		{func(p *monitor.Picture, n int) { p.Spans.Parts[3].Mean = monitor.Nanos(200+n) * ms }, func(n int) string { return fmt.Sprintf("%d ms", 200+n) }, 1},
	} {
		screen := tui.OfRun()[at]
		t.Run(screen.String(), func(t *testing.T) {
			t.Parallel()
			source := stepped{make(chan monitor.Picture)}
			r := begin(t, tui.New(source, tui.Options{Colors: termenv.ANSI256}), w, h)
			r.press(t, fmt.Sprint(at+1))
			give := func(n int) {
				p := seeded()
				c.change(&p, n)
				source.pics <- p
			}
			give(0)
			whole := r.await(t, c.want(0))
			for n := range 2 {
				for range 2 { // of which nothing is to be seen
					give(n)
				}
				give(n + 1)
				text := r.await(t, c.want(n+1))
				for _, other := range []string{"generator", "? help"} {
					if strings.Contains(text, other) {
						t.Errorf("%q was written again: %q", other, text)
					}
				}
				// A line has a byte for each cell, and less than that twice for colours and for
				// characters of three bytes; a line that stays is an end of line.
				if len(text) > 3*c.lines*w+8*h {
					t.Errorf("%d of %d bytes were written for %d lines: %q", len(text), len(whole), c.lines, text)
				}
			}
			close(source.pics)
			r.end(t)
		})
	}
}
