package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/report/query"
)

// stuckScreen is an environment whose terminal nobody reads, and whose keys never come.
func stuckScreen(t testing.TB) (Env, *bytes.Buffer) {
	t.Helper()
	env, out := screenOn(t, func(*os.File) {})
	if err := env.Screen.SetWriteDeadline(clock.Wall().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := env.Screen.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the pipe takes all that it is given: %v", err)
	}
	if err := env.Screen.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	return env, out
}

// drainedScreen is one whose terminal takes all at once.
func drainedScreen(t testing.TB) (Env, *bytes.Buffer) {
	t.Helper()
	return screenOn(t, func(f *os.File) {
		go func() { _, _ = io.Copy(io.Discard, f) }()
	})
}

func screenOn(t testing.TB, read func(*os.File)) (Env, *bytes.Buffer) {
	t.Helper()
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = w.Close()
			_ = r.Close()
		})
		return r, w
	}
	shown, screen := pipe()
	keys, _ := pipe()
	read(shown)
	out := new(bytes.Buffer)
	return Env{Stdout: out, Stderr: io.Discard, Getenv: func(string) string { return "" }, Keys: keys, Screen: screen}, out
}

// TestStuckScreenChangesNoRow is invariant 12: with a terminal that is never read, the
// rows of a run are those of a run that nobody looks at.
func TestStuckScreenChangesNoRow(t *testing.T) {
	dir := t.TempDir()
	rows := map[string][]byte{}
	for _, name := range []string{"alone", "stuck"} {
		args := []string{
			"run", "--speed", "max", "--request-rate", "200", "--num-prompts", "2000", "--replicas", "2",
			"--random-input-len", "32", "--random-output-len", "4", "--out", filepath.Join(dir, name),
		}
		env, out := stuckScreen(t)
		if env.Args = args; name == "stuck" {
			env.Args = append(args, "--tui")
		} else {
			env.Keys, env.Screen = nil, nil
		}
		if code := Main(env); code != exitOK {
			t.Fatalf("%s: exit code %d: %s", name, code, out.String())
		}
		rows[name] = rowFiles(t, filepath.Join(dir, name))
	}
	if !bytes.Equal(rows["alone"], rows["stuck"]) {
		t.Error("the rows differ")
	}
}

// rowFiles is the text of the files of rows of a run.
func rowFiles(t testing.TB, run string) (text []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(run, "requests-*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, b...)
	}
	return text
}

// BenchmarkView runs 2,000 requests/s in real time without a view and with one: of one
// that nobody reads see BenchmarkStuckPTY. It reports how late the generator was, what was
// achieved, and the share of a core that the process takes.
func BenchmarkView(b *testing.B) {
	for _, c := range []struct {
		name string
		env  func(testing.TB) (Env, *bytes.Buffer)
	}{{"none", nil}, {"shown", drainedScreen}} {
		b.Run(c.name, func(b *testing.B) {
			const lasts = 5 * time.Second
			dir := b.TempDir()
			cpu := 0.0
			var f *query.Figures
			for i := range b.N {
				out := filepath.Join(dir, fmt.Sprint(i))
				args := []string{"run", "--target", "null", "--request-rate", "2000", "--duration", lasts.String(), "--out", out}
				env := Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
				if c.env != nil {
					env, _ = c.env(b)
					args = append(args, "--tui")
				}
				env.Args = args
				before, _ := processorTime()
				if code := Main(env); code != exitOK && code != exitInvalid {
					b.Fatalf("exit code %d", code)
				}
				after, _ := processorTime()
				cpu += (after - before).Seconds()
				var err error
				if f, err = query.Load(out); err != nil {
					b.Fatal(err)
				}
			}
			if lag, ok := f.Quantile("lag", 0.99); ok {
				b.ReportMetric(lag/1e3, "lag-p99-us")
			}
			if rate, ok := f.Achieved(); ok {
				b.ReportMetric(rate, "achieved/s")
			}
			b.ReportMetric(100*cpu/(float64(b.N)*lasts.Seconds()), "cpu-%")
		})
	}
}
