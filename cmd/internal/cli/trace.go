package cli

import (
	"fmt"

	"goodput/datasets"
	"goodput/datasets/trace"
	"goodput/loadgen/plan"
)

// traceFormat is the format that the plan names; "trace" is told by the file.
func traceFormat(name, path string) (trace.Format, error) {
	if name != "trace" && name != "" {
		return trace.Format(name), nil
	}
	return trace.Detect(path)
}

// openTrace reads the plan's trace file, and makes requests or sessions of it.
func openTrace(p plan.Plan) (datasets.Set, *sessionLoad, plan.Plan, error) {
	format, err := traceFormat(p.DatasetName, p.DatasetPath)
	if err != nil {
		return nil, nil, p, err
	}
	t, err := trace.Open(format, p.DatasetPath, trace.Options{
		Seed: p.Seed, SkipBadRows: p.SkipBadRows, OutputLen: p.CustomOut,
		AnswerLen: p.ShareGPTOut, TimedBlock: p.TimedBlock, TimedUnit: p.TimedUnit,
		TimedTime: p.TimedTime, TimedIn: p.TimedIn, TimedOut: p.TimedOut, TimedIDs: p.TimedIDs,
	})
	if err != nil {
		return nil, nil, p, err
	}
	if p.TraceSessions, err = sessionMode(t, &p); err != nil {
		return nil, nil, p, err
	}
	if p.InSessions() {
		sessions, p, err := openRecorded(t, p)
		return nil, sessions, p, err
	}
	if !t.Timed() && p.RequestRate == 0 && !p.Ramped() && p.Concurrency == 0 {
		return nil, nil, p, fmt.Errorf("--request-rate: %s holds no times: how many requests a second? give a number, or inf for all at once", p.DatasetPath)
	}
	if !t.Timed() && p.Arrival == "trace" {
		return nil, nil, p, fmt.Errorf("--arrival: %s holds no times to replay", p.DatasetPath)
	}
	set, p, err := shapeTrace(t, p)
	return set, nil, p, err
}

// shapeTrace slices, spreads, scales and repeats a trace as the plan says.
func shapeTrace(t *trace.Table, p plan.Plan) (datasets.Set, plan.Plan, error) {
	jitter, err := p.Jitter()
	if err != nil {
		return nil, p, fmt.Errorf("--trace-jitter: %w", err)
	}
	o := trace.Shaping{Slice: p.TraceSlice, Jitter: jitter, Speed: p.TraceSpeed, Seed: p.Seed}
	once, err := trace.Shape(t, o)
	if err != nil {
		return nil, p, fmt.Errorf("--trace-slice %q, --trace-jitter %q, --trace-speed %v: %w", p.TraceSlice, p.TraceJitter, p.TraceSpeed, err)
	}
	asked, rows := p.NumPrompts, once.Len()
	p = p.WithDefaults(t.Timed(), rows)
	if asked > rows && !p.TraceLoop {
		return nil, p, fmt.Errorf("--num-prompts: %d are more than the %d rows of %s: ask for fewer, leave the flag out, or repeat the rows with --trace-loop", asked, rows, p.DatasetPath)
	}
	if o == (trace.Shaping{Speed: 1, Seed: p.Seed}) && asked <= rows {
		return t, p, nil
	}
	if o.Len = asked; asked <= rows {
		return once, p, nil
	}
	set, err := trace.Shape(t, o)
	if err != nil {
		return nil, p, fmt.Errorf("--trace-loop: %w", err)
	}
	return set, p, nil
}

// traceNotes are what the user should know of how a trace is replayed.
func traceNotes(set datasets.Set) []string {
	var t *trace.Table
	switch x := set.(type) {
	case *trace.Table:
		t = x
	case *trace.Shaped:
		t = x.Trace()
	default:
		return nil
	}
	out := fileNotes(t)
	if n := t.Sessions(); n > 0 && t.Timed() {
		what := "at their recorded times"
		if !t.Traits().Recorded {
			what = "at their session's arrival and the waits since, as if answers took no time"
		}
		out = append(out, fmt.Sprintf("the requests of %d sessions are sent open-loop, %s: no step waits for the one before, as it would with --trace-sessions closed", n, what))
	}
	return out
}

// fileNotes are what the user should know of how a trace was read.
func fileNotes(t *trace.Table) []string {
	var out []string
	s := t.Skipped()
	if s.Bad > 0 {
		out = append(out, fmt.Sprintf("%d bad rows were left out, the first: %s", s.Bad, s.First))
	}
	if s.Dropped > 0 {
		out = append(out, fmt.Sprintf("%d rows are no requests and were left out: %s", s.Dropped, s.Why))
	}
	if s.Disordered > 0 {
		out = append(out, fmt.Sprintf("%d rows were out of order and were sorted by time", s.Disordered))
	}
	if t.Traits().Estimated {
		out = append(out, "lengths are estimated from text, at 4 bytes a token")
	}
	return out
}
