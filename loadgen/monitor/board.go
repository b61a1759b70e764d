package monitor

import (
	"slices"
	"strings"
	"sync"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// MaxWindow is how far back a Board looks at most.
const MaxWindow = seconds * time.Second

const (
	seconds     = 300
	keptSamples = 4096 // the latest requests, of which tables are made
	keptTops    = 100  // the slowest and the latest failed ones
	keptEnded   = 100  // sessions
)

// KeptLive is how many live sessions a Picture lists at most.
const KeptLive = 100

// Board is the memory behind screens: what happened in each of the last seconds, the
// latest requests, the slowest and the failed ones. It may be used from several
// goroutines, which wait for each other and never for the load. Its size is fixed.
type Board struct {
	mu     sync.Mutex
	about  About
	filter Filter

	latest          []Sample // a ring
	next            int      // its oldest entry, once it is full
	slowest, failed []Sample // by E2E, longest first; latest first
	ended           []SessionRow
	seconds         [seconds]slot
	sums            *tally
	names           map[string]int // of replicas, by the order in which they came
}

// About is what is known of a run before it starts. Empty and 0 are unknown.
type About struct {
	Title    string
	Total    int64         // requests
	Duration time.Duration // of the arrivals
	SLO      Promise
	// LoopTime is what Monitor.LoopTime says: what rows tell of lag is no measurement.
	LoopTime bool
}

// Promise is what each request is promised; Unknown: nothing.
type Promise struct {
	TTFT Nanos `json:"ttft_ns"`
	TPOT Nanos `json:"tpot_ns"`
	E2E  Nanos `json:"e2e_ns"`
}

// slot is one second of the run. Of the filter's requests, except for started, and for
// lag if it is of these.
type slot struct {
	number                       int64 // 1 + seconds since the epoch; 0: none yet
	started                      int64
	ended, ok, failed, good, bad int64
	tokens                       int64
	ttft, tpot, e2e, lag         counts
	by                           []uint32 // requests of each replica
	done                         bool     // points is final
	points                       Points
}

// counts is a histogram for one goroutine, with the buckets of histogram.
type counts struct {
	n        [numBuckets]uint32
	from, to int
}

func (c *counts) add(v Nanos) {
	if !v.Known() {
		return
	}
	i := bucket(int64(v))
	c.n[i]++
	if c.from == c.to {
		c.from, c.to = i, i+1
		return
	}
	c.from, c.to = min(c.from, i), max(c.to, i+1)
}

func (c *counts) clear() {
	clear(c.n[c.from:c.to])
	c.from, c.to = 0, 0
}

// NewBoard returns an empty board.
func NewBoard(a About) *Board {
	return &Board{about: a, sums: new(tally), names: map[string]int{}}
}

// Filter selects requests: those that have the text in one of the named properties.
// The zero value selects all.
type Filter struct{ Key, Text string }

// ParseFilter reads class=x, tenant=x, arm=x, replica=x or outcome=x, and a text alone,
// which may be in any of them. Of replicas and outcomes the whole name must be given.
func ParseFilter(s string) Filter {
	s = strings.TrimSpace(s)
	if key, text, ok := strings.Cut(s, "="); ok && slices.Contains([]string{"class", "tenant", "arm", "replica", "outcome"}, key) {
		return Filter{key, text}
	}
	return Filter{"", s}
}

// String is the text that ParseFilter reads.
func (f Filter) String() string {
	if f.Key == "" {
		return f.Text
	}
	return f.Key + "=" + f.Text
}

func (f Filter) match(s *Sample) bool {
	switch f.Key {
	case "class":
		return s.Class == f.Text
	case "tenant":
		return s.Tenant == f.Text
	case "arm":
		return s.Arm == f.Text
	case "replica":
		return s.Replica == f.Text
	case "outcome":
		return s.Outcome.String() == f.Text
	}
	return f.Text == "" || s.Replica == f.Text || s.Outcome.String() == f.Text ||
		strings.Contains(s.Class, f.Text) || strings.Contains(s.Tenant, f.Text) || strings.Contains(s.Arm, f.Text)
}

// session reports whether f is of such a session. Only a tenant and a text alone are of
// sessions; the other properties are of requests.
func (f Filter) session(id, tenant string) bool {
	switch f.Key {
	case "tenant":
		return tenant == f.Text
	case "":
		return f.Text == "" || id == f.Text || strings.Contains(tenant, f.Text)
	}
	return true
}

// Drain takes all that is in f.
func (b *Board) Drain(f *Feed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.starts.drain(func(s *start) { b.slot(s.at).start(s.late) })
	f.samples.drain(b.add)
	f.sessions.drain(b.session)
}

// Started notes that a request was sent.
func (b *Board) Started(at clock.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slot(at).start(Unknown)
}

// Ended notes how a request ended. r is not kept; its strings are.
func (b *Board) Ended(at clock.Time, r *record.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var s Sample
	s.fill(at, r)
	b.add(&s)
}

// Session notes how a session ended.
func (b *Board) Session(s *record.Session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.session(s)
}

func (b *Board) session(s *record.Session) {
	if len(b.ended) == keptEnded {
		b.ended = slices.Delete(b.ended, 0, 1)
	}
	b.ended = append(b.ended, sessionRow(s))
}

func (b *Board) add(s *Sample) {
	if b.about.LoopTime {
		s.Lag = Unknown
	}
	if len(b.latest) < keptSamples {
		b.latest = append(b.latest, *s)
	} else {
		b.latest[b.next] = *s
		b.next = (b.next + 1) % keptSamples
	}
	if b.filter.match(s) {
		b.count(s)
	}
}

// count adds a request of the filter's.
func (b *Board) count(s *Sample) {
	if x := b.slot(clock.Time(s.At)); x != nil {
		x.add(s)
		b.assigned(x, s.Replica)
	}
	if s.E2E.Known() {
		b.slowest = insertTop(b.slowest, s)
	}
	if s.Failed() {
		if len(b.failed) == keptTops {
			b.failed = b.failed[:keptTops-1]
		}
		b.failed = slices.Insert(b.failed, 0, *s)
	}
}

// insertTop keeps the keptTops slowest in order; of equals the earlier comes first.
func insertTop(top []Sample, s *Sample) []Sample {
	if len(top) == keptTops {
		if s.E2E <= top[keptTops-1].E2E {
			return top
		}
		top = top[:keptTops-1]
	}
	i := len(top)
	for i > 0 && top[i-1].E2E < s.E2E {
		i--
	}
	return slices.Insert(top, i, *s)
}

// each calls f for the kept requests, oldest first.
func (b *Board) each(f func(*Sample)) {
	for i := range b.latest {
		f(&b.latest[(b.next+i)%len(b.latest)])
	}
}

// apply makes f the filter. What passed it counts as far as it is among the latest
// requests.
func (b *Board) apply(f Filter) {
	if f == b.filter {
		return
	}
	b.filter = f
	b.slowest, b.failed = b.slowest[:0], b.failed[:0]
	for i := range b.seconds {
		b.seconds[i].forget(!b.about.LoopTime)
	}
	b.each(func(s *Sample) {
		if f.match(s) {
			b.count(s)
		}
	})
}

// slot is that of the second of at, emptied if it held an earlier one; nil if it holds
// a later one, so that at is too long ago.
func (b *Board) slot(at clock.Time) *slot {
	number := secondOf(at)
	s := &b.seconds[number%seconds]
	switch {
	case s.number > number:
		return nil
	case s.number < number:
		s.forget(true)
		s.started, s.number = 0, number
	}
	s.done = false
	return s
}

// forget empties all but the count of started requests, which no filter concerns, and
// lag if that is of these.
func (s *slot) forget(lag bool) {
	s.ended, s.ok, s.failed, s.good, s.bad, s.tokens, s.done = 0, 0, 0, 0, 0, 0, false
	s.by = s.by[:0]
	for _, c := range []*counts{&s.ttft, &s.tpot, &s.e2e} {
		c.clear()
	}
	if lag {
		s.lag.clear()
	}
}

func (s *slot) start(late Nanos) {
	if s != nil {
		s.started++
		s.lag.add(late)
	}
}

func (s *slot) add(r *Sample) {
	s.ended++
	switch {
	case r.Outcome == Ending(record.OK):
		s.ok++
	case r.Failed():
		s.failed++
	}
	switch r.SLOMet {
	case record.Yes:
		s.good++
	case record.No:
		s.bad++
	}
	if r.OutputTokens.Known() {
		s.tokens += int64(r.OutputTokens)
	}
	s.ttft.add(r.TTFT)
	s.tpot.add(r.TPOT)
	s.e2e.add(r.E2E)
	s.lag.add(r.Lag)
}
