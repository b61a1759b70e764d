package dispatch

import (
	"sync/atomic"
	"time"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// flight is one request on its way. It is used again for another request once each of
// its attempts has got its End.
type flight struct {
	d    *Dispatcher
	item datasets.Item
	// spans is room for the prompts of single requests.
	spans []datasets.Span
	// waited is how long it had no place in flight, after the loop took it up.
	waited time.Duration
	// thread is the line of steps of a session that the request belongs to; nil: none.
	thread *thread
	// plannedCached and poolCached are for the row; abandoned: the row was written without an End.
	plannedCached, poolCached int32
	abandoned                 bool
	// warm: the request is of the warm-up; probe: it is none of the load.
	warm, probe bool

	first attempt
	again []*attempt // further attempts, and those of earlier requests behind them
	// tries attempts were started, of which so many are live; winner is the one that
	// decides the request, nil if that is open.
	tries, live int
	retried     int
	winner      *attempt
	hungUp      bool   // the client wants no answer any more
	gen         uint32 // of the requests that the flight was used for

	// prev and next are the neighbours among those in flight, in order of start.
	prev, next *flight
}

// sink is what a target holds of one attempt. It outlives the attempt, so that an
// event that should not come any more finds nothing, instead of the next request
// that the flight is used for.
type sink struct {
	// attempt is nil once it has ended. The dispatcher clears it on the loop's
	// goroutine; it is atomic for stray events from another one.
	attempt atomic.Pointer[attempt]
	stray   *atomic.Int64
}

var _ target.RunSink = (*sink)(nil)

// Event may be called from any goroutine, one at a time, and for End on the
// loop's.
func (s *sink) Event(e target.Event) {
	a := s.attempt.Load()
	if a == nil {
		s.stray.Add(1)
		return
	}
	a.asm.Event(e)
	if e.Kind == target.End {
		a.said, a.lost = e.Result.Answer, e.Result.AnswerLost
		s.attempt.Store(nil)
		a.f.d.ended(a)
	}
}

// Run is Event for many tokens.
func (s *sink) Run(at []clock.Time, c target.Content, n int) {
	a := s.attempt.Load()
	if a == nil {
		s.stray.Add(int64(len(at)))
		return
	}
	a.asm.Run(at, c, n)
}

// sinkSlab is how many sinks are allocated together. They are never reused, and
// small enough that a run of a million requests leaves 16 MB to the collector.
const sinkSlab = 512

func (d *Dispatcher) newSink(a *attempt) *sink {
	if len(d.sinks) == 0 {
		d.sinks = make([]sink, sinkSlab)
	}
	s := &d.sinks[0]
	d.sinks = d.sinks[1:]
	s.stray = &d.stray
	s.attempt.Store(a)
	return s
}

// flights is a list in order of start, and a stack of idle flights.
type flights struct {
	first, last *flight
	n           int64
	idle        []*flight
}

func (l *flights) take(d *Dispatcher) *flight {
	if n := len(l.idle); n > 0 {
		f := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return f
	}
	return &flight{d: d}
}

func (l *flights) add(f *flight) {
	f.prev, f.next = l.last, nil
	if l.last != nil {
		l.last.next = f
	} else {
		l.first = f
	}
	l.last = f
	l.n++
}

func (l *flights) remove(f *flight) {
	if f.prev != nil {
		f.prev.next = f.next
	} else {
		l.first = f.next
	}
	if f.next != nil {
		f.next.prev = f.prev
	} else {
		l.last = f.prev
	}
	f.prev, f.next = nil, nil
	l.n--
}

// all returns those in flight, in order of start. The slice is the caller's: the
// list may change while it is walked.
func (l *flights) all() []*flight {
	out := make([]*flight, 0, l.n)
	for f := l.first; f != nil; f = f.next {
		out = append(out, f)
	}
	return out
}

// inAir reports whether f has no row yet.
func (f *flight) inAir() bool { return f.prev != nil || f.d.flying.first == f }
