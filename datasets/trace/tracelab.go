package trace

import (
	"io"
	"math"
	"strconv"
	"time"

	"goodput/datasets"
)

// traceLab reads the replay CSV of TraceLab: one row for each step of a session,
// with the tokens kept of the context before it, the tokens appended, and the wait
// after its answer. arrival_time is the session's; without it the trace is not
// timed. The columns after tool_wait_after_ms are ours.
type traceLab struct{ csv *csvRows }

// The wanted columns: the required ones, and the others.
const (
	labRound = iota
	labPrefix
	labIn
	labOut
	labWait
	labSession
	labID
	labArrival
	labThread
	labParent
	labSpawn
	labJoin
	labTrigger
	labTenant
	labBefore
)

var (
	labRequired = []string{"round_idx", "prefix_len", "input_len", "output_len", "tool_wait_after_ms"}
	labOptional = []string{"session_id", "id", "arrival_time", "thread", "parent_thread", "spawn_round", "join_round", "trigger", "tenant", "wait_before_ms"}
)

func newTraceLab(r io.Reader, path string, _ Options) (source, error) {
	l := newLines(r, path)
	rows, err := newCSVRows(l, labRequired, labOptional)
	if err != nil {
		return nil, err
	}
	if rows.has[labSession] == rows.has[labID] {
		return nil, l.errorf("header", "found both or none of session_id and id, expected one of them")
	}
	return &traceLab{rows}, nil
}

func (t *traceLab) traits() Traits {
	return Traits{Timed: t.csv.has[labArrival], Waits: true, Identified: true}
}

func (t *traceLab) next(r *Row) error {
	if err := t.csv.next(); err != nil {
		return err
	}
	f, l := t.csv.fields, t.csv.l
	r.alone()
	r.Line = l.n
	if r.Session = string(f[labSession]) + string(f[labID]); r.Session == "" {
		return l.errorf("session_id", "found none, expected it in every row")
	}
	var err error
	if r.Keep, err = l.tokens("prefix_len", f[labPrefix], 0); err != nil {
		return err
	}
	added, err := l.tokens("input_len", f[labIn], 0)
	if err != nil {
		return err
	}
	if r.In = r.Keep + added; r.In < 1 || r.In > datasets.MaxTokens {
		return l.errorf("input_len", "found a prompt of %d tokens, expected 1 to %d", r.In, datasets.MaxTokens)
	}
	if r.Out, err = l.tokens("output_len", f[labOut], 1); err != nil {
		return err
	}
	for _, w := range []struct {
		column int
		name   string
		to     *time.Duration
	}{{labWait, "tool_wait_after_ms", &r.After}, {labBefore, "wait_before_ms", &r.Before}, {labArrival, "arrival_time", (*time.Duration)(&r.At)}} {
		if !t.csv.has[w.column] {
			continue
		}
		ns, ok := parseDecimal(f[w.column], 1e6)
		if !ok || ns < 0 {
			return l.errorf(w.name, "found %s, expected a number of milliseconds that is not negative", quote(f[w.column]))
		}
		*w.to = time.Duration(ns)
	}
	if _, err := l.tokens("round_idx", f[labRound], 0); err != nil {
		return err
	}
	return t.place(r)
}

// place reads our own columns.
func (t *traceLab) place(r *Row) error {
	f, l := t.csv.fields, t.csv.l
	var tenant int
	for _, c := range []struct {
		column int
		name   string
		to     *int
	}{{labThread, "thread", &r.Thread}, {labParent, "parent_thread", &r.Parent}, {labSpawn, "spawn_round", &r.Spawn}, {labJoin, "join_round", &r.Join}, {labTenant, "tenant", &tenant}} {
		if !t.csv.has[c.column] {
			continue
		}
		most := int64(math.MaxInt32)
		if c.column == labTenant {
			most = math.MaxUint32
		}
		n, err := strconv.ParseInt(string(f[c.column]), 10, 64)
		if err != nil || n > most || n < -1 || n < 0 && (c.column == labThread || c.column == labTenant) {
			return l.errorf(c.name, "found %s, expected a whole number", quote(f[c.column]))
		}
		*c.to = int(n)
	}
	r.Tenant = uint32(tenant)
	if t.csv.has[labTrigger] {
		var ok bool
		if r.Trigger, ok = datasets.ParseTrigger(string(f[labTrigger])); !ok {
			return l.errorf("trigger", "found %s, expected user, tool, join, compaction or spawn", quote(f[labTrigger]))
		}
	} else if n, _ := parseTokens(f[labRound]); n > 0 {
		r.Trigger = datasets.ByTool
	}
	return nil
}
