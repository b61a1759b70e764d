package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// pid is the process of the command, of which there is one at a time.
func (p *pane) pid() int {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, "pid"))
	if err != nil {
		p.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		p.t.Fatal(err)
	}
	return pid
}

// settings are what the terminal is set to now, from outside.
func (p *pane) settings() string {
	p.t.Helper()
	out, err := command(p.t, "stty", "-a", "-F", strings.TrimSpace(p.tmux("display-message", "-p", "#{pane_tty}"))).Output()
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(out), "line = ")
	return strings.TrimSpace(rest)
}

// TestE2EKilled: the terminal of a view is put back even by a process that is killed at once
// or crashes, and whose own code can do nothing any more. Its rows are still there.
func TestE2EKilled(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		code   string // that a shell tells
		args   []string
		shows  string
	}{
		{"run", syscall.SIGKILL, "137", longRun(), "running"},
		{"crash", syscall.SIGABRT, "2", longRun(), "running"}, // as after a panic of any goroutine
		{"sweep", syscall.SIGKILL, "137", []string{"sweep", "--tui", "--replicas", "4", "--slo", "\"ttft p(95) <= 2s\"", "--preset", "report", "--seeds", "40", "--out", "run"}, "goodput over offered rate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPane(t, "screen-256color", c.args...)
			p.shows(c.shows)
			b, err := os.ReadFile(filepath.Join(p.dir, "before"))
			if err != nil {
				t.Fatal(err)
			}
			_, before, _ := strings.Cut(strings.TrimSpace(string(b)), "line = ")
			during := p.settings()
			if during == before {
				t.Fatal("the view has not set the terminal, so that this test shows nothing")
			}
			if err := syscall.Kill(p.pid(), c.signal); err != nil {
				t.Fatal(err)
			}
			p.await("exit code", func() bool {
				b, _ := os.ReadFile(filepath.Join(p.dir, "code"))
				return strings.TrimSpace(string(b)) == c.code
			})
			p.await("terminal as it was", func() bool {
				return p.settings() == before && strings.TrimSpace(p.tmux("display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}")) == "0 0 1"
			})
			if c.args[0] != "run" {
				return
			}
			if run, err := record.Open(filepath.Join(p.dir, "run")); err != nil || run.Manifest.State != record.Running {
				t.Errorf("%+v, %v", run, err)
			}
			if out, err := command(t, "goodput", "recover", filepath.Join(p.dir, "run")).CombinedOutput(); err != nil {
				t.Errorf("recover: %v: %s", err, out)
			}
		})
	}
}

// children are the processes that pid has begun and that live.
func children(t *testing.T, pid int) (out []int) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(names) == 0 {
		t.Skip("no /proc here")
	}
	for _, name := range names {
		b, _ := os.ReadFile(name) // it may have ended
		_, rest, _ := strings.Cut(string(b), ") ")
		var state string
		var parent int
		if n, _ := fmt.Sscan(rest, &state, &parent); n == 2 && parent == pid && state != "Z" {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, child)
		}
	}
	return out
}

// TestE2EChildKilled: the one process that a view begins, which guards the terminal, may be
// killed. The view goes on, and puts the terminal back by itself.
func TestE2EChildKilled(t *testing.T) {
	p := newPane(t, "screen-256color", longRun()...)
	p.shows("1 Overview", "running")
	guards := children(t, p.pid())
	if len(guards) != 1 {
		t.Fatalf("the view has begun %d processes", len(guards))
	}
	if err := syscall.Kill(guards[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.await("end of the child", func() bool { return len(children(t, p.pid())) == 0 })
	p.tmux("send-keys", "2")
	p.shows("KV used", "running")
	p.tmux("send-keys", "q")
	p.ended("130")
}

// TestE2EServerKilled: when the server under test is killed, the view goes on to the end of
// the load, the terminal is put back, and the exit code tells of the errors.
func TestE2EServerKilled(t *testing.T) {
	endToEnd(t, "tmux")
	s := serve(t, 1, "--replicas", "2", "--time-scale", "0.01")
	p := newPane(t, "screen-256color", "run", "--tui", "--base-url", "http://"+s.addrs[0], "--request-rate", "50", "--num-prompts", "400",
		"--random-input-len", "32", "--random-output-len", "4", "--out", "run")
	p.shows("running", "1 Overview")
	p.await("request that was answered", func() bool {
		screen := p.tmux("capture-pane", "-p")
		return strings.Contains(screen, "completed ") && !strings.Contains(screen, "completed 0 ")
	})
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	p.shows("errors", "connect")
	p.ended("5")
	p.shows("more than --max-error-rate")
}

// TestE2ETerms: the view is drawn, and put away, by terminals of several kinds; one that can
// only write line below line gets lines.
func TestE2ETerms(t *testing.T) {
	for _, term := range []string{"xterm", "xterm-256color", "linux", "vt100"} {
		t.Run(term, func(t *testing.T) {
			p := newPane(t, term, longRun()...)
			p.shows("1 Overview", "offered", "TTFT", "running", "? help")
			p.tmux("send-keys", "6")
			p.shows("by when requests ended", "? help")
			p.tmux("send-keys", "q")
			p.ended("130")
		})
	}
	t.Run("dumb", func(t *testing.T) {
		p := newPane(t, "dumb", longRun()...)
		p.shows("TERM is dumb", "sent ")
		if screen := p.tmux("capture-pane", "-p", "-e"); strings.Contains(screen, "1 Overview") || strings.Contains(screen, "\x1b") || strings.Count(screen, "sent ") > 2 {
			t.Errorf("%q", screen)
		}
		// Ctrl-C would be for the shell as well.
		if err := syscall.Kill(p.pid(), syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		p.ended("130")
	})
}
