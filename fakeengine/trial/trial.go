package trial

import (
	"fmt"
	"math"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// Load is a number of clients, each of which sends its next request at the instant
// at which its last one is complete.
type Load struct {
	// Clients is the number of requests in flight, Requests how many there are in
	// all. With as many requests as clients all start together, and none follows.
	Clients, Requests int
	// Input and Output are the tokens of each request.
	Input, Output int
}

func (l Load) validate() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"clients", l.Clients}, {"requests", l.Requests}, {"input tokens", l.Input}, {"output tokens", l.Output}} {
		if f.value < 1 {
			return fmt.Errorf("a load of %d %s: need at least 1", f.value, f.name)
		}
	}
	if l.Requests < l.Clients {
		return fmt.Errorf("a load of %d requests for %d clients: need one for each at least", l.Requests, l.Clients)
	}
	return nil
}

// Closed is the load of clients who send until a few waves of them are done: the
// first wave starts in step and is left out of the means, see Result. Long runs are
// cut to a number of tokens that keeps a prediction short, but to no less than two
// waves.
func Closed(clients, input, output int) Load {
	const tokens, most = 2_000_000, 5
	waves := max(2, min(most, tokens/max(1, clients*output)))
	return Load{Clients: clients, Requests: waves * clients, Input: input, Output: output}
}

// Batch is the load of n requests that start together.
func Batch(n, input, output int) Load { return Load{n, n, input, output} }

// Result is what the requests saw. Means are over the requests after the first
// wave; if there is but one wave, over that.
type Result struct {
	// TTFT, E2E and TPOT are mean times in seconds; TPOT leaves the first token out
	// and is NaN for answers of one token.
	TTFT, E2E, TPOT float64
	// Makespan is from the first request to the last token, in seconds.
	Makespan float64
	// OutputRate is output tokens per second: the clients' share of tokens over the
	// time of a request (Little's law, exact while all clients are busy). For one
	// wave it is all tokens over the makespan.
	OutputRate float64
	// Counted is the number of requests in the means, Preemptions of all requests.
	Counted, Preemptions int
}

// Run runs the load to its end. The model must keep no state between steps.
func Run(c engine.Config, m steptime.Model, l Load) (Result, error) {
	if err := l.validate(); err != nil {
		return Result{}, err
	}
	loop := clock.NewVirtual()
	e, err := engine.New(c, m, loop)
	if err != nil {
		return Result{}, err
	}
	d := driver{engine: e, loop: loop, load: l, left: l.Requests}
	clients := make([]client, l.Clients)
	for i := range clients {
		clients[i] = client{d: &d, id: uint64(i)}
		loop.At(0, clock.RankTransit, &clients[i])
	}
	loop.Run()
	if d.err != nil {
		return Result{}, d.err
	}
	return d.result()
}

// driver is the state that clients share.
type driver struct {
	engine *engine.Engine
	loop   *clock.Virtual
	load   Load
	left   int // requests to send
	err    error

	done, counted, preemptions int
	ttft, e2e                  int64 // sums over the counted, in ns
	last                       clock.Time
}

// client sends one request after the other.
type client struct {
	d    *driver
	id   uint64
	wave int
	seq  engine.Seq
}

var (
	_ engine.Sink = (*client)(nil)
	_ clock.Event = (*client)(nil)
)

// Entity orders clients within an instant.
func (c *client) Entity() uint64 { return c.id }

// Fire sends the next request.
func (c *client) Fire(clock.Time) {
	d := c.d
	if d.left == 0 || d.err != nil {
		return
	}
	d.left--
	c.seq.Reset()
	c.seq.ID, c.seq.Prompt, c.seq.MaxTokens, c.seq.Sink = c.id, d.load.Input, d.load.Output, c
	if err := d.engine.Submit(&c.seq); err != nil {
		d.err = fmt.Errorf("sending a request of %d and %d tokens: %w", d.load.Input, d.load.Output, err)
	}
}

// Tokens does nothing: the engine keeps the instants.
func (c *client) Tokens(*engine.Seq, clock.Time, int) {}

// Finished counts the request and has the next one sent.
func (c *client) Finished(s *engine.Seq, now clock.Time, _ engine.Finish) {
	d := c.d
	d.done++
	d.preemptions += s.Preemptions
	d.last = now
	if c.wave > 0 || d.load.Requests == d.load.Clients {
		d.counted++
		d.ttft += int64(s.FirstToken.Sub(s.Arrival))
		d.e2e += int64(now.Sub(s.Arrival))
	}
	c.wave++
	d.loop.At(now, clock.RankTransit, c)
}

func (d *driver) result() (Result, error) {
	if d.done != d.load.Requests || d.counted == 0 {
		return Result{}, fmt.Errorf("%d of %d requests are complete and %d count: the engine stands still", d.done, d.load.Requests, d.counted)
	}
	n := float64(d.counted) * 1e9
	r := Result{
		TTFT: float64(d.ttft) / n, E2E: float64(d.e2e) / n, TPOT: math.NaN(),
		Makespan: float64(d.last) / 1e9, Counted: d.counted, Preemptions: d.preemptions,
	}
	if d.load.Output > 1 {
		r.TPOT = (r.E2E - r.TTFT) / float64(d.load.Output-1)
	}
	r.OutputRate = float64(d.load.Clients*d.load.Output) / r.E2E
	if d.load.Requests == d.load.Clients {
		r.OutputRate = float64(d.load.Requests*d.load.Output) / r.Makespan
	}
	return r, nil
}
