package dispatch

import (
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
)

// Counts is the account of all requests at one instant. Invariant 1 (conservation)
// says that Scheduled = Completed + Failed + Canceled + Dropped + Censored + InFlight.
type Counts struct {
	// Scheduled requests became due; InFlight are those without a row yet, among them
	// those that wait for a place.
	Scheduled, InFlight int64
	// Outcomes counts the rows by outcome.
	Outcomes [record.NumOutcomes]int64
}

// Completed is the number of successes.
func (c *Counts) Completed() int64 { return c.Outcomes[record.OK] }

// Dropped is the number of requests that were never sent.
func (c *Counts) Dropped() int64 { return c.Outcomes[record.DroppedCap] }

// Censored is the number of requests that had not ended when the drain did.
func (c *Counts) Censored() int64 { return c.Outcomes[record.Censored] }

// Canceled is the number of requests that were given up on purpose.
func (c *Counts) Canceled() int64 { return c.Outcomes[record.Canceled] }

// Failed is the number of requests that ended in any other way.
func (c *Counts) Failed() int64 {
	var all int64
	for _, n := range c.Outcomes {
		all += n
	}
	return all - c.Completed() - c.Dropped() - c.Censored() - c.Canceled()
}

// Counters hold what went wrong between the dispatcher and its target, over the
// whole run. The zero value is a clean run.
type Counters struct {
	// Anomalies are those of all attempts. AfterEnd includes second Ends.
	Anomalies observe.Anomalies
	// Abandoned requests got no End though they were cancelled; their rows hold
	// nothing that the target saw. LateEnds are Ends that came after that.
	Abandoned, LateEnds int64
	// Unquoted are answers of steps that later prompts should quote as they came, and
	// quote as planned because their text was lost. OtherLength are those that had not
	// the planned number of tokens, so that later prompts are longer or shorter than
	// planned.
	Unquoted, OtherLength int64
}

// Attempts is the account of what was sent for the requests.
type Attempts struct {
	// Sent were handed to the target, Retries and Hedges among them.
	Sent, Retries, Hedges int64
	// HedgesWon decided their request; Denied are retries and hedges that the budget
	// did not allow.
	HedgesWon, Denied int64
}
