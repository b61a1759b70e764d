package trace

import (
	"io"
	"math"
	"time"
)

// burstGPT reads the CSV of the BurstGPT traces, with and without the two columns
// for sessions. Lengths are as logged: those of a conversation contain its history. A failure
// leaves no trace in the waits of its session.
type burstGPT struct {
	csv    *csvRows
	failed int
	// ends holds when each session's last answer was over, in ns.
	ends map[string]int64
}

// The wanted columns.
const (
	burstTime = iota
	burstIn
	burstOut
	burstSession
	burstElapsed
)

func newBurstGPT(r io.Reader, path string, _ Options) (source, error) {
	l := newLines(r, path)
	rows, err := newCSVRows(l, []string{"Timestamp", "Request tokens", "Response tokens"}, []string{"Session ID", "Elapsed time"})
	if err != nil {
		return nil, err
	}
	return &burstGPT{csv: rows, ends: map[string]int64{}}, nil
}

func (b *burstGPT) traits() Traits {
	return Traits{Timed: true, Recorded: true, Waits: b.csv.has[burstElapsed]}
}

func (b *burstGPT) dropped() (int, string) { return b.failed, "failures, logged without an answer" }

func (b *burstGPT) next(r *Row) error {
	for {
		if err := b.csv.next(); err != nil {
			return err
		}
		f, l := b.csv.fields, b.csv.l
		r.alone()
		r.Line = l.n
		var ok bool
		if r.At, ok = parseDecimal(f[burstTime], 1e9); !ok || r.At < 0 {
			return l.errorf("Timestamp", "found %s, expected a number of seconds that is not negative", quote(f[burstTime]))
		}
		var err error
		if r.In, err = l.tokens("Request tokens", f[burstIn], 0); err != nil {
			return err
		}
		if r.Out, err = l.tokens("Response tokens", f[burstOut], 0); err != nil {
			return err
		}
		if r.Out == 0 {
			b.failed++
			continue
		}
		if r.In == 0 {
			return l.errorf("Request tokens", "found 0 with an answer of %d tokens, expected at least 1", r.Out)
		}
		if r.Session = string(f[burstSession]); r.Session != "" && b.csv.has[burstElapsed] {
			return b.wait(r)
		}
		return nil
	}
}

// wait finds how long the user took after the answer before, which the recorded
// system gave in the elapsed time of its row. Rows of a session that overlap wait for
// nothing.
func (b *burstGPT) wait(r *Row) error {
	elapsed, ok := parseDecimal(b.csv.fields[burstElapsed], 1e9)
	if !ok || elapsed < 0 {
		return b.csv.l.errorf("Elapsed time", "found %s, expected a number of seconds that is not negative", quote(b.csv.fields[burstElapsed]))
	}
	end, seen := b.ends[r.Session]
	if seen {
		r.Before = time.Duration(max(0, r.At-end))
	}
	b.ends[r.Session] = max(end, r.At+min(elapsed, math.MaxInt64-r.At))
	return nil
}
