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
	// Sessions is asked in place of Set, which is then not needed: each arrival starts
	// a session, whose further steps become due as those before them end.
	Sessions datasets.SessionSet
	// MaxInFlight bounds the steps of one session that are in flight at a time, first
	// come, first served; 0: no bound. The wait for it is client_queue.
	MaxInFlight int
	// Live: later steps of a session quote the answers that the target made, and not
	// the planned ones.
	Live bool
	// MaxSessions bounds the sessions that are live at a time; 0: no bound. One more
	// waits until another ends, first come, first served, and is then as late as that:
	// its steps are due as if it had not waited, and its wait is client_queue. With
	// DropSessions it is not run at all.
	MaxSessions  int
	DropSessions bool
	// Concurrent makes a closed loop of sessions: so many are live from instant 0 on,
	// and where one ends the next one of the set starts, up to the instant Until (0: no
	// limit) or the end of the set. There is no Source then. A request that never
	// ends holds its place for ever unless the target gives it up. 0: the schedule decides.
	Concurrent int
	Until      clock.Time
	// Steered is told, by the loop, of each change that Steer has made; nil: nobody is.
	Steered func(c RateChange)
	// Shapes asks for answers of the shape that the next step of a session follows on:
	// calls of tools if it has their results.
	Shapes bool
	// ContinueOnError goes on with the planned text after a failed step; otherwise the
	// session ends with it.
	ContinueOnError bool
	// RecordSession takes each session as it ends; nil: nobody does. The row is valid
	// only during the call; its strings stay valid.
	RecordSession func(s *record.Session)
	// Identity goes into every row.
	Identity Identity
	// Client is what the client does beside sending each request once; the zero value:
	// nothing.
	Client Client
	// MaxConcurrency bounds the requests in flight, and OnCap says what becomes of those
	// that are due beyond it; 0: no bound. Sessions have none.
	MaxConcurrency int
	OnCap          OnCap
	// Closed is a closed loop in place of Source, which is then not asked; nil: none.
	Closed *Closed
	// IgnoreEOS asks for exactly the planned number of output tokens.
	IgnoreEOS bool
	// SLO is what a request is promised; the zero value promises nothing.
	SLO observe.SLO
	// Priority is that of the requests (target.Request).
	Priority int
	// Classes are those of the requests and sessions, told by the items that these ask
	// for; none: all are alike. Where some are of sessions, requests are numbered in the
	// order in which they are sent.
	Classes []Class
	// Probes are sent beside the load; the zero value: none.
	Probes Probes
	// Warmup is how long the window is preceded by arrivals that are Warm: the others
	// are due from then on. AwaitWarmup opens the window when all of the Warm ones have
	// ended, if that is later.
	Warmup      time.Duration
	AwaitWarmup bool
	// Drain is how long to wait for answers after the last arrival; 0: not at all.
	Drain time.Duration
	// Assign gives each request what the load adds to its item; nil: nothing.
	Assign *Assignment
	// PlannedCached tells how many prompt tokens an ideal cache would hold when the
	// item is sent within a scope (target.Request.Scope), Null32 if that is unknown. It is called once for each request,
	// in order of arrival. nil: unknown for all. PoolCached tells the same of a cache
	// of the target's size.
	PlannedCached, PoolCached func(it *datasets.Item, scope uint64) int32
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
	// Shards is the number of processes that offer the schedule together, of which Source
	// is this one's part; 0 or 1: it is all of it.
	Shards int32
	// ArmOf names the arm of a request, where a run has several; nil: it is Arm.
	ArmOf func(*target.Request) string
	// NamePrefix is what the names of requests begin with.
	NamePrefix string
	// Salt is what trace ids are made from, together with the request's number.
	// Runs whose spans may meet in one collector need different ones.
	Salt uint64
}

// items is the number of items that arrivals may ask for.
func (c *Config) items() int {
	switch {
	case c.Sessions != nil:
		return c.Sessions.Sessions()
	case c.Set != nil:
		return c.Set.Len()
	}
	return 0
}

// asked is what arrivals ask for, as %v shows it.
func (c *Config) asked() any {
	if c.Sessions != nil {
		return c.Sessions
	}
	return c.Set
}

func (c *Config) check() error {
	switch {
	case c.Loop == nil:
		return errors.New("dispatcher has no loop")
	case c.Concurrent < 0 || c.MaxSessions < 0 || c.Until < 0:
		return errors.New("a bound of live sessions is negative: give 0 for none")
	case c.Concurrent > 0 && (c.Sessions == nil || c.Source != nil || c.MaxSessions > 0):
		return errors.New("a closed loop is of sessions, and has neither a schedule nor another bound of live ones")
	case c.Closed != nil && (c.Closed.Concurrency < 1 || c.Closed.N < 0 || c.Closed.Until < 0 || c.Closed.N == 0 && c.Closed.Until == 0):
		return errors.New("a closed loop needs at least one request in flight, and a number or a time that ends it")
	case c.Closed != nil && c.Sessions != nil:
		return errors.New("a closed loop is one of requests: leave the sessions out")
	case c.MaxConcurrency > 0 && c.Sessions != nil:
		return errors.New("--max-concurrency is for single requests, and the load is sessions: bound those by their rate, or send the steps of a trace open-loop (--trace-sessions open)")
	case c.MaxConcurrency < 0:
		return errors.New("the bound of requests in flight is negative: give 0 for none")
	case c.Source == nil && c.Closed == nil && c.Concurrent == 0:
		return errors.New("dispatcher has no schedule")
	case c.Sessions != nil && c.MaxInFlight < 0:
		return errors.New("the bound of a session's steps in flight is negative: give 0 for none")
	case c.items() == 0:
		return errors.New("dispatcher has nothing to ask: give a dataset that is not empty")
	case c.Target == nil:
		return errors.New("dispatcher has no target")
	case c.Record == nil || c.Finished == nil:
		return errors.New("dispatcher needs both Record and Finished")
	case c.Probes.Every < 0:
		return errors.New("the time between probes is negative: give 0 for none")
	case c.Warmup < 0:
		return errors.New("warm-up is negative: give 0 for none")
	case c.Drain < 0:
		return errors.New("drain is negative: give 0 for no waiting")
	}
	return c.checkClasses()
}
