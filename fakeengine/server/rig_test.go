package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/router"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// even makes every step take as long.
type even time.Duration

func (e even) Step(*steptime.Batch) int64 { return int64(e) * 1000 }

func evenSteps(d time.Duration) func(replica int) steptime.Model { return steptime.Shared(even(d)) }

// rig is a server whose loop runs.
type rig struct {
	*Server
	loop  *clock.Real
	truth *lines
}

// lines is what was written to the ground-truth log.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// fact is a line of the ground-truth log.
type fact struct {
	RequestID   string `json:"request_id"`
	Traceparent *string
	Adapter     *string
	API         string
	Stream      bool
	Status      *int
	Finish      *string
	Replica     *int
	Source      *int `json:"prefill_replica"`
	Choice      *int
	Prompt      *int   `json:"prompt_tokens"`
	MaxTokens   *int   `json:"max_tokens"`
	Output      *int   `json:"output_tokens"`
	Sent        int    `json:"sent_tokens"`
	Cached      *int   `json:"cached_tokens"`
	Preemptions *int   `json:"preemptions"`
	Recomputed  *int   `json:"recomputed_tokens"`
	Received    *int64 `json:"received_ns"`
	Arrival     *int64 `json:"arrival_ns"`
	Queued      *int64 `json:"queued_ns"`
	Scheduled   *int64 `json:"scheduled_ns"`
	FirstToken  *int64 `json:"first_token_ns"`
	FirstSent   *int64 `json:"first_sent_ns"`
	LastToken   *int64 `json:"last_token_ns"`
	LastSent    *int64 `json:"last_sent_ns"`

	FrontEnd     *int64 `json:"spent_frontend_ns"`
	Queue        *int64 `json:"spent_queue_ns"`
	Prefill      *int64 `json:"spent_prefill_ns"`
	Decode       *int64 `json:"spent_decode_ns"`
	Interference *int64 `json:"spent_interference_ns"`
	Transfer     *int64 `json:"spent_transfer_ns"`
	Preempted    *int64 `json:"preempted_ns"`
}

// failer is a testing.TB or a rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (l *lines) facts(t failer) []fact {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []fact
	in := bufio.NewScanner(bytes.NewReader(l.buf.Bytes()))
	for in.Scan() {
		var f fact
		d := json.NewDecoder(bytes.NewReader(in.Bytes()))
		if err := d.Decode(&f); err != nil {
			t.Fatalf("%v in %s", err, in.Bytes())
		}
		out = append(out, f)
	}
	return out
}

// start makes a server with one engine and steps of 100 us, unless change says
// otherwise, and closes it at the end of the test.
func start(t testing.TB, change func(*Config), opts ...clock.Option) *rig {
	t.Helper()
	loop, err := clock.NewReal(opts...)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := router.New("round-robin", 1)
	if err != nil {
		t.Fatal(err)
	}
	truth := &lines{}
	c := Config{
		Model: testModel, Replicas: 1, Step: evenSteps(100 * time.Microsecond), Policy: policy, Loop: loop, Truth: truth,
		Engine: engine.Config{
			MaxNumSeqs: 64, MaxNumBatchedTokens: 2048, MaxModelLen: 1024, BlockSize: 4, NumGPUBlocks: 4097,
			PrefixCaching: true, ChunkedPrefill: true, ReserveFullISL: true,
		},
	}
	if change != nil {
		change(&c)
	}
	srv, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	loop.Start(0)
	var running sync.WaitGroup
	running.Go(loop.Run)
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = srv.Close(ended) // whatever the test has left goes with it
		loop.Stop()
		running.Wait()
	})
	return &rig{Server: srv, loop: loop, truth: truth}
}

// state is the state of replica i, read on the loop.
func (g *rig) state(i int) engine.Stats {
	sc := &scrape{srv: g.Server, replica: i, done: make(chan []snapshot, 1)}
	g.Server.loop.Post(sc)
	return (<-sc.done)[0].stats
}

// settle lets the loop's time pass, for what a request leaves to be done behind its
// answer, such as copies to host memory.
func (g *rig) settle(d time.Duration) {
	for until := g.loop.Stamp().Add(d); g.loop.Stamp() < until; {
		runtime.Gosched()
	}
}

// post sends a body to a handler and returns what it answered.
func post(h http.Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	return postContext(context.Background(), h, path, body, header...)
}

func postContext(ctx context.Context, h http.Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// events are the payloads of a stream.
func events(t failer, body string) []string {
	t.Helper()
	var out []string
	for event := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		if !ok {
			t.Fatalf("not an event: %q", event)
		}
		out = append(out, data)
	}
	return out
}
