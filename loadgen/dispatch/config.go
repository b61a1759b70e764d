package dispatch

import (
	"errors"
	"time"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

// Config is what a Dispatcher works with. Loop, Source, Set, Target, Record and
// Finished are required.
type Config struct {
	Loop   clock.Loop
	Source schedule.Source
	Set    datasets.Set
	Target target.Target
	// Identity goes into every row.
	Identity Identity
	// IgnoreEOS asks for exactly the planned number of output tokens.
	IgnoreEOS bool
	// SLO is what a request is promised; the zero value promises nothing.
	SLO observe.SLO
	// Drain is how long to wait for answers after the last arrival; 0: not at all.
	Drain time.Duration
	// Assign gives each request what the load adds to its item; nil: nothing.
	Assign *Assignment
	// PlannedCached tells how many prompt tokens an ideal cache would hold when the
	// item is sent within a scope (target.Request.Scope), Null32 if that is unknown. It is called once for each request,
	// in order of arrival. nil: unknown for all.
	PlannedCached func(it *datasets.Item, scope uint64) int32
	// Record takes the row of each request as it ends. The row and its slices are
	// valid only during the call; its strings stay valid.
	Record func(r *record.Request)
	// Monitor hears of each request; nil: nobody.
	Monitor Monitor
	// Finished is called once, from within an event of the loop, when every
	// request has its row. Nothing is recorded after it.
	Finished func()
}

// Monitor hears of requests as they start and end, on the loop's goroutine.
type Monitor interface {
	Started(now clock.Time)
	// Ended must not keep r.
	Ended(now clock.Time, r *record.Request)
}

// Identity says which run, and which part of it, the requests belong to.
type Identity struct {
	RunID, Arm   string
	Trial, Shard int32
	// Salt is what trace ids are made from, together with the request's number.
	// Runs whose spans may meet in one collector need different ones.
	Salt uint64
}

func (c *Config) check() error {
	switch {
	case c.Loop == nil:
		return errors.New("dispatcher has no loop")
	case c.Source == nil:
		return errors.New("dispatcher has no schedule")
	case c.Set == nil || c.Set.Len() == 0:
		return errors.New("dispatcher has nothing to ask: give a dataset that is not empty")
	case c.Target == nil:
		return errors.New("dispatcher has no target")
	case c.Record == nil || c.Finished == nil:
		return errors.New("dispatcher needs both Record and Finished")
	case c.Drain < 0:
		return errors.New("drain is negative: give 0 for no waiting")
	}
	return nil
}
