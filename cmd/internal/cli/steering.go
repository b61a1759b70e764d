package cli

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"goodput/loadgen/dispatch"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
)

// steering keeps account of the changes of a run's rate by hand. The loop tells it of
// them and never waits; a goroutine writes them down. A nil one has none.
type steering struct {
	percent, changes atomic.Int64

	note func(record.Event) error
	wake chan struct{}
	done chan struct{}
	mu   sync.Mutex
	told []record.Event // and not yet written
	err  error          // of the goroutine; look at it when that is done
}

// newSteering writes changes down by note.
func newSteering(note func(record.Event) error) *steering {
	s := &steering{note: note, wake: make(chan struct{}, 1), done: make(chan struct{})}
	s.percent.Store(schedule.PlannedPercent)
	go func() {
		defer close(s.done)
		for range s.wake {
			for _, e := range s.take() {
				s.err = errors.Join(s.err, s.note(e))
			}
		}
	}()
	return s
}

func (s *steering) take() []record.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.told
	s.told = nil
	return out
}

// changed takes a change.
func (s *steering) changed(c dispatch.RateChange) {
	s.percent.Store(c.Percent)
	s.changes.Add(1)
	s.mu.Lock()
	s.told = append(s.told, record.Event{At: c.At, What: record.RateByHand, Percent: c.Percent})
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // it will see this one too
	}
}

// close waits until all changes are written; the loop has ended.
func (s *steering) close() error {
	if s == nil {
		return nil
	}
	close(s.wake)
	<-s.done
	if s.err != nil {
		return fmt.Errorf("noting changes of the rate: %w", s.err)
	}
	return nil
}

// rate is what screens show: the share of the planned rate that holds, and the number of
// changes.
func (s *steering) rate() (percent, changes int64) {
	if s == nil {
		return schedule.PlannedPercent, 0
	}
	return s.percent.Load(), s.changes.Load()
}

// checkSteering refuses to change a rate that there is not.
func (l *liveFlags) checkSteering(p *plan.Plan) error {
	switch {
	case !l.control:
		return nil
	case !l.tui:
		return errors.New("--tui-control: its keys are those of --tui: add it")
	case p.Concurrency > 0 || p.SessionsConcurrency > 0:
		return errors.New("--tui-control: a closed loop has no rate that could be changed: leave it out, or use --request-rate or --sessions-rate in place of --concurrency")
	case math.IsInf(float64(p.RequestRate), 1) && !p.Mixed() && !p.InSessions(), math.IsInf(float64(p.SessionsRate), 1) && p.InSessions():
		return errors.New("--tui-control: all requests are due at once, so that no rate could be changed: give one, as in --request-rate 20")
	case p.Shard != "":
		return errors.New("--tui-control: the other shards would not know of a changed rate: leave out one of --tui-control and --shard")
	case p.Searches():
		return errors.New("--tui-control: the search sets the rate: leave it out, or give --request-rate")
	}
	return nil
}
