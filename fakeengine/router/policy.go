package router

import "goodput/loadgen/clock"

// Request is what a router can know of a request when it picks: never the true
// output length. The compiler keeps policies honest.
type Request struct {
	// Session identifies the conversation; 0 is none.
	Session uint64
	// Prefix is the chained hash of each full block of the prompt.
	Prefix []uint64
	// InTokens is the prompt's length, MaxOut the answer's upper bound.
	InTokens, MaxOut int
	// Class and Adapter are small numbers given by the plan; 0 is the default.
	Class, Adapter uint16
}

// Load is what the router believes of one replica, as of AsOf. Signals may be
// stale; Outstanding is the router's own count and never is.
type Load struct {
	// Outstanding requests, of Tokens prompt tokens together, were sent by this
	// router and have not ended.
	Outstanding, Tokens int
	// Waiting and Running are the engine's queues when last seen.
	Waiting, Running int
	// KVUsed is the fraction of KV blocks in use when last seen, 0 to 1.
	KVUsed float64
	// AsOf is when the engine's own figures were seen; clock.Never: not yet.
	AsOf clock.Time
}

// Policy is a selection rule. It runs on one goroutine, reads no clock, and
// draws chance only from the stream it was built with.
type Policy interface {
	// Pick returns the index of the chosen replica, 0 <= i < len(up). up holds
	// at least one replica.
	Pick(r *Request, up []Load) int
	// String is the name and parameters, as New parses them.
	String() string
}

// Learner is a Policy that wants to see where requests went and when they end.
type Learner interface {
	Placed(r *Request, i int)
	Done(r *Request, i int)
}
