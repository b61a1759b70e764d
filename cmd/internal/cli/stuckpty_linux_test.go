package cli

import (
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

// stuckTerminal is a terminal of the kernel, of 120 by 40, whose other end nobody reads.
func stuckTerminal(t testing.TB) *os.File {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = other.Close() })
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
	t.Cleanup(func() { _ = terminal.Close() })
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		t.Fatal(err)
	}
	return terminal
}

// BenchmarkStuckTerminal runs 2,000 requests/s in real time without a view and with one
// on a terminal that nobody reads, in turn, in pairs, and reports the medians of how late
// the generator was and of what was achieved, of both.
func BenchmarkStuckTerminal(b *testing.B) {
	var lag, rate [2][]float64
	dir := b.TempDir()
	for pair := range max(b.N, 5) {
		for k := range 2 {
			stuck := (k+pair)%2 == 1
			out := filepath.Join(dir, fmt.Sprint(pair, k))
			env := Env{
				Args:   []string{"run", "--target", "null", "--request-rate", "2000", "--duration", (5 * time.Second).String(), "--out", out},
				Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" },
			}
			at := 0
			if stuck {
				terminal := stuckTerminal(b)
				env.Args, env.Keys, env.Screen, at = append(env.Args, "--tui"), terminal, terminal, 1
			}
			if code := Main(env); code != exitOK && code != exitInvalid {
				b.Fatalf("exit code %d", code)
			}
			f, err := query.Load(out)
			if err != nil {
				b.Fatal(err)
			}
			late, ok1 := f.Quantile("lag", 0.99)
			achieved, ok2 := f.Achieved()
			if !ok1 || !ok2 {
				b.Fatal("no lag, or no rate")
			}
			lag[at], rate[at] = append(lag[at], late/1e3), append(rate[at], achieved)
		}
	}
	for i, name := range []string{"none", "stuck"} {
		b.ReportMetric(middle(lag[i]), "lag-p99-us-"+name)
		b.ReportMetric(middle(rate[i]), "achieved/s-"+name)
	}
}

// middle is the median of some.
func middle(v []float64) float64 {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
