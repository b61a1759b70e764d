package cli

import (
	"fmt"
	"io"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
)

// Progress appears this often: one line rewritten on a terminal, a new line
// elsewhere.
const (
	terminalEvery = 200 * time.Millisecond
	linesEvery    = 5 * time.Second
)

// showProgress prints the live state to stderr until the returned function is
// called. It reads snapshots only: a stuck terminal holds up nothing but itself.
// now is the run's clock, or nil if only the loop knows the time.
func showProgress(env *Env, m *monitor.Monitor, now clock.Stamper) (stop func()) {
	every := linesEvery
	if env.Terminal {
		every = terminalEvery
	}
	halt := clock.Every(every, func() {
		at := clock.Never
		if now != nil {
			at = now.Stamp()
		}
		printProgress(env.Stderr, env.Terminal, m.Snapshot(at))
	})
	return func() {
		halt()
		if env.Terminal {
			fmt.Fprint(env.Stderr, clearLine)
		}
	}
}

// clearLine returns to the start of the line and empties it.
const clearLine = "\r\x1b[K"

func printProgress(w io.Writer, terminal bool, s monitor.Snapshot) {
	line := fmt.Sprintf("%s  sent %d", time.Duration(s.Elapsed).Round(time.Second), s.Sent)
	if s.Total > 0 {
		line += fmt.Sprintf("/%d", s.Total)
	}
	line += fmt.Sprintf("  in flight %d  done %d  errors %d", s.InFlight, s.Completed(), s.Errors())
	if v := s.TTFTP95.Recent; v != record.Null {
		line += fmt.Sprintf("  ttft p95 %.0f ms", float64(v)/1e6)
	}
	if v := s.LagP99.Recent; v != record.Null {
		line += fmt.Sprintf("  lag p99 %.2f ms", float64(v)/1e6)
	}
	if terminal {
		fmt.Fprint(w, clearLine, line)
		return
	}
	fmt.Fprintln(w, line)
}
