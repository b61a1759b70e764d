package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
)

// hands is an environment whose terminal takes all that it is sent, with the keys.
func hands(t *testing.T, args []string) (Env, *bytes.Buffer, *os.File) {
	t.Helper()
	env, out := drainedScreen(t)
	keys, press, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = press.Close()
		_ = keys.Close()
	})
	env.Args, env.Keys = args, keys
	return env, out, press
}

// pressUntilNoted presses a key until the manifest in dir has n changes of the rate, and
// a second later q; over ends it.
func pressUntilNoted(press io.Writer, key, dir string, n int, over <-chan struct{}) {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for noted, more := 0, 50; more > 0; {
		select {
		case <-look.C:
		case <-over:
			return
		}
		b, err := os.ReadFile(filepath.Join(dir, record.ManifestName))
		if err != nil {
			continue // it has not begun
		}
		if noted >= n {
			more--
			continue
		}
		if m, err := record.ParseManifest(b); err == nil {
			if noted, _, _ = m.Steered(); noted < n {
				_, _ = io.WriteString(press, key)
			}
		}
	}
	_, _ = io.WriteString(press, "q")
}

// intended are the instants at which the requests of a run were due, by their number.
func intended(t *testing.T, dir string) (map[int64]clock.Time, record.Manifest) {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[int64]clock.Time{}
	if err := run.Requests(func(r *record.Request) error {
		out[r.Seq] = r.Intended
		return nil
	}, record.Columns("seq", "intended")); err != nil {
		t.Fatal(err)
	}
	return out, run.Manifest
}

// TestRateByHand: + on the screen makes the requests that are still to come due sooner, by
// exactly what the manifest tells; a report says so, and no gate takes the run.
func TestRateByHand(t *testing.T) {
	dir := t.TempDir()
	load := func(name string) []string {
		return []string{
			"run", "--request-rate", "40", "--num-prompts", "4000", "--replicas", "2", "--random-input-len", "32",
			"--random-output-len", "4", "--out", filepath.Join(dir, name),
		}
	}
	quiet(t, append(load("planned"), "--speed", "max")...)
	planned, _ := intended(t, filepath.Join(dir, "planned"))

	steered := filepath.Join(dir, "steered")
	env, out, press := hands(t, append(load("steered"), "--speed", "1", "--tui", "--tui-control"))
	over, pressed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(pressed)
		pressUntilNoted(press, "+", steered, 2, over)
	}()
	code := Main(env)
	close(over)
	<-pressed
	if code != exitInterrupted {
		t.Fatalf("exit code %d: %s", code, out)
	}
	due, m := intended(t, steered)
	n, least, most := m.Steered()
	if n < 2 || least != 110 || most != 100+10*int64(n) {
		t.Fatalf("events %+v", m.Events)
	}
	if want := fmt.Sprintf("the rate was changed by hand %d times (to 110 … %d %% of the planned)", n, most); !strings.Contains(out.String(), want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	moved := 0
	for seq, at := range due {
		var s schedule.Stretch
		for _, e := range m.Events {
			if e.At <= s.At(planned[seq]) {
				s.Change(e.At, e.Percent)
			}
		}
		if want := s.At(planned[seq]); at != want {
			t.Fatalf("request %d was due at %v, want %v (planned for %v)", seq, at, want, planned[seq])
		}
		if at != planned[seq] {
			moved++
		}
	}
	if moved == 0 {
		t.Errorf("none of %d requests was moved", len(due))
	}

	var text bytes.Buffer
	gate := Env{Args: []string{"gate", steered, "--gate", "ttft p(50) <= 900s"}, Stdout: &text, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	if code := Main(gate); code != exitInvalid || !strings.Contains(text.String(), "was changed by hand") {
		t.Errorf("gate: exit code %d: %s", code, text.String())
	}
}

// TestSteeringRefused: what has no rate that could be changed says so before it begins.
func TestSteeringRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"without a view", nil, "--tui-control: its keys are those of --tui"},
		{"closed loop", []string{"--tui", "--request-rate", "0", "--concurrency", "4"}, "a closed loop has no rate"},
		{"all at once", []string{"--tui", "--request-rate", "inf"}, "due at once"},
		{"a shard", []string{"--tui", "--shard", "0/2", "--base-url", "http://127.0.0.1:1", "--start-at", "2030-01-01T00:00:00Z"}, "the other shards"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer // nothing is written to stdout
			args := append([]string{"run", "--num-prompts", "10", "--request-rate", "5", "--tui-control", "--out", filepath.Join(t.TempDir(), "run")}, c.args...)
			code := Main(Env{Args: args, Stdout: io.Discard, Stderr: &out, Getenv: func(string) string { return "" }})
			if code != exitUsage || !strings.Contains(out.String(), c.want) {
				t.Errorf("exit code %d, want %q in: %s", code, c.want, out.String())
			}
		})
	}
}
