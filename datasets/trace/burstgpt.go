package trace

import "io"

// burstGPT reads the CSV of the BurstGPT traces, with and without the two columns
// for sessions. Lengths are as logged: those of a conversation contain its history.
type burstGPT struct {
	csv    *csvRows
	failed int
}

// The wanted columns.
const (
	burstTime = iota
	burstIn
	burstOut
	burstSession
)

func newBurstGPT(r io.Reader, path string, _ Options) (source, error) {
	l := newLines(r, path)
	rows, err := newCSVRows(l, []string{"Timestamp", "Request tokens", "Response tokens"}, []string{"Session ID"})
	if err != nil {
		return nil, err
	}
	return &burstGPT{csv: rows}, nil
}

func (*burstGPT) traits() Traits { return Traits{Timed: true, Recorded: true} }

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
		r.Session = string(f[burstSession])
		return nil
	}
}
