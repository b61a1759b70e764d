package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pane is a terminal of tmux in which a command runs, with a server of its own.
type pane struct {
	t      *testing.T
	dir    string
	socket string
}

// newPane runs goodput with args on 80 by 24 cells, between two accounts of what the
// terminal is set to.
func newPane(t *testing.T, term string, args ...string) *pane {
	t.Helper()
	endToEnd(t, "tmux")
	dir := t.TempDir()
	p := &pane{t: t, dir: dir, socket: filepath.Join(dir, "tmux")}
	self, err := exec.LookPath("goodput")
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("cd '%s'\nstty -a >before\nTERM=%s sh -c 'echo $$ >pid; exec %s %s'\necho $? >code.tmp\nstty -a >after\nmv code.tmp code\nexec cat >rest\n",
		dir, term, self, strings.Join(args, " "))
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	p.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh", filepath.Join(dir, "script"))
	t.Cleanup(func() { _ = p.command("kill-server").Run() })
	return p
}

func (p *pane) command(args ...string) *exec.Cmd {
	return command(p.t, "tmux", append([]string{"-S", p.socket}, args...)...)
}

func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// await repeats a look until it is satisfied.
func (p *pane) await(what string, ok func() bool) {
	p.t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(time.Minute); !ok(); <-look.C {
		if time.Now().After(deadline) {
			p.t.Fatalf("no %s on\n%s", what, p.tmux("capture-pane", "-p"))
		}
	}
}

// shows waits for texts to be on the screen together.
func (p *pane) shows(texts ...string) {
	p.t.Helper()
	p.await(fmt.Sprint(texts), func() bool {
		screen := p.tmux("capture-pane", "-p")
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// ended waits until the command has, and says whether the terminal is as it was.
func (p *pane) ended(code string) {
	p.t.Helper()
	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(p.dir, name))
		return strings.TrimSpace(string(b))
	}
	p.await("end of the run", func() bool { return read("code") != "" })
	if got := read("code"); got != code {
		p.t.Errorf("exit code %s, want %s:\n%s", got, code, p.tmux("capture-pane", "-p"))
	}
	settings := func(name string) string { // a resize is not what the run has done
		_, rest, _ := strings.Cut(read(name), "line = ")
		return rest
	}
	if settings("before") == "" || settings("before") != settings("after") {
		p.t.Errorf("stty -a was\n%s\nand is\n%s", read("before"), read("after"))
	}
	// The usual screen, no mouse, a cursor.
	if got := strings.TrimSpace(p.tmux("display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}")); got != "0 0 1" {
		p.t.Errorf("alternate screen, mouse, cursor: %s", got)
	}
}

// longRun is a run of minutes, which tests end.
func longRun() []string {
	return []string{"run", "--tui", "--request-rate", "50", "--num-prompts", "20000", "--replicas", "4", "--random-input-len", "32", "--random-output-len", "4", "--out", "run"}
}

// TestE2EScreens starts a run, switches screens, resizes the terminal and quits.
func TestE2EScreens(t *testing.T) {
	for _, term := range []string{"screen-256color", "screen"} {
		t.Run(term, func(t *testing.T) {
			p := newPane(t, term, longRun()...)
			p.shows("1 Overview", "offered", "TTFT", "running")
			p.tmux("send-keys", "2")
			p.shows("KV used", "skew")
			p.tmux("send-keys", "3")
			p.shows("mean E2E", "prefill")
			p.tmux("resize-window", "-x", "120", "-y", "40")
			p.await("frame of the new size", func() bool {
				lines := strings.Split(strings.TrimRight(p.tmux("capture-pane", "-p"), "\n"), "\n")
				return len(lines) == 40 && strings.Contains(lines[39], "? help")
			})
			p.tmux("send-keys", "q")
			p.ended("130")
			p.shows("requests in", "interrupted: run holds what was recorded")
		})
	}
}

// TestE2ETerminated: SIGTERM drains the run and puts the terminal back.
func TestE2ETerminated(t *testing.T) {
	p := newPane(t, "screen-256color", longRun()...)
	p.shows("1 Overview", "running")
	b, err := os.ReadFile(filepath.Join(p.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.ended("130")
}

// TestE2ESweepScreen shows a search while it goes on, and the result below when it is over.
func TestE2ESweepScreen(t *testing.T) {
	p := newPane(t, "screen-256color", "sweep", "--tui", "--replicas", "4", "--slo", "\"ttft p(95) <= 2s, tpot p(95) <= 50ms\"", "--preset", "report", "--seeds", "40", "--out", "knee")
	p.shows("1 Knee", "goodput over offered rate", "passed at")
	p.tmux("send-keys", "q")
	p.ended("130")
	p.shows("interrupted: knee holds the trials")
}

// TestE2EStartsQuietly: a command without a view asks a terminal nothing.
func TestE2EStartsQuietly(t *testing.T) {
	endToEnd(t, "script")
	c := command(t, "script", "-q", "-c", "goodput version", filepath.Join(t.TempDir(), "log"))
	c.Env = append(os.Environ(), "TERM=xterm")
	for i, v := range c.Env { // which would keep it quiet by itself
		if strings.HasPrefix(v, "CI=") {
			c.Env[i] = "GOODPUT_UNUSED="
		}
	}
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "goodput") || strings.Contains(string(out), "\x1b") {
		t.Errorf("%q", out)
	}
}

// awaitFile waits until one of two processes has written a file.
func awaitFile(t *testing.T, name string) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-look.C {
		if _, err := os.Stat(name); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s", name)
		}
	}
}

