package trial

import (
	"fmt"
	"math"
	"slices"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// Open is requests at a constant rate, whatever becomes of those before. Intervals vary
// by a tenth, so that arrivals do not lock in with steps.
type Open struct {
	Rate     float64 // per second
	Requests int
	// Input and Output are the tokens of each request. The first Shared tokens of a
	// prompt are one of Groups, in turn.
	Input, Shared, Groups, Output int
}

func (l Open) validate() error {
	switch {
	case !(l.Rate > 0) || math.IsInf(l.Rate, 0):
		return fmt.Errorf("a load of %v requests/s: need more than 0", l.Rate)
	case l.Requests < 1 || l.Input < 1 || l.Output < 1 || l.Groups < 1:
		return fmt.Errorf("a load of %d requests of %d and %d tokens in %d groups: need at least 1 of each", l.Requests, l.Input, l.Output, l.Groups)
	case l.Shared < 0 || l.Shared >= l.Input:
		return fmt.Errorf("%d of %d prompt tokens are shared: need less", l.Shared, l.Input)
	}
	return nil
}

// Seen is what the requests of an Open load saw: means, and quantiles of E2E, in
// seconds.
type Seen struct{ TTFT, E2E, E2EP90, E2EP99 float64 }

// RunOpen runs the load to its end. The model must keep no state between steps.
func RunOpen(c engine.Config, m steptime.Model, l Open) (Seen, error) {
	if err := l.validate(); err != nil {
		return Seen{}, err
	}
	loop := clock.NewVirtual()
	e, err := engine.New(c, m, loop)
	if err != nil {
		return Seen{}, err
	}
	all := make([]arrival, l.Requests)
	gaps := rng.New(1, "gaps", 0)
	at := 0.0
	for i := range all {
		a := &all[i]
		a.engine = e
		a.seq = engine.Seq{ID: uint64(i), Prompt: l.Input, MaxTokens: l.Output, Shared: l.Shared, Sink: a}
		for b := range l.Shared / c.BlockSize {
			a.seq.Hashes = append(a.seq.Hashes, uint64(i%l.Groups)<<32|uint64(b))
		}
		loop.At(clock.Time(at*1e9), clock.RankArrival, a)
		at += (0.9 + 0.2*gaps.Float64()) / l.Rate
	}
	loop.Run()
	return seen(all)
}

// arrival is one request.
type arrival struct {
	engine *engine.Engine
	seq    engine.Seq
	done   bool
	err    error
}

var (
	_ engine.Sink = (*arrival)(nil)
	_ clock.Event = (*arrival)(nil)
)

// Entity orders arrivals within an instant.
func (a *arrival) Entity() uint64 { return a.seq.ID }

// Fire sends the request.
func (a *arrival) Fire(clock.Time) { a.err = a.engine.Submit(&a.seq) }

// Tokens does nothing: the engine keeps the instants.
func (a *arrival) Tokens(*engine.Seq, clock.Time, int) {}

// Finished notes the end.
func (a *arrival) Finished(*engine.Seq, clock.Time, engine.Finish) { a.done = true }

func seen(all []arrival) (Seen, error) {
	var s Seen
	e2e := make([]float64, len(all))
	for i := range all {
		a := &all[i]
		if a.err != nil {
			return Seen{}, fmt.Errorf("sending a request of %d and %d tokens: %w", a.seq.Prompt, a.seq.MaxTokens, a.err)
		}
		if !a.done {
			return Seen{}, fmt.Errorf("request %d of %d is not complete: the engine stands still", i+1, len(all))
		}
		e2e[i] = float64(a.seq.LastToken.Sub(a.seq.Arrival)) / 1e9
		s.TTFT += float64(a.seq.FirstToken.Sub(a.seq.Arrival)) / 1e9 / float64(len(all))
		s.E2E += e2e[i] / float64(len(all))
	}
	slices.Sort(e2e)
	at := func(q float64) float64 { return e2e[int(q*float64(len(e2e)-1))] }
	s.E2EP90, s.E2EP99 = at(0.9), at(0.99)
	return s, nil
}
