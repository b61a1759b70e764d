package cli

import (
	"fmt"
	"time"

	"goodput/datasets"
	"goodput/datasets/trace"
	"goodput/loadgen/plan"
)

// sessionMode resolves --trace-sessions. Steps wait for each other wherever the trace
// tells how long, or tells nothing of time; where it tells when each step was sent and
// not how long it was waited for, these times are what is known.
func sessionMode(t *trace.Table, p *plan.Plan) (string, error) {
	asked := p.SessionsRate != 0 || p.NumSessions != 0 || p.SessionsConcurrency != 0
	switch {
	case t.Sessions() == 0 && (asked || p.TraceSessions == plan.SessionsClosed):
		return "", fmt.Errorf("--trace-sessions: %s holds no sessions: leave it out, and use --request-rate and --num-prompts", p.DatasetPath)
	case t.Sessions() == 0 || p.TraceSessions != "":
		return p.TraceSessions, nil
	case asked:
		return plan.SessionsClosed, nil
	case p.RequestRate != 0 || p.NumPrompts != 0 || t.Timed() && !t.Traits().Waits:
		return plan.SessionsOpen, nil
	}
	return plan.SessionsClosed, nil
}

// openRecorded makes sessions of a trace, shaped as the plan says.
func openRecorded(t *trace.Table, p plan.Plan) (*sessionLoad, plan.Plan, error) {
	jitter, err := p.Jitter()
	if err != nil {
		return nil, p, fmt.Errorf("--trace-jitter: %w", err)
	}
	o := trace.Shaping{Slice: p.TraceSlice, Jitter: jitter, Speed: p.TraceSpeed, Seed: p.Seed}
	set, err := trace.ShapeSessions(t, o)
	if err != nil {
		return nil, p, fmt.Errorf("--trace-slice %q, --trace-jitter %q, --trace-speed %v: %w", p.TraceSlice, p.TraceJitter, p.TraceSpeed, err)
	}
	n := set.Sessions()
	switch {
	case !set.Timed() && p.SessionsRate == 0 && p.SessionsConcurrency == 0:
		return nil, p, fmt.Errorf("--sessions-rate: %s does not say when its %d sessions arrived: how many a second? give a number, or inf for all at once", p.DatasetPath, n)
	case !set.Timed() && p.Arrival == "trace":
		return nil, p, fmt.Errorf("--arrival: %s does not say when its sessions arrived", p.DatasetPath)
	case p.NumSessions > n && !p.TraceLoop:
		return nil, p, fmt.Errorf("--num-sessions: %d are more than the %d of %s: ask for fewer, leave the flag out, or repeat them with --trace-loop", p.NumSessions, n, p.DatasetPath)
	}
	if p.NumSessions > 0 {
		o.Len = p.NumSessions
		if set, err = trace.ShapeSessions(t, o); err != nil {
			return nil, p, fmt.Errorf("--trace-loop: %w", err)
		}
	}
	p = p.WithDefaults(set.Timed() && !p.SessionsRate.Inf(), n)
	return &sessionLoad{sessionSet: set, recorded: set}, p, nil
}

// sessionNotes are what the user should know of how recorded sessions are replayed;
// nil are none.
func sessionNotes(s *trace.Sessions, drain time.Duration) []string {
	if s == nil {
		return nil
	}
	out := fileNotes(s.Trace())
	if n := outlasting(s, drain); n > 0 {
		out = append(out, fmt.Sprintf("%d sessions wait for longer than --sessions-drain, %v, by themselves: those that arrive last can't complete", n, drain))
	}
	switch {
	case s.GapsAsWaits():
		out = append(out, "the trace holds no waits: a step follows on the end of the one before after the recorded time between their starts, which is too long by the recorded answer")
	case !s.Trace().Traits().Waits:
		out = append(out, "the trace holds no waits: a step follows on the end of the one before at once")
	}
	return out
}

// outlasting counts the sessions whose main threads wait for longer than the drain.
func outlasting(set datasets.SessionSet, drain time.Duration) int {
	var s datasets.Session
	n := 0
	for i := range set.Sessions() {
		set.Session(i, &s)
		var waits time.Duration
		for k := range s.Threads[0].Steps {
			waits += s.Threads[0].Steps[k].Wait
		}
		if waits > drain {
			n++
		}
	}
	return n
}
