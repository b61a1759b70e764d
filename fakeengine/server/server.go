package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"goodput/fakeengine/autoscale"
	"goodput/fakeengine/disagg"
	"goodput/fakeengine/engine"
	"goodput/fakeengine/fault"
	"goodput/fakeengine/router"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// Loop is what the engines run on, and what the edges stamp with.
type Loop interface {
	clock.Loop
	clock.Stamper
}

// Config says what a server is made of.
type Config struct {
	// Model is the name on the wire. Requests for another one get 404.
	Model string
	// Replicas is the number of engines that answer, at least 1.
	Replicas int
	// Scale changes that number from then on, by requests that come through Handler;
	// nil: nothing does. Prefill must be nil then.
	Scale *autoscale.Config
	// Prefill is what computes prompts for requests that come through Handler, on
	// replicas that are numbered before those; nil: each replica does that itself.
	Prefill *disagg.Config
	// Engine configures each of them; its ID is replaced by the replica number,
	// and its Steps by the server's own.
	Engine engine.Config
	// Vary, if not nil, changes what replica i's engine differs in from Engine, such as
	// its KV blocks; the size of a block, the longest request, the policy and the
	// adapters are those of all.
	Vary func(i int, c *engine.Config)
	// Step makes the step-time model of each replica; steptime.Shared gives all of
	// them the same.
	Step func(replica int) steptime.Model
	// Policy picks the replica of a request that comes through Handler. It belongs
	// to the server from then on.
	Policy router.Policy
	// Loop is where the engines run. The server does not run it.
	Loop Loop
	// Truth gets a JSON line for each answer that ended; nil: no log. It is
	// written to from one goroutine at a time.
	Truth io.Writer
	// Spans gets the span of each answer that ended well; nil: nobody traces. Wall is the
	// wall clock at an instant of the loop, which it needs; without Spans and with Wall,
	// answers still tell by Server-Timing how long their parts took.
	Spans SpanSink
	// Stages hands over a span each for queue, prefill and decode, too, which vLLM has
	// not: they are below that of the request.
	Stages bool
	Wall   func(clock.Time) time.Time
	// BlockBytes is the size of a KV block on all GPUs of an engine, for the metrics
	// of Engine.Offload; 0: they count blocks.
	BlockBytes int64
	// MaxQueue is how many sequences may wait at a replica before it refuses
	// requests with 429; 0: no bound.
	MaxQueue int
	// Adapters are names of LoRA adapters that every replica has from its start.
	// They need Engine.LoRA, and are on the GPUs as far as there are places, the last ones
	// first.
	Adapters []string
	// Faults is what goes wrong, and when; nil: nothing.
	Faults fault.Script
	// Version is what /version says.
	Version string
	// Release is the one whose names the metrics have.
	Release Release
	// KVFull is called once, on the loop, when a replica has not had the KV blocks for
	// all that it could have run: a request waited for blocks, or lost its own. nil:
	// nobody wants to know.
	KVFull func(replica int)
}

// Server is a number of fake engines behind HTTP. Its handlers may be called from
// any goroutine, as net/http does. They need the loop to run, and hold a request
// until it does.
type Server struct {
	loop     Loop
	model    string
	modelStr []byte // model as a JSON string
	version  string
	release  Release
	engine   engine.Config
	vary     func(i int, c *engine.Config) // nil: all are alike
	step     func(replica int) steptime.Model
	maxQueue int
	block    int64 // bytes of a KV block
	maxBody  int64 // bytes
	named    bool  // somebody reads the names of blocks
	started  int64
	salt     uint64 // makes request ids differ from server to server
	truth    *truthLog
	spans    SpanSink // nil: nobody traces
	stages   bool
	wallAt   func(clock.Time) time.Time
	// spanCount numbers spans.
	spanCount atomic.Uint64
	numbers   atomic.Uint64 // of sequences and of generated request ids
	streams   sync.Pool     // of *stream
	senders   senders

	// These belong to the loop's goroutine.
	fleet    *router.Fleet
	prefill  *disagg.Prefill // nil: none
	replicas []*replica
	first    int                // of those that answer
	families [histograms]family // shared by all replicas
	scaler   *autoscale.Scaler  // nil: the number of replicas stays
	faults   *fault.Player
	build    engine.Builder
	picking  *stream           // whose place is being picked; the loop's
	kvFull   func(replica int) // nil: nobody wants to know, or knows

	mu       sync.Mutex
	adapters []adapter
	static   int                  // of adapters, the first ones, that replicas start with
	live     map[*stream]struct{} // requests that a handler has begun to serve
	closing  bool
	drained  chan struct{} // closed when closing and nothing is live
	closed   chan struct{} // closed at the end of Close
}

