package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"goodput/loadgen/clock"
)

// These tests run in bubbles, where time stands still unless everybody waits: the
// loop's clock shows to the nanosecond when something was sent.

// client is a connection in memory that stamps every flush.
type client struct {
	header http.Header
	loop   *clock.Real
	block  func() // runs in each flush; nil: nothing

	mu      sync.Mutex
	status  int
	body    strings.Builder
	flushes []clock.Time
	fail    error
}

func newClient(g *rig) *client { return &client{header: http.Header{}, loop: g.loop} }

func (c *client) Header() http.Header { return c.header }

func (c *client) WriteHeader(status int) { c.status = status }

func (c *client) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return 0, c.fail
	}
	return c.body.Write(p)
}

func (c *client) FlushError() error {
	c.mu.Lock()
	c.flushes = append(c.flushes, c.loop.Stamp())
	c.mu.Unlock()
	if c.block != nil {
		c.block()
	}
	return nil
}

// SetWriteDeadline breaks the connection: deadlines here are in the past.
func (c *client) SetWriteDeadline(time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = errors.New("deadline passed")
	return nil
}

func (c *client) tokens() int { return strings.Count(c.body.String(), `"text":" `) }

// later is an event of a test.
type later struct{ do func() }

func (e *later) Entity() uint64 { return 1 << 40 }
func (e *later) Fire(clock.Time) {
	e.do()
}

// at runs do on the loop at t.
func (g *rig) at(t clock.Time, do func()) {
	g.loop.Post(&later{do: func() { g.loop.At(t, clock.RankSample, &later{do: do}) }})
}

const tick = 10 * time.Millisecond

func bubble(t *testing.T, test func(t *testing.T, g *rig)) {
	synctest.Test(t, func(t *testing.T) {
		test(t, start(t, func(c *Config) { c.Step = evenSteps(tick) }, clock.Portable()))
	})
}

func (g *rig) stream(ctx context.Context, c *client, n int) { g.streamTo(ctx, g.Handler(), c, n) }

func (g *rig) streamTo(ctx context.Context, h http.Handler, c *client, n int) {
	body := fmt.Sprintf(`{"prompt":"a b c d e f","max_tokens":%d,"stream":true}`, n)
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/completions", strings.NewReader(body))
	h.ServeHTTP(c, r)
}

func ticks(n ...int) []clock.Time {
	out := make([]clock.Time, len(n))
	for i, k := range n {
		out[i] = clock.Time(k) * clock.Time(tick)
	}
	return out
}

func TestStreamKeepsTime(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		c := newClient(g)
		g.stream(t.Context(), c, 5)
		// The status at once, then one flush per step; the end goes with the last token.
		if want := ticks(0, 1, 2, 3, 4, 5); !slices.Equal(c.flushes, want) {
			t.Errorf("flushes at %v, want %v", c.flushes, want)
		}
		f := g.truth.facts(t)[0]
		for _, x := range []struct {
			name string
			at   *int64
			want time.Duration
		}{
			{"received", f.Received, 0},
			{"arrival", f.Arrival, 0},
			{"queued", f.Queued, 0},
			{"scheduled", f.Scheduled, 0},
			{"first token", f.FirstToken, tick},
			{"first sent", f.FirstSent, tick},
			{"last token", f.LastToken, 5 * tick},
			{"last sent", f.LastSent, 5 * tick},
		} {
			if x.at == nil || time.Duration(*x.at) != x.want {
				t.Errorf("%s at %v, want %v", x.name, x.at, x.want)
			}
		}
	})
}

// What a slow client does not take is sent in one go afterwards, and later tokens
// come when they would have come anyway.
func TestSlowClientDelaysNobody(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		gate := make(chan struct{})
		g.at(ticks(4)[0]+1, func() { close(gate) })
		c := newClient(g)
		c.block = func() {
			if len(c.flushes) == 2 { // the one with the first token
				<-gate
			}
		}
		other := newClient(g)
		var both sync.WaitGroup
		both.Go(func() { g.stream(t.Context(), c, 6) })
		synctest.Wait() // the other one comes too late for the first step
		both.Go(func() { g.stream(t.Context(), other, 6) })
		both.Wait()
		if want := []clock.Time{0, ticks(1)[0], ticks(4)[0] + 1, ticks(5)[0], ticks(6)[0]}; !slices.Equal(c.flushes, want) {
			t.Errorf("flushes to the slow client at %v, want %v", c.flushes, want)
		}
		if want := ticks(0, 2, 3, 4, 5, 6, 7); !slices.Equal(other.flushes, want) {
			t.Errorf("flushes to the other client at %v, want %v", other.flushes, want)
		}
		if c.tokens() != 6 || other.tokens() != 6 {
			t.Errorf("%d and %d tokens, want 6 each", c.tokens(), other.tokens())
		}
	})
}

