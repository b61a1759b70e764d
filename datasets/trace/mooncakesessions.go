package trace

import (
	"encoding/json"
	"time"

	"goodput/datasets"
	"goodput/loadgen/rng"
)

// mooncakeSessions reads the dialect of Mooncake's format in which rows belong to
// sessions: the first row of a session has a timestamp, the others a delay after
// the row before, both in milliseconds, and input_length and hash_ids cover what a
// row adds to the context so far.
type mooncakeSessions struct {
	l     *lines
	ahead []byte
	keys  rng.Family
	open  map[string]*openSession
}

// openSession is what later rows of a session need.
type openSession struct {
	at      int64 // arrival in ns
	context int   // tokens of the last prompt and answer
}

func newMooncakeSessions(l *lines, first []byte) *mooncakeSessions {
	return &mooncakeSessions{l: l, ahead: first, keys: rng.Of(0, "mooncake block"), open: map[string]*openSession{}}
}

func (*mooncakeSessions) traits() Traits {
	return Traits{Timed: true, Waits: true, Identified: true, Block: mooncakeBlock}
}

// sessionRow is a line of the dialect.
type sessionRow struct {
	Session   *string     `json:"session_id"`
	In        *int        `json:"input_length"`
	Out       *int        `json:"output_length"`
	IDs       []int64     `json:"hash_ids"`
	Timestamp json.Number `json:"timestamp"`
	Delay     json.Number `json:"delay"`
}

func (m *mooncakeSessions) next(r *Row) error {
	line := m.ahead
	if m.ahead = nil; line == nil {
		var err error
		if line, err = m.l.next(); err != nil {
			return err
		}
	}
	var row sessionRow
	if err := m.l.object(line, &row); err != nil {
		return err
	}
	if row.Session == nil || *row.Session == "" {
		return m.l.errorf("session_id", "found a row without a session among rows of sessions, where input_length counts only new tokens: expected it in every row")
	}
	if err := m.l.lengths(row.In, row.Out, "input_length", "output_length"); err != nil {
		return err
	}
	if want := (*row.In + mooncakeBlock - 1) / mooncakeBlock; row.IDs != nil && len(row.IDs) != want {
		return m.l.errorf("hash_ids", "found %d ids, expected %d, one for each block of %d tokens of an input_length of %d", len(row.IDs), want, mooncakeBlock, *row.In)
	}
	r.alone()
	r.Line, r.Session, r.Out = m.l.n, *row.Session, *row.Out
	if err := m.place(r, &row); err != nil {
		return err
	}
	if r.In = r.Keep + *row.In; r.In > datasets.MaxTokens {
		return m.l.errorf("input_length", "the context grows to %d tokens, more than %d", r.In, datasets.MaxTokens)
	}
	r.Append = blocks(r.Append, m.keys, row.IDs, mooncakeBlock, *row.In)
	m.open[r.Session].context = r.In + r.Out
	return nil
}

// place finds the row's arrival, wait and context.
func (m *mooncakeSessions) place(r *Row, row *sessionRow) error {
	s := m.open[r.Session]
	if s == nil {
		at, ok := parseDecimal([]byte(row.Timestamp), 1e6)
		if !ok || at < 0 {
			return m.l.errorf("timestamp", "found %q in the first row of session %s, expected a number of milliseconds that is not negative", row.Timestamp, r.Session)
		}
		m.open[r.Session] = &openSession{at: at}
		r.At = at
		return nil
	}
	delay, ok := parseDecimal([]byte(row.Delay), 1e6)
	if !ok || delay < 0 {
		return m.l.errorf("delay", "found %q in a later row of session %s, expected a number of milliseconds that is not negative", row.Delay, r.Session)
	}
	r.At, r.Before, r.Keep = s.at, time.Duration(delay), s.context
	return nil
}