// replica is one engine and what is measured of it.
type replica struct {
	label   string
	engine  *engine.Engine
	blocks  int     // of its KV cache
	created float64 // Unix seconds
	tally   tally
	down    atomic.Bool // for handlers; written by the loop
}

// New returns a server with idle engines.
func New(c Config) (*Server, error) {
	if c.Loop == nil {
		return nil, errors.New("a server needs a loop to run its engines on")
	}
	if c.Step == nil {
		return nil, errors.New("a server needs a step-time model for its engines")
	}
	if c.Model == "" {
		return nil, errors.New("a server needs a model name to answer to")
	}
	if c.MaxQueue < 0 {
		return nil, fmt.Errorf("a queue of %d requests is impossible; write a number from 1, or 0 for no bound", c.MaxQueue)
	}
	if c.Spans != nil && c.Wall == nil {
		return nil, errors.New("a server that traces needs a wall clock for its spans")
	}
	now := clock.Wall()
	s := &Server{
		spans: c.Spans, stages: c.Stages, wallAt: c.Wall,
		loop: c.Loop, model: c.Model, modelStr: appendString(nil, c.Model), version: c.Version,
		engine: c.Engine, vary: c.Vary, step: c.Step, maxQueue: c.MaxQueue, block: max(1, c.BlockBytes), maxBody: maxBody,
		release: c.Release, families: families(c.Release, c.Engine.MaxModelLen),
		started: now.Unix(), salt: mix(uint64(now.UnixNano())),
		kvFull: c.KVFull, truth: newTruthLog(c.Truth), live: make(map[*stream]struct{}),
		drained: make(chan struct{}), closed: make(chan struct{}),
		senders: senders{most: halfOfProcessors()},
	}
	s.streams.New = func() any { return &stream{srv: s, note: make(chan struct{}, 1)} }
	replicas, err := s.prepareScale(&c)
	if err != nil {
		return nil, err
	}
	fleet, err := router.NewFleet(c.Policy, replicas, s.observe)
	if err != nil {
		return nil, fmt.Errorf("setting up the router of the server: %w", err)
	}
	s.fleet = fleet
	s.named = c.Engine.PrefixCaching || fleet.Reads(router.PrefixHashes)
	if c.Prefill != nil {
		s.prefill, err = disagg.New(*c.Prefill, c.Replicas, c.Loop, func(i int) *engine.Engine { return s.replicas[i].engine })
		if err != nil {
			return nil, fmt.Errorf("setting up the server: %w", err)
		}
		s.first = s.prefill.Replicas()
		s.named = s.named || s.prefill.Fleet().Reads(router.PrefixHashes)
	}
	if s.faults, err = fault.New(c.Faults, s.first+replicas, c.Loop, (*host)(s)); err != nil {
		return nil, fmt.Errorf("setting up the faults of the server: %w", err)
	}
	for i := range s.first + replicas {
		r := &replica{label: strconv.Itoa(i)}
		if err := s.equip(i, r); err != nil {
			return nil, err
		}
		s.replicas = append(s.replicas, r)
	}
	for _, name := range c.Adapters {
		if name == "" {
			return nil, errors.New("an adapter has no name")
		}
		if err := s.load(adapterBody{Name: name, Path: name}, anyReplica); err != nil {
			return nil, fmt.Errorf("setting up adapter %q of the server: %s", name, err.message)
		}
		s.static++
	}
	if len(c.Faults) > 0 {
		s.loop.Post(&faultStart{s.faults})
	}
	if s.scaler != nil {
		s.loop.Post(&scaleStart{s.scaler})
	}
	return s, nil
}

