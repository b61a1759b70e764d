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

// Open is requests at random instants, whatever becomes of those before: as many as
// Requests in just the time that Rate gives for them. Intervals are exponential and then
// stretched to fill that time, as inference-perf does under the name of a constant rate.
type Open struct {
	Rate     float64 // per second
	Requests int
	// Input and Output are the tokens of each request. The first Shared tokens of a
	// prompt are one of Groups, in turn.
	Input, Shared, Groups, Output int
	// Prompts is how many prompts there are, which are sent in turn, again and again, so
	// that a prefix cache may hold all of a prompt; 0: each request has its own.
	Prompts int
}

func (l Open) validate() error {
	switch {
	case !(l.Rate > 0) || math.IsInf(l.Rate, 0):
		return fmt.Errorf("a load of %v requests/s: need more than 0", l.Rate)
	case l.Requests < 1 || l.Input < 1 || l.Output < 1 || l.Groups < 1:
		return fmt.Errorf("a load of %d requests of %d and %d tokens in %d groups: need at least 1 of each", l.Requests, l.Input, l.Output, l.Groups)
	case l.Prompts < 0:
		return fmt.Errorf("%d prompts in turn: need 0 or more", l.Prompts)
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
	for i, at := range l.Instants() {
		a := &all[i]
		a.engine, a.seq = e, l.request(i, c.BlockSize)
		a.seq.Sink = a
		loop.At(at, clock.RankArrival, a)
	}
	loop.Run()
	return seen(all)
}

// Instants are those of the requests, from the start of the load on; the last one is at its
// end.
func (l Open) Instants() []clock.Time {
	gaps := rng.New(1, "gaps", 0)
	ends := make([]float64, l.Requests)
	at := 0.0
	for i := range ends {
		at += gaps.Exp()
		ends[i] = at
	}
	out := make([]clock.Time, l.Requests)
	for i := range out {
		out[i] = clock.Time(ends[i] / at * float64(l.Requests) / l.Rate * 1e9)
	}
	return out
}

// request is the i-th one. Full blocks of what prompts have in common go by the number of
// the shared part, the others by that of the prompt.
func (l Open) request(i, blockSize int) engine.Seq {
	s := engine.Seq{ID: uint64(i), Prompt: l.Input, MaxTokens: l.Output, Shared: l.Shared}
	own := uint64(0)
	if l.Prompts > 0 {
		i %= l.Prompts
		own, s.Shared = uint64(l.Groups+i), l.Input
	}
	for b := range s.Shared / blockSize {
		part := own
		if (b+1)*blockSize <= l.Shared {
			part = uint64(i % l.Groups)
		}
		s.Hashes = append(s.Hashes, part<<32|uint64(b))
	}
	return s
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
