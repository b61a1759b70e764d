package record

import "goodput/loadgen/clock"

// SessionOutcome classifies how a session ended.
type SessionOutcome uint8

// The outcomes. Only SessionCompleted is a success.
const (
	SessionCompleted  SessionOutcome = iota // every step was a success
	SessionFailed                           // a step failed; those that were left were not sent
	SessionOverflow                         // a step was refused as too long for the context
	SessionCensored                         // not over when the drain ended
	SessionDropped                          // never begun, for want of a place among the live ones
	NumSessionOutcome int            = iota
)

var sessionOutcomes = [NumSessionOutcome]string{"completed", "failed", "overflow", "censored", "dropped"}

// String returns the stored name.
func (o SessionOutcome) String() string { return sessionOutcomes[o] }

// Session is one session: one row of sessions-*.parquet. Durations are nanoseconds,
// Null where they are unknown.
type Session struct {
	SessionID string
	Tenant    string // empty: none
	// Arrival is the scheduled one; Ended is when its last step was over.
	Arrival, Ended clock.Time
	Outcome        SessionOutcome
	Threads        int32
	// StepsPlanned are all, StepsOK those that succeeded, StepsFailed those that were
	// sent and did not, StepsUnsent the others.
	StepsPlanned, StepsOK, StepsFailed, StepsUnsent int32
	// PromptTokens and OutputTokens are the planned ones of successes.
	PromptTokens, OutputTokens int64
	// Underway: the session began before the run, so that the steps are those that were
	// left of it then and its times are unknown.
	Underway bool
	// Queued is how long it waited for a place among the live sessions; of one that
	// never began, how long until that was given up.
	Queued int64
	// SCT is the time from the arrival to the last byte of the last step that something
	// waits for. ModelTime, WaitTime and Lag are its parts along the chain of steps that
	// took longest: requests, planned waits, and what the generator added. All are Null
	// unless the session completed in the run that it began in. Lag includes Queued.
	SCT, ModelTime, WaitTime, Lag int64
}
