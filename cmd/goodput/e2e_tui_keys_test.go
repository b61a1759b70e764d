package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
)

// TestE2EQuits: q drains the run, q twice stops it at once, and q alone ends what only looks
// on. Each leaves the terminal as it was, and a directory that tells what happened.
func TestE2EQuits(t *testing.T) {
	// Answers of many minutes: only a run that is stopped does not wait for them.
	endless := []string{
		"run", "--tui", "--request-rate", "20", "--num-prompts", "20000", "--replicas", "2", "--drain", "1h",
		"--random-input-len", "32", "--random-output-len", "100000", "--out", "run",
	}
	for _, c := range []struct {
		name      string
		args      []string
		quit      func(*pane)
		completed bool // all that was sent; else nothing was
	}{
		{"drain", longRun(), func(p *pane) { p.tmux("send-keys", "q") }, true},
		{"stop", endless, func(p *pane) {
			p.tmux("send-keys", "q")
			p.shows("no more arrivals, waiting for what is in flight; q again to stop now")
			p.tmux("send-keys", "q")
		}, false},
		{"both at once", endless, func(p *pane) { p.tmux("send-keys", "qq") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPane(t, "screen-256color", c.args...)
			p.await("request that was sent", func() bool {
				screen := p.tmux("capture-pane", "-p")
				return strings.Contains(screen, "sent ") && !strings.Contains(screen, "sent 0/")
			})
			c.quit(p)
			p.ended("130")
			p.shows("interrupted: run holds what was recorded")
			run, err := record.Open(filepath.Join(p.dir, "run"))
			if err != nil {
				t.Fatal(err)
			}
			counts := run.Manifest.Counts
			if run.Manifest.State != record.Interrupted || counts == nil || counts.Scheduled == 0 || counts.Scheduled == 20000 {
				t.Fatalf("state %s, counts %+v", run.Manifest.State, counts)
			}
			for _, r := range rows(t, run.Dir) {
				if want := map[bool]record.Outcome{true: record.OK, false: record.Censored}[c.completed]; r.Outcome != want {
					t.Fatalf("request %d ended as %v, want %v", r.Seq, r.Outcome, want)
				}
			}
			if n := int64(len(rows(t, run.Dir))); n != counts.Scheduled {
				t.Errorf("%d rows of %d requests", n, counts.Scheduled)
			}
		})
	}
}

// TestE2EKeys: the mouse, a filter, the pause and the snapshot, of a run that goes on; then a
// look at what is left of it, which q ends in order.
func TestE2EKeys(t *testing.T) {
	p := newPane(t, "screen-256color", longRun()...)
	p.shows("1 Overview", "running")
	click := func(title string) {
		bar := strings.Split(p.tmux("capture-pane", "-p"), "\n")[1]
		at := len([]rune(bar[:strings.Index(bar, title)])) + 1
		for _, end := range []string{"M", "m"} { // pressed, released
			p.tmux("send-keys", "-l", "\x1b[<0;"+strconv.Itoa(at)+";2"+end)
		}
	}
	click("5 Requests")
	p.shows("slowest of the run, by E2E")
	click("2 Replicas")
	p.shows("KV used", "skew")
	p.tmux("send-keys", "/", "replica=9", "Enter")
	p.shows("/replica=9", "no request with replica=9 among the latest; esc shows all")
	p.tmux("send-keys", "Escape")
	p.shows("? help")
	p.tmux("send-keys", "1")
	p.tmux("send-keys", "p")
	p.shows("view paused at", "the load goes on")
	p.tmux("send-keys", "s")
	p.shows("saved run/screen-")
	names, err := filepath.Glob(filepath.Join(p.dir, "run", "screen-*.json"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	var saved [3]string
	for i, ext := range []string{".json", ".txt", ".svg"} {
		b, err := os.ReadFile(strings.TrimSuffix(names[0], ".json") + ext)
		if err != nil {
			t.Fatal(err)
		}
		saved[i] = string(b)
	}
	pic, err := monitor.ParsePicture([]byte(saved[0]))
	if err != nil || pic.Sent == 0 {
		t.Errorf("the picture that was saved: sent %d, %v", pic.Sent, err)
	}
	sent := strconv.Itoa(int(pic.Sent)) + "/20000"
	if !strings.Contains(saved[1], sent) || !strings.Contains(saved[2], sent) || !strings.Contains(p.tmux("capture-pane", "-p"), sent) {
		t.Errorf("no %s in the frame, its drawing, or on the screen:\n%s", sent, saved[1])
	}
	p.tmux("send-keys", "q")
	p.ended("130")

	self := newPane(t, "screen-256color", "watch", filepath.Join(p.dir, "run"), "--speed", "max")
	self.shows("1 Overview", "interrupted")
	self.tmux("send-keys", "q")
	self.ended("0")
}
