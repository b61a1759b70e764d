package clock

import (
	"math"
	"time"
)

// Time is an instant in nanoseconds since the run's epoch. The epoch is the
// moment at which the loop starts; times before it do not occur.
type Time int64

// Never is the instant that was not observed. Records store it as null: an
// unknown instant is never 0, because 0 is the epoch.
const Never Time = math.MinInt64

// Known reports whether t was observed.
func (t Time) Known() bool { return t != Never }

// Add returns t+d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns t-u. Both must be known.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// String prints the offset from the epoch, or "never".
func (t Time) String() string {
	if !t.Known() {
		return "never"
	}
	return time.Duration(t).String()
}

// Rank orders events that fall on the same instant. An arrival is seen before
// the engine step that ends at that instant, and deadlines come last, so that
// work finished exactly on time counts as finished.
type Rank uint8

// The ranks, in order of firing.
const (
	RankControl  Rank = iota // start, stop, rate changes, faults
	RankArrival              // a scheduled request becomes due
	RankTransit              // a message between client, router and engine lands
	RankStep                 // an engine step ends
	RankDeadline             // timeouts and the end of the drain
	RankSample               // gauges are read, after all work of the instant
)

// Event is something that happens at an instant. Engines, requests and timers
// implement it themselves, so that scheduling allocates no closure.
type Event interface {
	// Fire runs on the loop's goroutine. now is the instant that was asked for.
	Fire(now Time)
	// Entity is a stable identity (replica number, request sequence number). It
	// breaks ties between events of the same instant and rank; posting order
	// would differ between modes of execution.
	Entity() uint64
}

// Loop runs events in the order (time, rank, entity). Two events of the same
// entity, rank and instant run in the order in which they were added.
//
// Now and At may be called only from within Fire, or before the loop runs.
// Post may be called from any goroutine.
type Loop interface {
	// Now is the instant of the event being run, never the wall clock.
	Now() Time
	// At arranges for e.Fire at t. A t before Now is treated as Now.
	At(t Time, r Rank, e Event)
	// Post enters the loop from another goroutine; e fires soon, at an instant
	// not before Now.
	Post(e Event)
}

// Orderer is a Loop that tells how far it has come, for work that is not an event
// of its own and must be seen as if it were.
type Orderer interface {
	// Passed reports whether an event of that instant, rank and entity, added
	// before the loop came to the instant, would have fired before the one being
	// run.
	Passed(t Time, r Rank, entity uint64) bool
}

// Runner is a Loop together with its life cycle, as the composition root sees
// it.
type Runner interface {
	Loop
	// Run fires events on the calling goroutine until Stop was called, or, for
	// Virtual, until no event is left.
	Run()
	// Stop makes Run return after the event being run. It may be called from
	// any goroutine.
	Stop()
}

// Stamper reads the clock at the edges of the program: sockets and files stamp
// what they observe with it. The zero point and the unit are the Loop's.
type Stamper interface {
	Stamp() Time
}
