package record

import (
	"errors"
	"sync"
	"time"

	"goodput/loadgen/clock"
)

const (
	engineSegment = 1 << 12 // rows of a file
	engineQueue   = 4       // segments that may wait for the disk

	engineLasts = clock.Time(time.Minute) // of a file, in real time: what kill -9 loses
)

// EngineLog writes engine-*.parquet. Write may be called from several goroutines, until
// Close, and never waits for the disk, unless the log is of a run in virtual time, which
// can wait.
type EngineLog struct {
	mu      sync.Mutex // of held and dropped
	dir     string
	patient bool
	held    []EngineSample
	full    chan []EngineSample
	done    chan error
	dropped int64
}

// NewEngineLog returns a log into the directory of a run. patient: it may be waited for.
func NewEngineLog(dir string, patient bool) *EngineLog {
	l := &EngineLog{dir: dir, patient: patient, full: make(chan []EngineSample, engineQueue), done: make(chan error, 1)}
	go func() {
		var first error
		n := 0
		for part := range l.full {
			n++
			if err := writeEngine(l.dir, n, part); err != nil && first == nil {
				first = err
			}
		}
		l.done <- first
	}()
	return l
}

func engineFiles() rowFiles { return rowFiles{prefix: "engine-", what: "samples of engines"} }

// Write takes a copy of the sample.
func (l *EngineLog) Write(s *EngineSample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held = append(l.held, *s); len(l.held) < engineSegment && (l.patient || s.At < l.held[0].At+engineLasts) {
		return
	}
	part := l.held
	l.held = nil
	if l.patient {
		l.full <- part
		return
	}
	select {
	case l.full <- part:
	default:
		l.dropped += int64(len(part))
	}
}

// Close writes the rest. Without samples there is no file. It returns how many samples
// found the disk too slow.
func (l *EngineLog) Close() (dropped int64, err error) {
	if len(l.held) > 0 {
		l.full <- l.held
	}
	close(l.full)
	return l.dropped, <-l.done
}

func writeEngine(dir string, n int, samples []EngineSample) (err error) {
	d, err := engineFiles().open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	return writeRows(engineFiles(), d, n, samples, (*EngineSample).row)
}

// Engines calls f for every sample of the run, in the order in which they were written.
// found is false for a run without any.
func (r *Run) Engines(f func(*EngineSample) error) (found bool, err error) {
	return eachRow(engineFiles(), r.Dir, func(row *engineRow) error {
		s := row.sample()
		return f(&s)
	})
}