// awaitAnswer waits until one of two processes answers at an address.
func awaitAnswer(t *testing.T, url string) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-look.C {
		if resp, err := http.Get(url); err == nil {
			_ = resp.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no answer at %s", url)
		}
	}
}

// TestE2EWatchesAnother: a second process shows what the first one makes, while it makes it
// and to its end: a run by its directory and by its address, a comparison and a sweep.
func TestE2EWatchesAnother(t *testing.T) {
	load := []string{"--replicas", "2", "--random-input-len", "32", "--random-output-len", "4"}
	for _, c := range []struct {
		name    string
		args    []string
		file    string // that is there when it can be watched
		watched string // empty: its directory
		want    []string
	}{
		{"run", []string{"run", "--speed", "1", "--request-rate", "100", "--num-prompts", "700"}, "manifest.json", "", []string{"running  sent", "over  sent 700  done 700  errors 0"}},
		{"address", []string{"run", "--speed", "1", "--request-rate", "100", "--num-prompts", "700", "--monitor-listen", "127.0.0.1:19387"}, "manifest.json", "http://127.0.0.1:19387", []string{"running  sent", "gone  sent"}},
		{"comparison", []string{"compare", "--speed", "1", "--router", "p2c", "--router", "random", "--request-rate", "100", "--num-prompts", "150", "--seeds", "2"}, "progress.json", "", []string{"p2c 0/2  random 0/2  under way: p2c seed 0", "[1 Compare]", "p2c 2/2   random 2/2"}},
		{"sweep", []string{"sweep", "--slo", "ttft p(95) <= 2s", "--method", "grid", "--points", "8", "--min-rate", "40", "--max-rate", "200", "--seeds", "2", "--num-prompts", "1500"}, "progress.json", "", []string{" trials", "[1 Knee]", "goodput over offered rate"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			endToEnd(t)
			dir := filepath.Join(t.TempDir(), c.name)
			run := command(t, "goodput", append(append(c.args, load...), "--out", dir)...)
			var said strings.Builder
			run.Stderr = &said
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			awaitFile(t, filepath.Join(dir, c.file))
			watched := c.watched
			if watched == "" {
				watched = dir
			} else {
				awaitAnswer(t, watched+"/snapshot")
			}
			out, err := command(t, "goodput", "watch", watched).CombinedOutput()
			if err := run.Wait(); err != nil {
				t.Errorf("%v: %s", err, said.String())
			}
			if err != nil {
				t.Fatalf("watch: %v: %s", err, out)
			}
			for _, want := range c.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}
