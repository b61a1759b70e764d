package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"goodput/loadgen/clock"
)

const (
	defaultSegmentRows  = 200_000
	defaultSegmentSpan  = 60_000_000_000 // ns
	defaultLatencySpan  = 10_000_000_000 // ns
	defaultQueueBatches = 64
	// virtualQueueBatches is enough where the writer of rows waits for the disk: one to
	// fill and one to write. More would be memory that a short run takes for nothing.
	virtualQueueBatches = 2
	// batchRows is how many rows go to the Parquet file at a time.
	batchRows = 512
)

// The writer's own entries in the counters of the manifest.
const (
	CounterDropped = "record_rows_dropped"    // the queue was full
	CounterLost    = "record_rows_lost"       // recording had stopped, or stopped before they were safe
	CounterClamped = "record_latency_clamped" // values outside of the latency log's range, recorded at its edge
	CounterTorn    = "record_wal_bytes_lost"  // unreadable bytes at the end of write-ahead files, at recovery
)

// CounterUsageDiffers is the entry of those whose usage and whose stream told different
// numbers of tokens.
const CounterUsageDiffers = "usage_differs"

// Option changes how a run is written.
type Option func(*config)

type config struct {
	segmentRows  int
	segmentSpan  clock.Time
	expected     int
	queueBatches int
	blocking     bool
	onError      func(error)
	disk         func(dir string) (disk, error)
}

// Blocking makes Write wait for the disk when its queue is full, instead of
// dropping rows. A virtual run always does, since nothing is late there.
func Blocking() Option { return func(c *config) { c.blocking = true } }

// OnError is called once, from another goroutine, when recording stops.
func OnError(f func(error)) Option { return func(c *config) { c.onError = f } }

// SegmentRows ends a Parquet segment after n rows, 200,000 by default.
func SegmentRows(n int) Option { return func(c *config) { c.segmentRows = n } }

// Expect tells about how many rows will come, so that a short run does not take the
// memory of a long one; 0: unknown.
func Expect(rows int) Option { return func(c *config) { c.expected = max(0, rows) } }

// Writer writes one run directory.
//
// Write may be called from any goroutine. Two goroutines stand behind it: the
// first appends rows to the write-ahead file as soon as they come, the second
// turns batches of them into Parquet and removes the write-ahead file of each
// segment that is complete. Rows of a virtual run are safe when their row group
// is written: without a write-ahead file, and without the first goroutine. Neither holds up the caller: when the disk is so
// slow that the queue is full, rows are dropped and counted. A failing disk
// stops the recording, not the caller.
type Writer struct {
	cfg     config
	disk    disk
	virtual bool

	wake chan struct{} // capacity 1: there is something for logRows
	full chan *batch   // to writeSegments, from logRows or, in a virtual run, from Write
	done chan struct{}

	mu      sync.Mutex
	room    sync.Cond // a batch was recycled, or recording stopped
	man     Manifest
	cur     *batch
	sealed  []*batch
	free    []*batch
	made    int // batches that exist
	segRows int // rows of the segment that Write is filling
	segFrom clock.Time
	counts  struct{ dropped, rejected, accepted, logged, clamped int64 }
	ended   [NumOutcomes]int64
	err     error
	closing bool
}

// batch is a run of rows on its way to the disk. Rows below n do not change any
// more; logged is logRows's own.
type batch struct {
	rows   []Request
	ints   slab    // what the lists of the rows point into
	same   []int32 // equal numbers, for lists of nothing but these; never changed
	n      int
	logged int
	last   bool // ends its segment
}

// slab holds lists of numbers in blocks, which stay where they are and are used
// again.
type slab struct {
	blocks [][]int32
	cur    int // the block that is being filled; those behind it are empty
}

const slabBlock = 1 << 15 // numbers

// keep copies l.
func (s *slab) keep(l []int32) []int32 {
	if len(l) == 0 {
		return nil
	}
	for ; s.cur < len(s.blocks); s.cur++ {
		if b := s.blocks[s.cur]; cap(b)-len(b) >= len(l) {
			break
		}
	}
	if s.cur == len(s.blocks) {
		s.blocks = append(s.blocks, make([]int32, 0, max(slabBlock, len(l))))
	}
	b := &s.blocks[s.cur]
	n := len(*b)
	*b = append(*b, l...)
	return (*b)[n:len(*b):len(*b)]
}

func (s *slab) reset() {
	for i := range s.blocks {
		s.blocks[i] = s.blocks[i][:0]
	}
	s.cur = 0
}

