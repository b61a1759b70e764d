package router

import (
	"slices"
	"time"

	"goodput/loadgen/clock"
)

// Request is what a router can know of a request when it picks: never the true
// output length. The compiler keeps policies honest.
type Request struct {
	// Session identifies the conversation; 0 is none.
	Session uint64
	// Prefix is the chained hash of each full block of the prompt, of Block tokens
	// each; see PrefixHashes.
	Prefix []uint64
	Block  int
	// InTokens is the prompt's length, MaxOut the answer's upper bound.
	InTokens, MaxOut int
	// Class and Adapter are small numbers given by the plan; 0 is the default.
	Class, Adapter uint16
	// Tenant identifies whom the request is from; 0 is none.
	Tenant uint64
	// At is when it is routed.
	At clock.Time
	// Refused are the numbers of the replicas that refused it before, in order, if it is
	// picked for again; see Failover.
	Refused []int
}

// AdapterState is where a replica has the adapter of a request.
type AdapterState uint8

// The states, see EngineAdapters.
const (
	AdapterUnknown AdapterState = iota
	AdapterAbsent               // not loaded, and no slot is free
	AdapterQueued               // requests for it wait to have it loaded
	AdapterRoom                 // not loaded, and a slot is free
	AdapterActive               // loaded
)

// StateOf is where a replica has an adapter that runs those of running, has requests
// queued for those of waiting, and holds at most so many; 0: it serves none.
func StateOf(adapter uint16, running, waiting []uint16, most int) AdapterState {
	if adapter == 0 || most == 0 {
		return AdapterUnknown
	}
	held := len(running)
	for _, w := range waiting {
		if !slices.Contains(running, w) {
			held++
		}
	}
	switch {
	case slices.Contains(running, adapter):
		return AdapterActive
	case held < most:
		return AdapterRoom
	case slices.Contains(waiting, adapter):
		return AdapterQueued
	}
	return AdapterAbsent
}

// Load is what the router believes of one replica, as of AsOf. Signals may be
// stale; Outstanding is the router's own count and never is.
type Load struct {
	// ID is the replica's number, by which rules remember it: the index among those
	// that are up changes when others leave.
	ID int
	// Outstanding requests, of Tokens prompt tokens together, were sent by this
	// router and have not ended. Answering of them have had their first token.
	Outstanding, Tokens, Answering int
	// Waiting and Running are the engine's queues when last seen.
	Waiting, Running int
	// KVUsed is the fraction of KV blocks in use when last seen, 0 to 1.
	KVUsed float64
	// AsOf is when the engine's own figures were seen; clock.Never: not yet.
	AsOf clock.Time
	// Since is the number of requests that this router has sent there since AsOf.
	Since int
	// Cached is how many of the request's prompt tokens the replica has in its prefix
	// cache, see EngineCache.
	Cached int
	// Adapter is where it has the request's adapter, see EngineAdapters.
	Adapter AdapterState
}

// Policy is a selection rule. It runs on one goroutine, reads no clock, and
// draws chance only from the stream it was built with.
type Policy interface {
	// Pick returns the index of the chosen replica, 0 <= i < len(up), or None to
	// refuse the request. up holds at least one replica, in the order of their
	// numbers.
	Pick(r *Request, up []Load) int
	// String is the name and parameters, as New parses them.
	String() string
}

// End is how a request ended, as its router sees it.
type End struct {
	// At is when it ended, FirstToken when its answer began; clock.Never: it did not,
	// or the router can't tell.
	At, FirstToken clock.Time
	// Out is the number of tokens of the answer.
	Out int
	// Status is that of HTTP; 0: there was none.
	Status int
	// RetryAfter is how long a replica that refused wants to be left alone; 0: it does
	// not say.
	RetryAfter time.Duration
}

// Failed reports whether the request ended in other than good order.
func (e *End) Failed() bool { return e.Status < 200 || e.Status > 299 }

// Learner is a Policy that wants to see where requests went and when they end.
// Replicas are named by their numbers (Load.ID).
type Learner interface {
	Placed(r *Request, id int)
	Done(r *Request, id int, e *End)
}

// Failover is a Policy that may have a request which a replica refused picked for once
// more, with that replica among Request.Refused.
type Failover interface {
	// Again is asked before Done tells of the refusal by replica id.
	Again(r *Request, id, status int) bool
}

// Breaker is a Policy that refuses requests for some time.
type Breaker interface {
	// RetryAfter is how long that goes on; 0: it is not known.
	RetryAfter(now clock.Time) time.Duration
}

// Starter is a Policy that wants to see when answers begin.
type Starter interface {
	FirstToken(r *Request, id int, now clock.Time)
}
