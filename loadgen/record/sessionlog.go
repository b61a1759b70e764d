package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"goodput/loadgen/clock"
)

// SessionsName is the file of the sessions of a run; a run without sessions has none.
const SessionsName = "sessions-00001.parquet"

// CounterSessionsDropped counts sessions without a row, for want of room in the queue
// or on the disk; their requests are not affected.
const CounterSessionsDropped = "record_sessions_dropped"

const (
	sessionBatch   = 256
	sessionBatches = 64
	sessionGroup   = 1 << 16 // rows in memory before they become a row group
)

// sessionRow is a Session as the file has it.
type sessionRow struct {
	SessionID    string  `parquet:"session_id"`
	Tenant       *string `parquet:"tenant,optional,dict"`
	Arrival      int64   `parquet:"arrival"`
	Ended        *int64  `parquet:"ended,optional"`
	Outcome      string  `parquet:"outcome,dict"`
	Threads      int32   `parquet:"threads"`
	StepsPlanned int32   `parquet:"steps_planned"`
	StepsOK      int32   `parquet:"steps_ok"`
	StepsFailed  int32   `parquet:"steps_failed"`
	StepsUnsent  int32   `parquet:"steps_unsent"`
	PromptTokens int64   `parquet:"prompt_tokens"`
	OutputTokens int64   `parquet:"output_tokens"`
	Underway     bool    `parquet:"underway"`
	Queued       int64   `parquet:"queued"`
	SCT          *int64  `parquet:"sct,optional"`
	ModelTime    *int64  `parquet:"model_time,optional"`
	WaitTime     *int64  `parquet:"wait_time,optional"`
	Lag          *int64  `parquet:"lag,optional"`
}

// SessionLog writes the sessions of a run beside its requests. Write belongs to one
// goroutine; another one does the writing, so that a slow disk holds up nobody: what
// finds no room is dropped and counted, or waits if blocking was asked for, as in
// virtual time. The file appears under its name when it is complete.
type SessionLog struct {
	path     string
	blocking bool
	batch    []Session
	full     chan []Session
	done     chan error
	dropped  int64
}

// NewSessionLog starts the file in dir.
func NewSessionLog(dir string, blocking bool) (*SessionLog, error) {
	path := filepath.Join(dir, SessionsName)
	f, err := os.Create(path + tmpSuffix)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", SessionsName, err)
	}
	l := &SessionLog{path: path, blocking: blocking, full: make(chan []Session, sessionBatches), done: make(chan error, 1)}
	go func() { l.done <- writeSessions(f, l.full) }()
	return l, nil
}

// Write takes a copy of s; its strings must stay as they are.
func (l *SessionLog) Write(s *Session) {
	if l.batch == nil {
		l.batch = make([]Session, 0, sessionBatch)
	}
	if l.batch = append(l.batch, *s); len(l.batch) == sessionBatch {
		l.pass()
	}
}

func (l *SessionLog) pass() {
	if l.blocking {
		l.full <- l.batch
		l.batch = nil
		return
	}
	select {
	case l.full <- l.batch:
		l.batch = nil
	default:
		l.dropped += int64(len(l.batch))
		l.batch = l.batch[:0]
	}
}

// Close completes the file. Dropped is the number of sessions that are not in it.
func (l *SessionLog) Close() (dropped int64, err error) {
	if len(l.batch) > 0 {
		l.full <- l.batch
	}
	close(l.full)
	if err := <-l.done; err != nil {
		return l.dropped, fmt.Errorf("write %s: %w", SessionsName, err)
	}
	if err := os.Rename(l.path+tmpSuffix, l.path); err != nil {
		return l.dropped, fmt.Errorf("write %s: %w", SessionsName, err)
	}
	return l.dropped, nil
}