// keepSame is keep for a list whose numbers are usually all the same.
func (b *batch) keepSame(l []int32) []int32 {
	if len(l) == 0 || common(l, l[1:]) < len(l)-1 {
		return b.ints.keep(l)
	}
	if len(l) > len(b.same) || b.same[0] != l[0] {
		b.same = slices.Repeat(l[:1], 2*len(l))
	}
	return b.same[:len(l):len(l)]
}

// Create makes dir, if need be, and starts a run in it. A directory that holds
// a run already is refused.
func Create(dir string, m Meta, opts ...Option) (*Writer, error) {
	cfg := config{
		segmentRows: defaultSegmentRows, segmentSpan: defaultSegmentSpan, queueBatches: defaultQueueBatches,
		disk: func(dir string) (disk, error) { return openDisk(dir) },
	}
	if m.Virtual {
		cfg.queueBatches = virtualQueueBatches
	}
	for _, o := range opts {
		o(&cfg)
	}
	if cfg.segmentRows < 1 {
		return nil, fmt.Errorf("create run in %s: a segment of %d rows; give 1 or more", dir, cfg.segmentRows)
	}
	cfg.blocking = cfg.blocking || m.Virtual
	if m.RunID == "" {
		return nil, fmt.Errorf("create run in %s: the run has no id", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	d, err := cfg.disk(dir)
	if err != nil {
		return nil, fmt.Errorf("create run in %s: %w", dir, err)
	}
	w := &Writer{
		cfg: cfg, disk: d, virtual: m.Virtual, man: newManifest(m),
		wake: make(chan struct{}, 1), full: make(chan *batch, cfg.queueBatches), done: make(chan struct{}),
	}
	w.room.L = &w.mu
	if err := w.start(dir, m); err != nil {
		return nil, errors.Join(fmt.Errorf("create run in %s: %w", dir, err), d.close())
	}
	return w, nil
}

// start claims the directory and opens the first files.
func (w *Writer) start(dir string, m Meta) error {
	if err := vacant(dir); err != nil {
		return err
	}
	if err := w.writeManifest(w.man); err != nil {
		return err
	}
	cols := columns()
	log, err := newLatencyLog(w.disk, m)
	if err != nil {
		return err
	}
	made, err := newSegments(w.disk, cols, &w.man, w.cfg.expected)
	if err != nil {
		return errors.Join(err, log.close())
	}
	if made.lines != nil {
		log.steps, made.lines.counter = made.lines, log.gap
	}
	seg, err := made.create(1)
	if err != nil {
		return errors.Join(err, log.close())
	}
	if !w.virtual {
		go w.logRows(newWALWriter(cols))
	}
	go w.writeSegments(made, seg, log)
	return nil
}

// vacant reports an error when dir holds anything of a run.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == ManifestName || strings.HasPrefix(e.Name(), segmentPrefix) {
			return fmt.Errorf("the directory already holds a run (%s); name another one, or remove it first", e.Name())
		}
	}
	return nil
}

