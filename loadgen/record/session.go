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
	Class     string // empty: none
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
	// Unloaded is the ModelTime of the same session alone on one idle replica; Null
	// where nobody knows.
	Unloaded int64
	// Turns are the response times of the main thread's user turns, in order: from when
	// the user's text was due to the last byte before the next wait for the user. A turn
	// with a step that failed, or that did not come to its end, is left out.
	Turns []int64
	// StepsMet and StepsMissed count the steps that met and missed the SLO of a
	// request; of others it is unknown, or there is none. SLOMet is whether the session
	// has met its own.
	StepsMet, StepsMissed int32
	SLOMet                Tri
}

// Slowdown is ModelTime / Unloaded: how many times longer the session's requests took
// than they do alone. ok is false if either is unknown.
func (s *Session) Slowdown() (ratio float64, ok bool) {
	if s.ModelTime == Null || s.Unloaded == Null || s.Unloaded <= 0 {
		return 0, false
	}
	return float64(s.ModelTime) / float64(s.Unloaded), true
}
