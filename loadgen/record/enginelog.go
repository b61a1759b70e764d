package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"

	"goodput/loadgen/clock"
)

const (
	enginePrefix  = "engine-"
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

// engineFile is the name of segment n, from 1.
func engineFile(n int) string { return fmt.Sprintf("%s%05d%s", enginePrefix, n, segmentSuffix) }

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
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("write samples of engines: %w", err)
	}
	// The run's Writer holds the lock of the directory.
	d := &osDisk{dir: dir, lock: f}
	defer func() { err = errors.Join(err, d.close()) }()
	rows := make([]engineRow, 0, len(samples))
	for i := range samples {
		rows = append(rows, samples[i].row())
	}
	var b bytes.Buffer
	out := parquet.NewGenericWriter[engineRow](&b, parquet.Compression(&parquet.Zstd))
	if _, err := out.Write(rows); err != nil {
		return fmt.Errorf("write samples of engines: %w", err)
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write samples of engines: %w", err)
	}
	if err := replaceFile(d, engineFile(n), b.Bytes()); err != nil {
		return fmt.Errorf("write samples of engines: %w", err)
	}
	return nil
}

// Engines calls f for every sample of the run, in the order in which they were written.
// found is false for a run without any.
func (r *Run) Engines(f func(*EngineSample) error) (found bool, err error) {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return false, fmt.Errorf("read samples of engines: %w", err)
	}
	for _, e := range entries {
		text, ok1 := strings.CutPrefix(e.Name(), enginePrefix)
		text, ok2 := strings.CutSuffix(text, segmentSuffix)
		if n, err := strconv.Atoi(text); !ok1 || !ok2 || err != nil || engineFile(n) != e.Name() {
			continue
		}
		found = true
		if err := readEngines(filepath.Join(r.Dir, e.Name()), f); err != nil {
			return true, err
		}
	}
	return found, nil
}

func readEngines(name string, f func(*EngineSample) error) error {
	in, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read samples of engines: %w", err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return fmt.Errorf("read samples of engines: %w", err)
	}
	file, err := parquet.OpenFile(in, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	rows := parquet.NewGenericReader[engineRow](file)
	defer rows.Close()
	buf := make([]engineRow, spanBatch)
	for {
		n, err := rows.Read(buf)
		for i := range buf[:n] {
			s := buf[i].sample()
			if e := f(&s); e != nil {
				return e
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
}
