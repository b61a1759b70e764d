package clock

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"
)

// Wall reads the wall clock: for the names and manifests of runs, not to measure
// with. Instants of a run come from a Stamper.
func Wall() time.Time { return time.Now() }

// Real is a Loop on the wall clock. Post, Stop and Stamp may be called from any
// goroutine. A timed event fires as soon as its instant has come, and is told the
// instant that was asked for; how late it is shows only by Stamp. A posted event
// fires at the instant of posting, unless the loop is past it already.
type Real struct {
	now   Time
	mark  mark
	queue queue
	inbox inbox

	speed  float64 // loop seconds per wall second
	waiter waiter
	epoch  atomic.Pointer[time.Time] // with its monotonic reading; nil before Start
}

// farAway is an instant in nanoseconds, 146 years off, that can still be added to.
const farAway = 1 << 62

var (
	_ Runner  = (*Real)(nil)
	_ Stamper = (*Real)(nil)
	_ Orderer = (*Real)(nil)
)

// Option sets up a Real.
type Option func(*options)

type options struct {
	speed     float64
	newWaiter func() (waiter, error)
}

// Speed makes x loop seconds pass per second of the wall clock; 1 if not given.
// Only a loop whose every part runs on loop time may have another speed: sockets
// do not.
func Speed(x float64) Option { return func(o *options) { o.speed = x } }

// Portable makes the loop wait on Go's own timers, which works on each system and
// in a testing/synctest bubble, but may wake about a millisecond late. Where there
// is something better it is what Real uses otherwise.
func Portable() Option { return func(o *options) { o.newWaiter = newTimerWaiter } }

// NewReal returns a loop that has not been started. It fails if the speed is not
// positive and finite, or if the system refuses a timer.
func NewReal(opts ...Option) (*Real, error) {
	o := options{speed: 1, newWaiter: newWaiter}
	for _, set := range opts {
		set(&o)
	}
	if !(o.speed > 0) || math.IsInf(o.speed, 1) {
		return nil, fmt.Errorf("clock speed %v: must be positive and finite", o.speed)
	}
	w, err := o.newWaiter()
	if err != nil {
		return nil, fmt.Errorf("making a clock: %w", err)
	}
	return &Real{speed: o.speed, waiter: w, mark: mark{at: Never}}, nil
}

// Start fixes the epoch, lead from now on, and returns its wall time. The lead is
// for work that needs to know the epoch but must not delay the first events. Run
// starts the loop with no lead if nobody has; a second Start changes nothing.
func (r *Real) Start(lead time.Duration) time.Time {
	t := time.Now().Add(lead)
	r.epoch.CompareAndSwap(nil, &t)
	return *r.epoch.Load()
}

// StartAt is Start with the epoch at an instant of the wall clock, as it runs now:
// later changes of the wall clock don't move the epoch. It fails if the instant is past.
func (r *Real) StartAt(epoch time.Time) error {
	now := time.Now()
	lead := epoch.Sub(now.Round(0)) // by the wall clock
	if lead < 0 {
		return fmt.Errorf("%s was %v ago", epoch.UTC().Format(time.RFC3339Nano), -lead)
	}
	t := now.Add(lead)
	if !r.epoch.CompareAndSwap(nil, &t) {
		return errors.New("the clock runs already")
	}
	return nil
}

// Stamp reads the monotonic clock, in loop time. It is Never before Start, and 0
// during the lead.
func (r *Real) Stamp() Time {
	epoch := r.epoch.Load()
	if epoch == nil {
		return Never
	}
	return r.loopTime(max(0, time.Since(*epoch)))
}

func (r *Real) loopTime(wall time.Duration) Time {
	if r.speed == 1 {
		return Time(wall) // exact beyond the 2^53 ns of a float64
	}
	return Time(min(float64(wall)*r.speed, farAway))
}

// wallTime is the wall time after which loopTime has reached t, up to rounding.
func (r *Real) wallTime(t Time) time.Duration {
	if r.speed == 1 {
		return time.Duration(min(t, farAway))
	}
	return time.Duration(min(math.Ceil(float64(t)/r.speed), farAway))
}

// Now is the instant of the event being run, and 0 before Run.
func (r *Real) Now() Time { return r.now }

// Passed implements Orderer.
func (r *Real) Passed(t Time, rank Rank, entity uint64) bool { return r.mark.passed(t, rank, entity) }

// At arranges for e.Fire at t, or at Now if t is before it.
func (r *Real) At(t Time, rank Rank, e Event) { r.queue.push(max(t, r.now), rank, e) }

// Post makes e fire at the instant of the call with RankTransit: after the events
// that were due before. What is posted to a loop that does not run stays pending.
func (r *Real) Post(e Event) { r.inbox.post(e, r.Stamp) }

// Run fires events until Stop was called. With no event left it waits for posts. It
// may be called once.
func (r *Real) Run() {
	defer r.waiter.close()
	r.Start(0)
	reached := Time(-1) // the latest reading: events up to it need no other
	for {
		if !r.inbox.quiet() && !r.inbox.drain(&r.queue, r.now) {
			return
		}
		if len(r.queue.items) == 0 {
			r.inbox.sleep(r.waiter, forever)
			continue
		}
		if next := r.queue.items[0].at; next > reached {
			elapsed := time.Since(*r.epoch.Load())
			if reached = r.loopTime(elapsed); next > reached {
				r.inbox.sleep(r.waiter, max(1, r.wallTime(next)-elapsed))
				continue
			}
		}
		t, e := r.queue.pop(&r.mark)
		r.now = t
		e.Fire(t)
	}
}

// Stop makes Run return after the event being run.
func (r *Real) Stop() { r.inbox.stop() }