// equip gives replica i an engine that nothing has happened to.
func (s *Server) equip(i int, r *replica) error {
	c := s.engine
	if s.vary != nil {
		s.vary(i, &c)
	}
	c.ID, c.Steps = i, &r.tally
	e, err := s.build.New(c, s.faults.Model(i, s.step(i)), s.loop)
	if err != nil {
		return fmt.Errorf("setting up replica %d of the server: %w", i, err)
	}
	r.engine, r.blocks, r.tally = e, c.NumGPUBlocks, tally{families: &s.families}
	r.created = float64(clock.Wall().UnixMilli()) / 1000
	return nil
}

// observe is what the router sees of an engine that answers: its state of this instant.
func (s *Server) observe(i int, r *router.Request, l *router.Load) {
	e := s.replicas[s.first+i].engine
	st := e.Stats()
	l.Waiting, l.Running, l.KVUsed = st.Waiting, st.Running, st.KVUsed
	l.AsOf = s.loop.Now()
	if s.fleet.Reads(router.EngineCache) {
		l.Cached = e.CachedTokens(&s.picking.choices[0].seq)
	}
	if s.fleet.Reads(router.EngineAdapters) {
		running, waiting := e.AppendAdapters(nil, nil)
		l.Adapter = router.StateOf(r.Adapter, running, waiting, s.engine.LoRA.MaxLoras)
	}
}

// lookForFullKV tells, once, that blocks were short at replica i.
func (s *Server) lookForFullKV(i int) {
	if s.kvFull == nil {
		return
	}
	if st := s.replicas[i].engine.Stats(); st.KVWaits+st.Preemptions > 0 {
		s.kvFull(i)
		s.kvFull = nil
	}
}

// Handler serves all replicas: the policy picks where each request goes.
func (s *Server) Handler() http.Handler { return newFront(s, anyReplica) }

// Replica serves replica i alone, as an engine behind a
// router would. The policy sees nothing of its requests.
func (s *Server) Replica(i int) http.Handler { return newFront(s, i) }

// enter takes up a request, unless the server is closing.
func (s *Server) enter(st *stream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.live[st] = struct{}{}
	return true
}

// leave ends what enter began.
func (s *Server) leave(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, st)
	if s.closing && len(s.live) == 0 {
		close(s.drained)
	}
}

// flushIfIdle hands on the ground-truth lines when no request is under way, so
// that a reader need not wait for a full buffer. Errors are kept for Close.
func (s *Server) flushIfIdle() {
	s.mu.Lock()
	idle := len(s.live) == 0
	s.mu.Unlock()
	if idle {
		_ = s.truth.flush()
	}
}

// Close refuses new requests with 503 and waits for those under way. When ctx
// ends, the rest are aborted and their connections broken off, so that no client
// takes a cut answer for a whole one. The loop must run until Close returns.
// Its error is that of the ground-truth log, or of ctx.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		<-s.closed
		return errors.New("the server was closed before; close it once")
	}
	s.closing = true
	if len(s.live) == 0 {
		close(s.drained)
	}
	s.mu.Unlock()

	var err error
	select {
	case <-s.drained:
	case <-ctx.Done():
		n := s.cut()
		<-s.drained
		err = fmt.Errorf("closing the server: %d requests were cut off: %w", n, ctx.Err())
	}
	close(s.closed)
	return errors.Join(err, s.truth.flush())
}

// cut aborts what is still under way.
func (s *Server) cut() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.underWay()
	for _, st := range rest {
		st.abort()
		st.unblock()
	}
	return len(rest)
}

// underWay is what handlers have begun to serve, in order of number. The caller
// holds mu.
func (s *Server) underWay() []*stream {
	rest := make([]*stream, 0, len(s.live))
	for st := range s.live {
		rest = append(rest, st)
	}
	slices.SortFunc(rest, func(a, b *stream) int { return cmp.Compare(a.choices[0].seq.ID, b.choices[0].seq.ID) })
	return rest
}

// wall is the wall clock in Unix seconds.
func (s *Server) wall() int64 { return clock.Wall().Unix() }