// Write records a copy of r. It takes no longer than the copy, unless the run
// is virtual or Blocking. An empty RunID is filled in.
func (w *Writer) Write(r *Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Final {
		w.ended[r.Outcome]++
	}
	if !w.ready() {
		return
	}
	at := r.ended()
	if w.due(at) {
		w.seal(true)
		if !w.ready() {
			return
		}
	}
	w.put(r)
	if w.segRows == 0 {
		w.segFrom = at
	}
	w.segRows++
	w.counts.accepted++
	if w.segRows >= w.cfg.segmentRows || w.cur.n == batchRows {
		w.seal(w.segRows >= w.cfg.segmentRows)
	}
	if w.virtual {
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// due reports whether the segment has lasted long enough by at. The rows' own
// instants decide, so no clock is needed here; a virtual run goes by rows only.
func (w *Writer) due(at clock.Time) bool {
	return !w.virtual && w.segRows > 0 && at.Known() && w.segFrom.Known() && at-w.segFrom >= w.cfg.segmentSpan
}

// ready makes sure of a batch with room, or counts the row at hand and returns
// false.
func (w *Writer) ready() bool {
	if w.cur == nil && !w.take() {
		return false
	}
	if w.err != nil || w.closing {
		w.counts.rejected++
		return false
	}
	return true
}

// put copies r into the current batch.
func (w *Writer) put(r *Request) {
	b := w.cur
	dst := &b.rows[b.n]
	*dst = *r
	dst.TokenGapsUS = b.ints.keep(r.TokenGapsUS)
	dst.ChunkTokens = b.keepSame(r.ChunkTokens)
	if dst.RunID == "" {
		dst.RunID = w.man.RunID
	}
	b.n++
}

// ended is the instant by which rows are put into segments and intervals.
func (r *Request) ended() clock.Time {
	if r.Closed.Known() {
		return r.Closed
	}
	return r.Intended
}

// take makes cur an empty batch. If there is none, it waits or counts the row
// as dropped and returns false.
func (w *Writer) take() bool {
	for len(w.free) == 0 && w.made == w.cfg.queueBatches {
		if w.err != nil || w.closing {
			w.counts.rejected++
			return false
		}
		if !w.cfg.blocking {
			w.counts.dropped++
			return false
		}
		w.room.Wait()
	}
	if n := len(w.free); n > 0 {
		w.cur, w.free = w.free[n-1], w.free[:n-1]
		return true
	}
	w.made++
	w.cur = &batch{rows: make([]Request, batchRows)}
	return true
}

// seal passes the current batch on. With last, the segment ends behind it, even
// if the batch is empty.
func (w *Writer) seal(last bool) {
	w.cur.last = last
	if w.virtual {
		w.full <- w.cur // has room for all batches that there are
	} else {
		w.sealed = append(w.sealed, w.cur)
	}
	w.cur = nil
	if last {
		w.segRows = 0
	}
}

// WriteFile puts another file, such as plan.yaml, into the run directory, as a
// whole or not at all.
func (w *Writer) WriteFile(name string, b []byte) error {
	if !fs.ValidPath(name) || name != filepath.Base(name) || name == "." || name == ManifestName || name == LatencyName || strings.HasPrefix(name, segmentPrefix) {
		return fmt.Errorf("write %q: not a free file name within a run directory", name)
	}
	if err := replaceFile(w.disk, name, b); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Note adds an event to the manifest at once, so that a crash does not lose it. It waits
// for the disk. Calls may not overlap each other or Close.
func (w *Writer) Note(e Event) error {
	w.mu.Lock()
	w.man.Events = append(slices.Clone(w.man.Events), e)
	man := w.man
	w.mu.Unlock()
	return w.writeManifest(man)
}

// Err is the error that stopped recording, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close writes what is queued, then the manifest, and gives up the directory.
// When recording has failed it returns that error; the rows in finished segments
// and in the write-ahead files remain readable.
func (w *Writer) Close(f Final) error {
	w.mu.Lock()
	if w.closing {
		w.mu.Unlock()
		return errors.New("close run: it is closed already")
	}
	w.closing = true
	if w.cur != nil && w.cur.n > 0 {
		w.seal(true)
	}
	w.room.Broadcast()
	w.mu.Unlock()
	if w.virtual {
		close(w.full)
	} else {
		close(w.wake)
	}
	<-w.done

	w.mu.Lock()
	man, err := w.finalManifest(f), w.err
	w.mu.Unlock()
	if e := w.writeManifest(man); e != nil && err == nil {
		err = e
	}
	if e := w.disk.close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("close run: %w", err)
	}
	return nil
}

func (w *Writer) finalManifest(f Final) Manifest {
	m := w.man
	m.State = f.State
	if m.State == "" {
		m.State = Complete
	}
	if w.err != nil {
		m.State, m.Problem = Interrupted, "recording stopped: "+w.err.Error()+"; make room, then goodput recover keeps the rows that are safe"
	}
	m.Ended = wall(f.Ended)
	if !f.Ended.IsZero() && f.EndedAt.Known() {
		m.Anchors = append(m.Anchors, Anchor{At: f.EndedAt, Wall: m.Ended})
	}
	m.Window, m.Counts, m.Generator, m.Shards = f.Window, f.Counts, f.Generator, f.Shards
	m.Events = append(slices.Clone(m.Events), f.Events...)
	slices.SortStableFunc(m.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	if w.err == nil {
		m.Problem = f.Problem
	}
	m.Outcomes = outcomeCounts(&w.ended)
	m.Counters = map[string]int64{
		CounterDropped: w.counts.dropped,
		CounterLost:    w.counts.rejected + w.counts.accepted - w.counts.logged,
		CounterClamped: w.counts.clamped,
	}
	for k, v := range f.Counters {
		m.Counters[k] = v
	}
	return m
}

func outcomeCounts(n *[NumOutcomes]int64) map[string]int64 {
	m := map[string]int64{}
	for o, c := range n {
		if c > 0 {
			m[Outcome(o).String()] = c
		}
	}
	return m
}

func (w *Writer) writeManifest(m Manifest) error {
	b, err := m.encode()
	if err != nil {
		return err
	}
	if err := replaceFile(w.disk, ManifestName, b); err != nil {
		return fmt.Errorf("write %s: %w", ManifestName, err)
	}
	return nil
}
