package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/report/tui"
)

// make screens sets it.
var updateScreens = flag.Bool("update-screens", false, "draw the screens of README anew")

// The size of the screens, in cells, and where they are kept.
const (
	screenW, screenH = 118, 36
	screensDir       = "../../../report/tui/screens"
)

// keptScreens are the screens that README shows, by the file of their data.
func keptScreens() map[string][]tui.Screen {
	return map[string][]tui.Screen{"run": {tui.Overview, tui.Replicas, tui.Spans, tui.Requests, tui.Heatmap}, "sessions": {tui.Sessions}, "knee": {tui.Knee}, "compare": {tui.Compare}}
}

// TestScreens: the screens that README shows, as text and as SVG, are those of the data
// beside them, and the data, like the recording, are those of seeded runs in virtual time
// that it makes. With -update-screens it keeps what it gets.
func TestScreens(t *testing.T) {
	// Another processor may round the last digit of a number otherwise.
	if *updateScreens || !testing.Short() && runtime.GOARCH == "amd64" {
		recordScreens(t)
	}
	for data, screens := range keptScreens() {
		b, err := os.ReadFile(filepath.Join(screensDir, data+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var source kept
		if err := json.Unmarshal(b, &source); err != nil {
			t.Fatal(err)
		}
		for _, screen := range screens {
			x := screenshot{source, []tui.Screen{screen}, "1"}
			if at := slices.Index(tui.OfRun(), screen); at >= 0 {
				x.screens, x.key = tui.OfRun(), fmt.Sprint(at+1)
			}
			name := strings.ToLower(screen.String())
			keepFile(t, name+".txt", []byte(x.draw(termenv.Ascii)+"\n"))
			keepFile(t, name+".svg", tui.SVG(x.draw(termenv.ANSI), screenW, screenH))
		}
	}
}

// recordScreens runs what the screens show.
func recordScreens(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	pics := filmedRun(t, dir)
	last := pics[len(pics)-1]
	keepData(t, "run", still{last})
	keepData(t, "sessions", still{sessionsAt(t, filepath.Join(dir, "run"), last)})
	quiet(t, "sweep", "--replicas", "4", "--slo", "ttft p(95) <= 2s, tpot p(95) <= 50ms", "--preset", "smoke", "--out", filepath.Join(dir, "sweep"))
	quiet(t, "compare", "--router", "round-robin", "--router", "prefix-hash", "--dataset-name", "prefix_repetition", "--request-rate", "60", "--num-prompts", "300",
		"--replicas", "4", "--out", filepath.Join(dir, "rules"))
	for name, data := range map[string]string{"sweep": "knee", "rules": "compare"} {
		source, err := openWatch(filepath.Join(dir, name), plan.Speed(1))
		if err != nil {
			t.Fatal(err)
		}
		keepData(t, data, source)
	}
	keepFile(t, "recording.svg", tui.Recording(film(pics), screenW, screenH))
}

// sessionsAt is a picture of a run with the sessions at the instant of p. Ended ones are
// told of by a goroutine behind the load, and so which of them p has is not certain: the
// rows tell.
func sessionsAt(t *testing.T, dir string, p monitor.Picture) monitor.Picture {
	t.Helper()
	source, err := openWatch(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	source.(*replay).end = clock.Time(p.Elapsed)
	rows, err := source.Picture(monitor.Query{Window: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	p.Sessions.Ended, p.Sessions.SCT = rows.Sessions.Ended, rows.Sessions.SCT
	return p
}

// kept is what a source has shown.
type kept struct {
	Pic monitor.Picture `json:"picture"`
	Lab tui.Doing       `json:"doing"`
}

func (k kept) Picture(monitor.Query) (monitor.Picture, error) { return k.Pic, nil }
func (k kept) Doing() tui.Doing                               { return k.Lab }

// keepData writes what a source shows, as far as it fits on a screen.
func keepData(t *testing.T, name string, source tui.Source) {
	t.Helper()
	p, err := source.Picture(monitor.Query{Window: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	p.Slowest, p.Failed, p.Sessions.Ended = first(p.Slowest), first(p.Failed), first(p.Sessions.Ended)
	p.Sessions.Live = first(p.Sessions.Live)
	switch name {
	case "run":
		p.Sessions = monitor.Blank("").Sessions // not certain, as recordScreens says
	case "sessions":
		p.Series, p.Heat, p.Slowest, p.Failed = nil, monitor.Heat{}, nil, nil
	}
	k := kept{Pic: p}
	if lab, ok := source.(tui.Experiment); ok {
		k.Lab = lab.Doing()
	}
	b, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	keepFile(t, name+".json", append(b, '\n'))
}

// first are as many as a screen has lines.
func first[T any](list []T) []T { return list[:min(len(list), screenH)] }

// quiet runs a command that must succeed.
func quiet(t *testing.T, args ...string) {
	t.Helper()
	var out bytes.Buffer
	if code := Main(Env{Args: args, Stdout: &out, Stderr: io.Discard, Getenv: func(string) string { return "" }}); code != exitOK {
		t.Fatalf("%v: exit code %d: %s", args, code, out.String())
	}
}

// screenshot is what a screen shows of a source.
type screenshot struct {
	source  tui.Source
	screens []tui.Screen
	key     string // that chooses the screen
}

func (x screenshot) draw(colors termenv.Profile) string {
	var m tea.Model = tui.New(x.source, tui.Options{Colors: colors, Screens: x.screens})
	m, _ = m.Update(tea.WindowSizeMsg{Width: screenW, Height: screenH})
	m, _ = m.Update(m.Init()())
	m, _ = m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(x.key)})
	return m.View()
}

// keepFile compares a file with the one that is kept, or keeps it.
func keepFile(t *testing.T, name string, b []byte) {
	t.Helper()
	name = filepath.Join(screensDir, name)
	if *updateScreens {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case bytes.Equal(want, b):
	case strings.HasSuffix(name, ".txt"):
		t.Errorf("%s is not what README shows; if it should be like that: make screens\n%s", name, cmp.Diff(string(want), string(b)))
	default:
		t.Errorf("%s has %d bytes, and others than the %d that are made now; if it should be like that: make screens", name, len(want), len(b))
	}
}

// still is a source of one picture.
type still struct{ pic monitor.Picture }

func (s still) Picture(monitor.Query) (monitor.Picture, error) { return s.pic, nil }

// camera takes a picture every two seconds of the run's time.
type camera struct {
	board *board
	loop  clock.Loop
	pics  []monitor.Picture
	err   error
}

// filmLasts is how long the run is looked at.
const filmLasts = 90 * time.Second

// Entity implements clock.Event.
func (*camera) Entity() uint64 { return 1 }

// Fire implements clock.Event.
func (c *camera) Fire(now clock.Time) {
	p, err := c.board.Picture(monitor.Query{Window: time.Minute})
	if err != nil {
		c.err = err
		return
	}
	p.CPU = monitor.None() // of this machine, and not of the run
	c.pics = append(c.pics, p)
	if now < clock.Time(filmLasts) {
		c.loop.At(now.Add(2*time.Second), clock.RankSample, c)
	}
}

// filmedRun is a run of chats in dir with four replicas, one of which is slow for a while:
// pictures of it.
func filmedRun(t *testing.T, dir string) []monitor.Picture {
	t.Helper()
	faults := filepath.Join(dir, "slow.yaml")
	if err := os.WriteFile(faults, []byte("- {at: 50s, for: 8s, replica: 2, slow: 12}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	p := plan.Default()
	p.Replicas, p.DatasetName, p.AgentPreset, p.SessionsRate, p.RequestRate, p.Duration = 4, "agent", "chat", 3, 0, 2*time.Minute
	p.Goodput, p.Faults, p.Out = []string{"ttft:1000", "tpot:40"}, faults, filepath.Join(dir, "run")
	slo, err := observe.ParseSLO(sloItems(&p))
	if err != nil {
		t.Fatal(err)
	}
	set, sessions, p, err := openLoad(p)
	if err != nil {
		t.Fatal(err)
	}
	env := Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	s, err := newSession(&env, p, set, slo)
	if err != nil {
		t.Fatal(err)
	}
	c := &camera{loop: s.loop}
	s.sessions, s.live = sessions, liveFlags{tui: true, elsewhere: func(b *board) { c.board = b }}
	if err := s.open(&env); err != nil {
		t.Fatal(err)
	}
	s.loop.At(clock.Time(2*time.Second), clock.RankSample, c)
	if err := s.run(&env); err != nil || c.err != nil {
		t.Fatal(err, c.err)
	}
	return c.pics
}

// film shows the run as it goes on, and then its other screens.
func film(pics []monitor.Picture) []tui.Shown {
	var out []tui.Shown
	shoot := func(p monitor.Picture, screen int, lasts time.Duration) {
		x := screenshot{still{p}, tui.OfRun(), fmt.Sprint(screen + 1)}
		out = append(out, tui.Shown{Frame: x.draw(termenv.ANSI), For: lasts})
	}
	n := len(pics) - len(tui.OfRun())
	for i := 4; i < n; i += 5 {
		shoot(pics[i], 0, 700*time.Millisecond)
	}
	for i, p := range pics[n:] {
		if tui.OfRun()[i] != tui.Sessions { // which may be told of later
			shoot(p, i, 1800*time.Millisecond)
		}
	}
	return out
}
