package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"

	"goodput/loadgen/monitor"
	"goodput/report/knee"
	"goodput/report/tui"
)

// TestFollowedExperiment: another process sees of an experiment what the one that makes it
// shows, then its end, and that it was given up if nobody writes any more.
func TestFollowedExperiment(t *testing.T) {
	dir := t.TempDir()
	quiet(t, "compare", "--router", "round-robin", "--router", "p2c", "--request-rate", "50", "--num-prompts", "60", "--replicas", "2",
		"--random-input-len", "32", "--random-output-len", "4", "--seeds", "2", "--out", filepath.Join(dir, "arms"))
	arms := filepath.Join(dir, "arms")
	name := filepath.Join(arms, progressName)
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the progress outlives the comparison: %v", err)
	}
	over, err := openWatch(arms, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := over.(*finished); !ok {
		t.Fatalf("a comparison that is over is a %T", over)
	}

	l := newLab("arms", 4)
	l.doing.Comparison = &tui.Comparison{Arms: []tui.Arm{{Name: "round-robin", Done: 1}, {Name: "p2c"}}, Seeds: 2, UnderWay: []string{"p2c seed 0"}}
	done := l.keepProgress(arms)
	watched, err := openWatch(arms, 1)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := watched.(*followed)
	if !ok {
		t.Fatalf("a comparison under way is a %T", watched)
	}
	samePicture(t, l.Doing(), f.Doing())
	if want := "round-robin 1/2  p2c 0/2  under way: p2c seed 0"; f.line() != want {
		t.Errorf("line %q, want %q", f.line(), want)
	}
	frame, err := tui.Frame(f, tui.Options{Colors: termenv.Ascii, Screens: screensFor(f)}, 120, 40)
	if err != nil || !strings.Contains(frame, "running") || !strings.Contains(frame, "under way  p2c seed 0") {
		t.Errorf("%v\n%s", err, frame)
	}
	kept, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	done()
	if err := os.WriteFile(name, kept, 0o666); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(name, long, long); err != nil {
		t.Fatal(err)
	}
	if err := f.read(); err != nil || f.at.Picture.State != "gone" {
		t.Errorf("an old file: %v, %s", err, f.at.Picture.State)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	f.polls = -1
	p, err := f.Picture(monitor.Query{})
	if err != nil || p.State != "over" || f.Doing().Comparison.Arms[1].Done != 2 {
		t.Errorf("at the end: %v, %s, %+v", err, p.State, f.Doing().Comparison)
	}
}

// TestFollowedLines: without a screen a line tells how far an experiment is.
func TestFollowedLines(t *testing.T) {
	for _, c := range []struct {
		name  string
		doing tui.Doing
		want  string
	}{
		{"nothing yet", tui.Doing{}, "no trial yet"},
		{"names that move the cursor", tui.Doing{Comparison: &tui.Comparison{Seeds: 2, Arms: []tui.Arm{{Name: "a\x1b[2J\rb", Done: 1}}, UnderWay: []string{"c\n"}}}, "a?b 1/2  under way: c?"},
		{"a sweep", tui.Doing{Search: &tui.Search{Objectives: []tui.Objective{{SLO: "ttft p(95) <= 2s", Settled: 1, Seeds: make([]knee.SeedStanding, 2), Rate: monitor.None(), Lo: monitor.None(), Hi: monitor.None()}}}}, "ttft p(95) <= 2s  0 trials, 1 of 2 seeds settled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &followed{at: tui.Told{Doing: c.doing}}
			if f.line() != c.want {
				t.Errorf("%q, want %q", f.line(), c.want)
			}
		})
	}
}

// TestFollowRefusesGarbage: a file that tells nothing ends watch with one line, which says
// which file it is.
func TestFollowRefusesGarbage(t *testing.T) {
	for _, text := range []string{"", "{}", "{\"picture\":", "\x00\xff"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, progressName), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		code := Main(Env{Args: []string{"watch", dir}, Stdout: io.Discard, Stderr: &said, Getenv: func(string) string { return "" }})
		if code != exitUsage || !strings.Contains(said.String(), progressName) || strings.Count(strings.TrimSpace(said.String()), "\n") > 0 {
			t.Errorf("%q: exit code %d: %s", text, code, said.String())
		}
	}
}
