package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"goodput/loadgen/record"
)

// startRealRun starts a run in real time on in-process engines that would take
// minutes, and returns when it is under way.
func startRealRun(t *testing.T, dir string, underWay func() bool, more ...string) (cmd *exec.Cmd, out *bytes.Buffer, diag io.Reader) {
	t.Helper()
	args := append([]string{
		"run", "--json", "--speed", "1", "--request-rate", "200", "--num-prompts", "40000", "--replicas", "2",
		"--random-input-len", "32", "--random-output-len", "4", "--out", dir,
	}, more...)
	cmd = command(t, "goodput", args...)
	out = new(bytes.Buffer)
	cmd.Stdout = out
	diag, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; {
		if underWay() {
			return cmd, out, diag
		}
		if time.Now().After(deadline) {
			t.Fatal("the run does not get under way")
		}
	}
}

// logged waits for some rows in the write-ahead files.
func logged(dir string) func() bool {
	return func() bool {
		var n int64
		names, _ := filepath.Glob(filepath.Join(dir, "*.wal"))
		for _, name := range names {
			if info, err := os.Stat(name); err == nil {
				n += info.Size()
			}
		}
		return n > 20_000
	}
}

func TestInterruptLeavesAReadableRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	cmd, out, _ := startRealRun(t, dir, logged(dir))
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit %d, want 130", code)
	}
	var j runJSON
	if err := json.Unmarshal(out.Bytes(), &j); err != nil {
		t.Fatalf("%v in %q", err, out.String())
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := run.Manifest.Counts
	if run.Manifest.State != record.Interrupted || c == nil || c.Scheduled != c.Completed || c.Scheduled != j.Requests {
		t.Errorf("state %s, counts %+v, report of %d: a drained run completes what it started", run.Manifest.State, c, j.Requests)
	}
	if n := int64(len(rows(t, dir))); n != j.Requests || n == 0 || n >= 40000 {
		t.Errorf("%d rows for %d requests", n, j.Requests)
	}
}

func TestSecondInterruptStopsAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	// Answers of ten minutes: without a second signal the drain waits for them.
	var since time.Time
	later := func() bool {
		if _, err := os.Stat(filepath.Join(dir, "plan.yaml")); err == nil && since.IsZero() {
			since = time.Now() // from here on the run catches signals
		}
		return !since.IsZero() && time.Since(since) > time.Second
	}
	cmd, out, diag := startRealRun(t, dir, later, "--drain", "1h", "--random-output-len", "100000")
	_ = cmd.Process.Signal(os.Interrupt)
	for lines := bufio.NewScanner(diag); lines.Scan() && !strings.Contains(lines.Text(), "once more to stop now"); {
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatalf("the run ended after one signal: %v", err)
	}
	again := time.Now()
	_, _ = io.Copy(io.Discard, diag)
	_ = cmd.Wait()
	if d := time.Since(again); d > 30*time.Second {
		t.Errorf("the second signal took %v", d)
	}
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit %d, want 130", code)
	}
	var j runJSON
	if err := json.Unmarshal(out.Bytes(), &j); err != nil {
		t.Fatalf("%v in %q", err, out.String())
	}
	if n := int64(len(rows(t, dir))); n == 0 || j.Outcomes["censored"] != n {
		t.Errorf("%d rows, outcomes %v: all should be censored", n, j.Outcomes)
	}
}

func TestKillLosesNoRecordedRow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	cmd, _, _ := startRealRun(t, dir, logged(dir))
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	before := rows(t, dir) // straight from the write-ahead file
	if len(before) == 0 {
		t.Fatal("nothing is readable after kill -9")
	}
	report := command(t, "goodput", "report", dir)
	text, err := report.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "not finished (or was cut off)") {
		t.Errorf("report after kill -9: %v\n%s", err, text)
	}
	if text, err := command(t, "goodput", "recover", dir).CombinedOutput(); err != nil {
		t.Fatalf("recover: %v\n%s", err, text)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "requests-*.parquet")); len(names) == 0 {
		t.Error("recover made no Parquet file")
	}
	if after := rows(t, dir); len(after) != len(before) {
		t.Errorf("%d rows before recovery, %d after", len(before), len(after))
	}
}

// Before and after a run there is nothing to drain: a signal ends the program.
func TestSignalEndsWhatIsNoRun(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "trace.csv")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	cmd := command(t, "goodput", "run", "--dataset-name", "azure", "--dataset-path", fifo, "--out", filepath.Join(dir, "run"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGINT {
		t.Errorf("got %v", cmd.ProcessState)
	}
}

// A reader of stderr that is stuck costs its lines, and nothing else.
func TestStuckStderr(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := w.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Skip(err)
	}
	for err == nil { // until the pipe is full
		_, err = w.Write(make([]byte, 1024))
	}
	if err := syscall.SetNonblock(int(w.Fd()), false); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "goodput", "run", "--json", "--speed", "10", "--request-rate", "20", "--num-prompts", "100",
		"--out", filepath.Join(t.TempDir(), "run"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	_ = cmd.Wait()
	var j runJSON
	if err := json.Unmarshal(out.Bytes(), &j); err != nil || j.Requests != 100 {
		t.Errorf("%v after %v: %q", err, cmd.ProcessState, out.String())
	}
}
