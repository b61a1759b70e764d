package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
)

// openLead is how long before --start-at the files of the run are opened: enough for a
// slow disk, and little beside a run.
const openLead = 2 * time.Second

// shardOf is the part of the load that the plan asks for.
func shardOf(p *plan.Plan) (schedule.Shard, error) {
	i, n, err := p.Part()
	if err != nil {
		return schedule.Shard{}, fmt.Errorf("--shard: %w", err)
	}
	return schedule.Shard{Index: i, Of: n}, nil
}

// shardRecord is what the manifest says of it; nil for the whole.
func shardRecord(s schedule.Shard) *record.Shard {
	if !s.Sharded() {
		return nil
	}
	return &record.Shard{Index: s.Index, Of: s.Of}
}

// awaitStart waits until it is time to open the files for a run with --start-at. An
// interrupt ends the program meanwhile, since nothing was made yet.
func (s *session) awaitStart(w io.Writer) error {
	epoch, err := s.plan.Epoch()
	if err != nil || epoch.IsZero() {
		return err
	}
	part, err := shardOf(&s.plan)
	if err != nil {
		return err
	}
	if part.Sharded() {
		fmt.Fprintf(w, "shard      %d of %d (from 0): only its own of these requests\n", part.Index, part.Of)
	}
	lead := epoch.Sub(clock.Wall())
	switch {
	case lead < 0:
		return tooLate(epoch, -lead)
	case lead > plan.DeadlineCap:
		return fmt.Errorf("--start-at: %s is %v ahead, further than the limit of %v", s.plan.StartAt, lead.Round(time.Second), plan.DeadlineCap)
	}
	fmt.Fprintf(w, "start      at %s, in %v\n", s.plan.StartAt, lead.Round(time.Millisecond))
	return pause(context.Background(), lead-openLead)
}

// start fixes instant 0.
func (s *session) start(r *clock.Real) (time.Time, error) {
	epoch, err := s.plan.Epoch()
	if err != nil || epoch.IsZero() {
		return r.Start(startLead), err
	}
	if err := r.StartAt(epoch); err != nil {
		return epoch, tooLate(epoch, clock.Wall().Sub(epoch))
	}
	return epoch, nil
}

// awaitEpoch waits for the start of a run with --start-at, so that the time before it
// does not count as time in which the generator had nothing to do.
func (s *session) awaitEpoch() {
	if s.plan.StartAt != "" {
		_ = pause(context.Background(), s.epoch.Sub(clock.Wall())-startLead) // without an end of its own it has no error
	}
}

func tooLate(epoch time.Time, by time.Duration) error {
	return exitf(exitUsage, "--start-at: %s was %v ago when this process was ready to begin: give all parts of the load an instant further ahead, such as in 30 s",
		epoch.UTC().Format(time.RFC3339Nano), by.Round(time.Millisecond))
}
