package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// CounterSessionsDropped counts sessions without a row, for want of room in the queue
// or on the disk; their requests are not affected.
const CounterSessionsDropped = "record_sessions_dropped"

const (
	sessionPrefix  = "sessions-"
	sessionQueue   = 1 << 14
	sessionSegment = 1 << 14 // rows in memory before they become a file
	sessionWALHead = "goodput-sessions-wal 1\n"
)

// sessionFile is the name of segment n, from 1.
func sessionFile(n int, suffix string) string {
	return fmt.Sprintf("%s%05d%s", sessionPrefix, n, suffix)
}

// sessionNumber is the inverse of sessionFile.
func sessionNumber(name, suffix string) (n int, ok bool) {
	s, ok1 := strings.CutPrefix(name, sessionPrefix)
	s, ok2 := strings.CutSuffix(s, suffix)
	n, err := strconv.Atoi(s)
	if !ok1 || !ok2 || err != nil || n < 1 || sessionFile(n, suffix) != name {
		return 0, false
	}
	return n, true
}

// SessionLog writes the sessions of a run beside its requests, and as they are: into
// a write-ahead file at once, and into a Parquet file when there are enough of them
// or at Close. Write belongs to one goroutine; another one does the writing, so that a
// slow disk holds up nobody: what finds no room in the queue is dropped and counted,
// or waits if blocking was asked for, as in virtual time.
type SessionLog struct {
	blocking bool
	queue    chan Session
	done     chan error
	dropped  int64
}

// NewSessionLog starts the first file in dir. complete, if not nil, adds to each
// session what can be told after its end; it is called on the log's own goroutine.
func NewSessionLog(dir string, blocking bool, complete func(*Session)) (*SessionLog, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("write sessions: %w", err)
	}
	// The run's Writer holds the lock of the directory.
	w := sessionWriter{disk: newOSDisk(dir, f), complete: complete}
	if err := w.open(1); err != nil {
		return nil, errors.Join(fmt.Errorf("write sessions: %w", err), w.disk.close())
	}
	l := &SessionLog{blocking: blocking, queue: make(chan Session, sessionQueue), done: make(chan error, 1)}
	go func() { l.done <- w.run(l.queue) }()
	return l, nil
}

// Write takes a copy of s; its strings must stay as they are.
func (l *SessionLog) Write(s *Session) {
	c := *s
	c.Turns = slices.Clone(s.Turns)
	if l.blocking {
		l.queue <- c
		return
	}
	select {
	case l.queue <- c:
	default:
		l.dropped++
	}
}

// Close completes the files. Dropped is the number of sessions that are not in them.
func (l *SessionLog) Close() (dropped int64, err error) {
	close(l.queue)
	if err := <-l.done; err != nil {
		return l.dropped, fmt.Errorf("write sessions: %w", err)
	}
	return l.dropped, nil
}

// sessionWriter is the log's goroutine.
type sessionWriter struct {
	disk     disk
	complete func(*Session)
	n        int // of the open segment
	wal      file
	rows     []sessionRow // in it
	buf      []byte
}

// open starts segment n.
func (w *sessionWriter) open(n int) (err error) {
	w.n, w.rows = n, w.rows[:0]
	if w.wal, err = w.disk.create(sessionFile(n, walSuffix)); err != nil {
		return err
	}
	_, err = io.WriteString(w.wal, sessionWALHead)
	return err
}

// run writes sessions until there are no more. After an error it goes on taking
// them, so that nobody waits.
func (w *sessionWriter) run(queue <-chan Session) (failure error) {
	for s := range queue {
		if failure != nil {
			continue
		}
		w.buf = w.buf[:0]
		failure = w.add(&s)
		for more := true; more && failure == nil && len(w.rows) < sessionSegment; {
			select {
			case s, more = <-queue:
				if more {
					failure = w.add(&s)
				}
			default:
				more = false
			}
		}
		if failure == nil {
			_, failure = w.wal.Write(w.buf)
		}
		if failure == nil && len(w.rows) >= sessionSegment {
			if failure = w.seal(); failure == nil {
				failure = w.open(w.n + 1)
			}
		}
	}
	if failure == nil {
		failure = w.seal()
	}
	return errors.Join(failure, w.disk.close())
}

// add puts a session into the segment, and its frame into buf.
func (w *sessionWriter) add(s *Session) error {
	if w.complete != nil {
		w.complete(s)
	}
	r := s.row()
	w.rows = append(w.rows, r)
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	start := len(w.buf)
	w.buf = append(w.buf, make([]byte, walFrameHead)...)
	w.buf = append(w.buf, text...)
	sealFrame(w.buf[start:], castagnoli())
	return nil
}

// seal makes the Parquet file of the open segment; its write-ahead file is then not
// needed any more.
func (w *sessionWriter) seal() error {
	if err := w.wal.Close(); err != nil {
		return err
	}
	if err := writeSessions(w.disk, w.n, w.rows); err != nil {
		return err
	}
	return w.disk.remove(sessionFile(w.n, walSuffix))
}

// writeSessions writes segment n as a whole or not at all.
func writeSessions(d disk, n int, rows []sessionRow) error {
	var b bytes.Buffer
	out := parquet.NewGenericWriter[sessionRow](&b, parquet.Compression(&parquet.Zstd))
	_, err := out.Write(rows)
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return err
	}
	return replaceFile(d, sessionFile(n, segmentSuffix), b.Bytes())
}
