package trace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"goodput/datasets"
)

// nativeVersion is the version of our own format that is read and written.
const nativeVersion = 1

// nativeHeader is the first line of a file in our own format.
type nativeHeader struct {
	Version    int   `json:"goodput_trace"`
	Timed      bool  `json:"timed"`
	Recorded   bool  `json:"recorded"`
	Waits      *bool `json:"waits,omitempty"` // absent: true
	Identified bool  `json:"identified"`
	Chained    bool  `json:"chained,omitempty"`
	Estimated  bool  `json:"estimated,omitempty"`
	Planned    bool  `json:"planned,omitempty"`
	Block      int   `json:"block,omitempty"`
}

// nativeRow is a line: all of a Row. Times are ns. Without parent, spawn and join
// the row is of a main thread. What follows tenant is only in planned rows, which
// must have out_key.
type nativeRow struct {
	At      int64      `json:"at_ns"`
	In      *int       `json:"in"`
	Out     *int       `json:"out"`
	Keep    int        `json:"keep,omitempty"`
	Append  [][]uint64 `json:"append,omitempty"` // see nativeSpan
	Session string     `json:"session,omitempty"`
	Thread  int        `json:"thread,omitempty"`
	Parent  *int       `json:"parent,omitempty"`
	Spawn   *int       `json:"spawn,omitempty"`
	Join    *int       `json:"join,omitempty"`
	Before  int64      `json:"wait_before_ns,omitempty"`
	After   int64      `json:"wait_after_ns,omitempty"`
	Trigger string     `json:"trigger,omitempty"`
	Tenant  uint32     `json:"tenant,omitempty"`

	OutKey       *uint64 `json:"out_key,omitempty"`
	Reasoning    int     `json:"reasoning,omitempty"`
	Name         string  `json:"name,omitempty"`
	Prefix       uint64  `json:"prefix,omitempty"`
	Conversation uint64  `json:"conversation,omitempty"`
	Turn         uint16  `json:"turn,omitempty"`
}

// native reads goodput's own JSONL.
type native struct {
	l      *lines
	header nativeHeader
	// What a planned file has: it can't have both.
	sessions, conversations bool
}

func newNative(r io.Reader, path string, _ Options) (source, error) {
	l := newLines(r, path)
	line, err := l.next()
	if errors.Is(err, io.EOF) {
		return nil, l.empty()
	}
	if err != nil {
		return nil, err
	}
	n := &native{l: l}
	if err := l.object(line, &n.header); err != nil {
		return nil, err
	}
	if n.header.Version != nativeVersion {
		return nil, l.errorf("goodput_trace", "found version %d, expected %d in the first line", n.header.Version, nativeVersion)
	}
	return n, nil
}

func (n *native) traits() Traits {
	h := &n.header
	return Traits{Timed: h.Timed, Recorded: h.Recorded, Waits: h.Waits == nil || *h.Waits, Identified: h.Identified, Chained: h.Chained, Estimated: h.Estimated, Planned: h.Planned, Block: h.Block}
}

func (n *native) next(r *Row) error {
	line, err := n.l.next()
	if err != nil {
		return err
	}
	var row nativeRow
	if err := n.l.object(line, &row); err != nil {
		return err
	}
	if err := n.l.lengths(row.In, row.Out, "in", "out"); err != nil {
		return err
	}
	r.alone()
	r.Line, r.At, r.In, r.Out, r.Keep = n.l.n, row.At, *row.In, *row.Out, row.Keep
	if row.Before < 0 || row.After < 0 || row.Thread < 0 || row.At < 0 {
		return n.l.errorf("row", "found a negative time, wait or thread, expected none below 0")
	}
	r.Session, r.Thread, r.Tenant = row.Session, row.Thread, row.Tenant
	r.Before, r.After = time.Duration(row.Before), time.Duration(row.After)
	for _, f := range []struct {
		from *int
		to   *int
	}{{row.Parent, &r.Parent}, {row.Spawn, &r.Spawn}, {row.Join, &r.Join}} {
		if f.from != nil {
			*f.to = *f.from
		}
	}
	if row.Trigger != "" {
		var ok bool
		if r.Trigger, ok = datasets.ParseTrigger(row.Trigger); !ok {
			return n.l.errorf("trigger", "found %q, expected user, tool, join, compaction or spawn", row.Trigger)
		}
	}
	if err := n.planned(r, &row); err != nil {
		return err
	}
	return n.content(r, row.Append)
}

// content checks that what is appended makes up the prompt.
func (n *native) content(r *Row, list [][]uint64) error {
	sum := r.Keep
	for _, numbers := range list {
		s, why := readSpan(numbers, n.header.Planned)
		if why != "" {
			return n.l.errorf("append", "%s", why)
		}
		if sum += s.Tokens; sum > datasets.MaxTokens {
			break
		}
		r.Append = append(r.Append, s)
	}
	if (len(list) > 0 || n.header.Planned) && sum != r.In {
		return n.l.errorf("append", "found %d tokens kept and appended, expected the %d of in", sum, r.In)
	}
	return nil
}

// nativeWriter writes our own format.
type nativeWriter struct {
	w       *bufio.Writer
	planned bool
}

func newNativeWriter(w io.Writer, t Traits) (*nativeWriter, error) {
	n := &nativeWriter{bufio.NewWriter(w), t.Planned}
	return n, n.line(nativeHeader{nativeVersion, t.Timed, t.Recorded, &t.Waits, t.Identified, t.Chained, t.Estimated, t.Planned, t.Block})
}

func (n *nativeWriter) line(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing a row: %w", err)
	}
	if _, err := n.w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing a row: %w", err)
	}
	return nil
}

func (n *nativeWriter) write(r *Row) error {
	row := nativeRow{
		At: r.At, In: &r.In, Out: &r.Out, Keep: r.Keep, Session: r.Session, Thread: r.Thread,
		Before: int64(r.Before), After: int64(r.After), Tenant: r.Tenant,
	}
	for _, s := range r.Append {
		row.Append = append(row.Append, nativeSpan(s, n.planned))
	}
	if n.planned {
		row.OutKey, row.Reasoning, row.Name = &r.OutKey, r.Reasoning, r.Name
		row.Prefix, row.Conversation, row.Turn = r.Prefix, r.Conversation, r.Turn
	}
	if r.Trigger != datasets.ByUser {
		row.Trigger = r.Trigger.String()
	}
	if r.Parent != -1 || r.Spawn != -1 || r.Join != -1 {
		row.Parent, row.Spawn, row.Join = &r.Parent, &r.Spawn, &r.Join
	}
	return n.line(&row)
}

func (n *nativeWriter) flush() error { return n.w.Flush() }