func TestDisconnectFreesBlocks(t *testing.T) {
	tests := []struct {
		name  string
		leave func(g *rig, c *client, cancel func())
		sent  int
	}{
		{"while waiting for a token", func(g *rig, _ *client, cancel func()) { g.at(ticks(3)[0]+1, cancel) }, 3},
		{"while writing", func(g *rig, c *client, _ func()) {
			g.at(ticks(3)[0]+1, func() { _ = c.SetWriteDeadline(time.Time{}) })
		}, 3},
		{"before the first token", func(g *rig, _ *client, cancel func()) { g.at(1, cancel) }, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, g *rig) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := newClient(g)
				tt.leave(g, c, cancel)
				g.stream(ctx, c, 500)

				s := g.state(0)
				if s.Running+s.Waiting+s.Arriving != 0 || s.KVUsed != 0 || s.Aborted != 1 {
					t.Errorf("the client left, but %+v", s)
				}
				if left := g.loop.Stamp(); left > ticks(4)[0] {
					t.Errorf("it took until %v to notice", left)
				}
				f := g.truth.facts(t)[0]
				if *f.Finish != "abort" || f.Sent != tt.sent || *f.Output < tt.sent || *f.Output > tt.sent+1 || f.LastSent != nil {
					t.Errorf("truth %+v", f)
				}
				if (f.FirstSent == nil) != (tt.sent == 0) {
					t.Errorf("first sent at %v", f.FirstSent)
				}
			})
		})
	}
}

func TestAbsentClientOfWholeAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		g.at(ticks(2)[0]+1, cancel)
		postContext(ctx, g.Handler(), "/v1/completions", `{"prompt":"a","max_tokens":500}`)
		f := g.truth.facts(t)[0]
		if *f.Finish != "abort" || f.Status != nil || f.Sent != 0 || *f.Output != 2 {
			t.Errorf("truth %+v", f)
		}
	})
}

func TestCloseLetsRequestsFinish(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		c := newClient(g)
		var running sync.WaitGroup
		running.Go(func() { g.stream(t.Context(), c, 8) })
		synctest.Wait()

		var closed clock.Time
		running.Go(func() {
			if err := g.Close(t.Context()); err != nil {
				t.Error(err)
			}
			closed = g.loop.Stamp()
		})
		synctest.Wait()
		w := post(g.Handler(), "/v1/completions", `{"prompt":"a"}`, headerRequestID, "late")
		if w.Code != http.StatusServiceUnavailable {
			t.Errorf("a new request got status %d", w.Code)
		}
		h := httptest.NewRecorder()
		g.Handler().ServeHTTP(h, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health", nil))
		if h.Code != http.StatusServiceUnavailable {
			t.Errorf("health is %d while closing", h.Code)
		}
		running.Wait()
		if c.tokens() != 8 || !strings.HasSuffix(c.body.String(), doneMarker) {
			t.Errorf("the answer was cut: %s", c.body.String())
		}
		if closed != ticks(8)[0] {
			t.Errorf("closed at %v, want %v", closed, ticks(8)[0])
		}
		if facts := g.truth.facts(t); len(facts) != 2 || facts[0].RequestID != "late" || *facts[0].Status != 503 {
			t.Errorf("truth %+v", facts)
		}
	})
}

func TestCloseCuts(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		stuck, waiting := newClient(g), newClient(g)
		free := make(chan struct{})
		stuck.block = func() {
			if len(stuck.flushes) == 2 {
				<-free
			}
		}
		var running sync.WaitGroup
		for _, c := range []*client{stuck, waiting} {
			running.Go(func() {
				defer func() {
					if r := recover(); c == waiting && r != http.ErrAbortHandler {
						t.Errorf("the connection was not broken off: %v", r)
					}
				}()
				g.stream(t.Context(), c, 500)
			})
			synctest.Wait() // the second one comes too late for the first step
		}
		ctx, cancel := context.WithCancel(t.Context())
		g.at(ticks(3)[0]+1, cancel)
		g.at(ticks(4)[0]+1, func() { close(free) })
		err := g.Close(ctx)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "2 requests") {
			t.Errorf("Close: %v", err)
		}
		running.Wait()
		if s := g.state(0); s.Running != 0 || s.KVUsed != 0 || s.Aborted != 2 {
			t.Errorf("after Close %+v", s)
		}
		if strings.Contains(waiting.body.String(), doneMarker) || waiting.tokens() != 2 {
			t.Errorf("cut after %d tokens", waiting.tokens())
		}
		if facts := g.truth.facts(t); len(facts) != 2 {
			t.Errorf("%d lines of truth", len(facts))
		}
		if err := g.Close(t.Context()); err == nil {
			t.Error("a second Close has nothing to complain about")
		}
	})
}

// Loop time runs ahead of the wall by the clock's speed, and so does everything
// that is measured.
func TestSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, func(c *Config) { c.Step = evenSteps(tick) }, clock.Portable(), clock.Speed(10))
		from := clock.Wall()
		g.stream(t.Context(), newClient(g), 50)
		if wall := clock.Wall().Sub(from); wall < 50*time.Millisecond || wall > 51*time.Millisecond {
			t.Errorf("50 steps of %v at speed 10 took %v", tick, wall)
		}
		f := g.truth.facts(t)[0]
		if got := time.Duration(*f.LastToken - *f.FirstToken); got != 49*tick {
			t.Errorf("decode took %v of loop time, want %v", got, 49*tick)
		}
	})
}
