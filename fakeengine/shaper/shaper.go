package shaper

import (
	"time"

	"goodput/loadgen/clock"
)

// Request is what a shaper can know of a request.
type Request struct {
	// Tenant and Session are whom it is from; 0: none.
	Tenant, Session uint64
	// Priority ranks it: a smaller one goes first.
	Priority int
	// InTokens is the prompt's length, MaxOut the answer's upper bound.
	InTokens, MaxOut int
	// Due is the instant that its sender meant to send it at.
	Due clock.Time
}

// Kind is what becomes of a request now.
type Kind uint8

// The kinds.
const (
	Pass   Kind = iota // it goes on
	Hold               // it waits, until Next has it
	Refuse             // it gets Status
	Absorb             // it is answered at once, and never goes on
)

// Decision is what becomes of a request. Why is for people.
type Decision struct {
	Kind   Kind
	Status int
	// RetryAfter is for a header of that name; 0: none.
	RetryAfter time.Duration
	Why        string
}

// Shaper decides about requests. It runs on one goroutine; instants never go back.
type Shaper interface {
	// Offer takes up a request. After it, and after Done and Cancel, Next is called until
	// it has nothing.
	Offer(r *Request, now clock.Time) Decision
	// Next is a request that was held, and what becomes of it: Pass, Refuse or Absorb.
	Next(now clock.Time) (*Request, Decision, bool)
	// Done says that a request that went on has ended.
	Done(r *Request, now clock.Time)
	// Cancel takes back a request that is held.
	Cancel(r *Request)
	// String is the name and parameters, as New parses them.
	String() string
}

// Waker is a Shaper whose Next may have something only because time has passed.
type Waker interface {
	// Wake is when that may be; clock.Never: not before anything else happens.
	Wake() clock.Time
}

// Retrier is a Shaper that sends a request on again which was refused behind it.
type Retrier interface {
	// Failed tells that r, which went on, got a status before its answer began, and how
	// long it was asked to wait; 0: not. true: it is held, and Next will have it again.
	// Otherwise Done follows.
	Failed(r *Request, status int, retryAfter time.Duration, now clock.Time) bool
}

// Meter is a Shaper that wants to know of the tokens of answers as they are made.
type Meter interface {
	Tokens(r *Request, n int)
}

// tooMany is the status of HTTP for more requests than are taken.
const tooMany = 429

// full refuses a request that finds no room to wait.
func full(what string) Decision {
	return Decision{Kind: Refuse, Status: tooMany, Why: what}
}