// writeSessions writes batches until there are no more. After an error it goes on
// taking them, so that nobody waits.
func writeSessions(f *os.File, batches <-chan []Session) error {
	w := parquet.NewGenericWriter[sessionRow](f, parquet.Compression(&parquet.Zstd))
	var rows []sessionRow
	var failure error
	held := 0
	for b := range batches {
		if failure != nil {
			continue
		}
		rows = rows[:0]
		for i := range b {
			rows = append(rows, b[i].row())
		}
		_, failure = w.Write(rows)
		if held += len(rows); failure == nil && held >= sessionGroup {
			held, failure = 0, w.Flush()
		}
	}
	if failure == nil {
		failure = w.Close()
	}
	if failure == nil {
		failure = f.Sync()
	}
	return errors.Join(failure, f.Close())
}

func (s *Session) row() sessionRow {
	r := sessionRow{
		SessionID: s.SessionID, Arrival: int64(s.Arrival), Ended: orNil(int64(s.Ended)), Outcome: s.Outcome.String(),
		Threads: s.Threads, StepsPlanned: s.StepsPlanned, StepsOK: s.StepsOK, StepsFailed: s.StepsFailed, StepsUnsent: s.StepsUnsent,
		PromptTokens: s.PromptTokens, OutputTokens: s.OutputTokens,
		Underway: s.Underway, Queued: s.Queued,
		SCT: orNil(s.SCT), ModelTime: orNil(s.ModelTime), WaitTime: orNil(s.WaitTime), Lag: orNil(s.Lag),
	}
	if s.Tenant != "" {
		r.Tenant = &s.Tenant
	}
	return r
}

func (r *sessionRow) session() (Session, error) {
	s := Session{
		SessionID: r.SessionID, Arrival: clock.Time(r.Arrival), Ended: clock.Time(orNull(r.Ended)),
		Threads: r.Threads, StepsPlanned: r.StepsPlanned, StepsOK: r.StepsOK, StepsFailed: r.StepsFailed, StepsUnsent: r.StepsUnsent,
		PromptTokens: r.PromptTokens, OutputTokens: r.OutputTokens,
		Underway: r.Underway, Queued: r.Queued,
		SCT: orNull(r.SCT), ModelTime: orNull(r.ModelTime), WaitTime: orNull(r.WaitTime), Lag: orNull(r.Lag),
	}
	if r.Tenant != nil {
		s.Tenant = *r.Tenant
	}
	for o, name := range sessionOutcomes {
		if name == r.Outcome {
			s.Outcome = SessionOutcome(o)
			return s, nil
		}
	}
	return s, fmt.Errorf("session %s has the unknown outcome %q; use the release that wrote it", r.SessionID, r.Outcome)
}

func orNil(v int64) *int64 {
	if v == Null {
		return nil
	}
	return &v
}

func orNull(v *int64) int64 {
	if v == nil {
		return Null
	}
	return *v
}

// Sessions calls f for every session of the run, in the order in which they ended.
// found is false for a run without the file: one that has no sessions, or that was cut
// off before the file was complete.
func (r *Run) Sessions(f func(*Session) error) (found bool, err error) {
	in, err := os.Open(filepath.Join(r.Dir, SessionsName))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read sessions: %w", err)
	}
	defer in.Close()
	return true, readSessions(in, f)
}

func readSessions(in *os.File, f func(*Session) error) error {
	info, err := in.Stat()
	if err != nil {
		return fmt.Errorf("read sessions: %w", err)
	}
	file, err := parquet.OpenFile(in, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", in.Name(), err)
	}
	rows := parquet.NewGenericReader[sessionRow](file)
	defer rows.Close()
	buf := make([]sessionRow, sessionBatch)
	for {
		n, err := rows.Read(buf)
		for i := range buf[:n] {
			s, bad := buf[i].session()
			if bad != nil {
				return fmt.Errorf("read %s: %w", in.Name(), bad)
			}
			if e := f(&s); e != nil {
				return e
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", in.Name(), err)
		}
	}
}
