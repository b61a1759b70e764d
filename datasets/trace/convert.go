package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Convert writes the rows of d to w in the format to, TraceLab or Native. Native
// holds everything that a Row does. TraceLab holds sessions whose steps are given by
// lengths and waits; a row with more than that is an error, unless lossy allows to
// leave out content keys and recorded times of steps, and to make a session of each
// row that has none. lost tells what was left out, and is empty if nothing was.
func Convert(d *Reader, w io.Writer, to Format, lossy bool) (lost []Loss, err error) {
	var r Row
	if err = d.Next(&r); err != nil { // traits are known only then
		return nil, err
	}
	var out interface {
		write(r *Row) error
		flush() error
	}
	var lab *labWriter
	switch to {
	case Native:
		out, err = newNativeWriter(w, d.Traits())
	case TraceLab:
		lab, err = newLabWriter(w, d.Traits(), lossy)
		out = lab
	default:
		return nil, fmt.Errorf("format %q can't be written: use %s or %s", to, TraceLab, Native)
	}
	for err == nil {
		if err = out.write(&r); err == nil {
			err = d.Next(&r)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if lab != nil {
		lost = lab.losses()
	}
	return lost, out.flush()
}

// Loss is something that a format can't hold, and the number of rows that had it.
type Loss struct {
	What string
	Rows int
}

// What a row loses in TraceLab's CSV, in the order of reports.
const (
	lostContent = iota
	lostSession
	lostTime
	lostAnswer
	lostReuse
	lostEstimate
	lostKinds
)

var lostNames = [lostKinds]string{
	"the content of prompts", "that they have no session", "the times of steps", "the keys and the reasoning of planned answers",
	"that it is unknown which prompts begin alike", "that lengths are estimates",
}

// labWriter writes TraceLab's replay CSV, with all of our columns.
type labWriter struct {
	w      *bufio.Writer
	traits Traits
	lossy  bool
	rounds map[labThreadID]int
	first  map[string]int64 // arrival of each session
	rows   int
	lost   [lostKinds]int // rows
}

type labThreadID struct {
	session string
	thread  int
}

func newLabWriter(w io.Writer, t Traits, lossy bool) (*labWriter, error) {
	if !lossy {
		for _, lost := range []struct {
			is   bool
			what string
		}{
			{t.Timed && t.Recorded, "the recorded times of steps"},
			{!t.Identified, "that it is unknown which prompts begin alike"},
			{t.Estimated, "that lengths are estimates"},
			{t.Block > 0, "the ids of prompt blocks"},
			{t.Planned, "the keys of planned answers"},
		} {
			if lost.is {
				return nil, fmt.Errorf("%s would lose %s: convert to %s, or allow it with --lossy", TraceLab, lost.what, Native)
			}
		}
	}
	l := &labWriter{w: bufio.NewWriter(w), traits: t, lossy: lossy, rounds: map[labThreadID]int{}, first: map[string]int64{}}
	header := "session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms,thread,parent_thread,spawn_round,join_round,trigger,tenant,wait_before_ms"
	if l.traits.Timed {
		header = "arrival_time," + header
	}
	_, err := l.w.WriteString(header + "\n")
	return l, err
}

func (l *labWriter) write(r *Row) error {
	l.rows++
	session := r.Session
	if !l.lossy && (session == "" || len(r.Append) > 0) {
		what := "its content"
		if session == "" {
			what = "that it has no session"
		}
		return fmt.Errorf("row %d: %s would lose %s: convert to %s, or allow it with --lossy", l.rows, TraceLab, what, Native)
	}
	if strings.ContainsAny(session, ",\"\r\n") {
		return fmt.Errorf("row %d: session %q has a comma, a quote or a line break, which %s can't hold: convert to %s", l.rows, session, TraceLab, Native)
	}
	if session == "" {
		session = fmt.Sprintf("row-%d", l.rows)
	}
	if _, seen := l.first[session]; !seen {
		l.first[session] = r.At
	}
	at := l.first[session]
	if !l.lossy && at != r.At {
		return fmt.Errorf("row %d: session %s has two arrivals: %s holds one", l.rows, session, TraceLab)
	}
	l.count(r, at)
	id := labThreadID{session, r.Thread}
	round := l.rounds[id]
	l.rounds[id]++
	if l.traits.Timed {
		fmt.Fprintf(l.w, "%s,", formatDecimal(at, 1e6))
	}
	_, err := fmt.Fprintf(l.w, "%s,%d,%d,%d,%d,%s,%d,%d,%d,%d,%s,%d,%s\n", session, round, r.Keep, r.In-r.Keep, r.Out,
		formatDecimal(int64(r.After), 1e6), r.Thread, r.Parent, r.Spawn, r.Join, r.Trigger, r.Tenant, formatDecimal(int64(r.Before), 1e6))
	return err
}

// count notes what the row loses, which arrives at the time at.
func (l *labWriter) count(r *Row, at int64) {
	for i, is := range [lostKinds]bool{
		lostContent: len(r.Append) > 0, lostSession: r.Session == "",
		lostTime:   l.traits.Timed && l.traits.Recorded && at != r.At,
		lostAnswer: l.traits.Planned, lostReuse: !l.traits.Identified, lostEstimate: l.traits.Estimated,
	} {
		if is {
			l.lost[i]++
		}
	}
}

// losses lists what was lost.
func (l *labWriter) losses() []Loss {
	var out []Loss
	for i, n := range l.lost {
		if n > 0 {
			out = append(out, Loss{lostNames[i], n})
		}
	}
	return out
}

func (l *labWriter) flush() error { return l.w.Flush() }
