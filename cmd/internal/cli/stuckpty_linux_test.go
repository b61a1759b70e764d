package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"goodput/report/query"
)

// stuckPTY is an environment on a real terminal, as the kernel makes them, whose other end
// nobody reads.
func stuckPTY(t testing.TB) (Env, *bytes.Buffer) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	fd := int(other.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 60, Col: 220}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Close() // whoever writes to the terminal is woken
		_ = terminal.Close()
	})
	fill(t, int(terminal.Fd()))
	out := new(bytes.Buffer)
	return Env{Stdout: out, Stderr: io.Discard, Getenv: func(string) string { return "" }, Keys: terminal, Screen: terminal}, out
}

// fill writes to a terminal until it takes no more, so that the first frame waits.
func fill(t testing.TB, fd int) {
	t.Helper()
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := unix.Write(fd, make([]byte, 512)); errors.Is(err, unix.EAGAIN) {
			break
		} else if err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
}

// TestStuckPTY: a run whose terminal is never read ends as one without a view, and has the
// same rows.
func TestStuckPTY(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits four seconds, for who might read the end after all")
	}
	dir := t.TempDir()
	var rows [2][]byte
	for i := range rows {
		env, out := stuckPTY(t)
		name := filepath.Join(dir, fmt.Sprint(i))
		env.Args = []string{
			"run", "--speed", "max", "--request-rate", "200", "--num-prompts", "4000", "--replicas", "2",
			"--random-input-len", "32", "--random-output-len", "4", "--out", name,
		}
		if i == 1 {
			env.Args = append(env.Args, "--tui")
		}
		if code := Main(env); code != exitOK {
			t.Fatalf("exit code %d: %s", code, out)
		}
		rows[i] = rowFiles(t, name)
	}
	if !bytes.Equal(rows[0], rows[1]) {
		t.Error("the rows differ")
	}
}

// BenchmarkStuckPTY runs 2,000 requests/s in real time without a view and with one on a
// terminal that nobody reads, in pairs whose order alternates. It reports the medians of
// both and the median of what a pair differs by: for the 99th percentile of the lag, the
// rate that was achieved and the processor time.
func BenchmarkStuckPTY(b *testing.B) {
	const lasts, pairs = 3 * time.Second, 5
	dir := b.TempDir()
	type result struct{ lag, rate, cpu float64 }
	once := func(name string, view bool) result {
		env, out := stuckPTY(b)
		env.Args = []string{"run", "--target", "null", "--request-rate", "2000", "--duration", lasts.String(), "--out", filepath.Join(dir, name)}
		if view {
			env.Args = append(env.Args, "--tui")
		}
		before, _ := processorTime()
		if code := Main(env); code != exitOK && code != exitInvalid {
			b.Fatalf("exit code %d: %s", code, out)
		}
		after, _ := processorTime()
		f, err := query.Load(filepath.Join(dir, name))
		if err != nil {
			b.Fatal(err)
		}
		lag, ok := f.Quantile("lag", 0.99)
		rate, known := f.Achieved()
		if !ok || !known {
			b.Fatal("the run tells neither a lag nor a rate")
		}
		return result{lag / 1e3, rate, (after - before).Seconds()}
	}
	var runs [2][]result // without, with
	for i := range b.N * pairs {
		var pair [2]result
		for k := range 2 {
			with := (i + k) % 2
			pair[with] = once(fmt.Sprintf("%d-%d", i, with), with == 1)
		}
		for k := range runs {
			runs[k] = append(runs[k], pair[k])
		}
	}
	median := func(of func(i int) float64) float64 {
		var all []float64
		for i := range runs[0] {
			all = append(all, of(i))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	for _, m := range []struct {
		name string
		of   func(r result) float64
	}{{"lag-p99-us", func(r result) float64 { return r.lag }}, {"achieved/s", func(r result) float64 { return r.rate }}, {"cpu-s", func(r result) float64 { return r.cpu }}} {
		b.ReportMetric(median(func(i int) float64 { return m.of(runs[0][i]) }), m.name)
		b.ReportMetric(median(func(i int) float64 { return m.of(runs[1][i]) }), "stuck-"+m.name)
		b.ReportMetric(median(func(i int) float64 { return m.of(runs[1][i]) / m.of(runs[0][i]) }), "stuck/none-"+m.name)
	}
	b.ReportMetric(0, "ns/op")
}
