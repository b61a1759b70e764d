package dispatch

import (
	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// turn is the user turn that a session's main thread is in: from when the user's text
// is due to the end of the last step before the user is waited for again.
type turn struct {
	from   clock.Time
	failed bool // one of its steps, or its beginning is not known
}

// step takes the step of the main thread that has just ended, before the thread moves
// on to the next one.
func (u *turn) step(t *thread, ok bool, row *record.Session) {
	steps := t.plan.Steps
	if begins(steps, t.next) {
		// Of a session that began before the run, the first steps may be what is left of a
		// turn.
		*u = turn{from: t.due, failed: t.next == 0 && row.Underway && steps[0].Trigger != datasets.ByUser}
	}
	u.failed = u.failed || !ok
	if last := t.next+1 == len(steps) || begins(steps, t.next+1); last && !u.failed {
		row.Turns = append(row.Turns, int64(t.ended-u.from))
	}
}

// begins reports whether a user turn begins with step k: with the user's text, or with
// the summary of the context that is asked for before this text is sent.
func begins(steps []datasets.Step, k int) bool {
	summary := func(k int) bool { return k >= 0 && k < len(steps) && steps[k].Trigger == datasets.ByCompaction }
	byUser := func(k int) bool { return k < len(steps) && steps[k].Trigger == datasets.ByUser }
	return k == 0 || byUser(k) && !summary(k-1) || summary(k) && byUser(k+1)
}
