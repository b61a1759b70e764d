package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"goodput/loadgen/clock"
)

// rail is a lane in memory that stamps every write.
type rail struct {
	loop *clock.Real
	room func(n int) int // bytes that it takes of n at once; nil: all
	gate func()          // what a write that may wait waits for; nil: nothing

	mu     sync.Mutex
	body   []byte
	tries  []clock.Time
	waited int // writes that were left to the handler
	fail   error
}

var _ lane = (*rail)(nil)

func (l *rail) try(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return 0, l.fail
	}
	n := len(p)
	if l.room != nil {
		n = l.room(n)
	}
	l.body = append(l.body, p[:n]...)
	l.tries = append(l.tries, l.loop.Stamp())
	return n, nil
}

func (l *rail) write(p []byte) error {
	if l.gate != nil {
		l.gate()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.body = append(l.body, p...)
	l.waited++
	return l.fail
}

// events are the payloads of what has come, framed as chunks of HTTP.
func (l *rail) events(t failer) []string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	body, err := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(string(l.body) + "0\r\n\r\n")))
	if err != nil {
		t.Fatalf("not chunks of HTTP: %v", err)
	}
	return events(t, string(body))
}

// railed streams n tokens to l, and returns when the handler does.
func (g *rig) railed(ctx context.Context, l *rail, n int) *client {
	c := newClient(g)
	g.stream(withLane(ctx, l), c, n)
	return c
}

// A token is one write, made when it was, and the handler makes none.
func TestRideIsOneWriteAToken(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		const tokens = 4
		rails := make([]*rail, 40)
		var all sync.WaitGroup
		for i := range rails {
			rails[i] = &rail{loop: g.loop}
			all.Go(func() {
				if c := g.railed(t.Context(), rails[i], tokens); c.body.Len() > 0 || len(c.flushes) != 1 {
					t.Errorf("the handler wrote %q in %d flushes", c.body.String(), len(c.flushes))
				}
			})
		}
		all.Wait()
		for i, l := range rails {
			if len(l.tries) != tokens || l.waited != 0 {
				t.Fatalf("stream %d: %d writes of %d tokens, %d that waited", i, len(l.tries), tokens, l.waited)
			}
			for k, at := range l.tries {
				if first := l.tries[0]; at != first.Add(tick*time.Duration(k)) || first%clock.Time(tick) != 0 {
					t.Errorf("stream %d: token %d was written at %v, the first one at %v", i, k, at, first)
				}
			}
			if got := l.events(t); len(got) != tokens+1 || got[tokens] != "[DONE]" {
				t.Errorf("stream %d: %q", i, got)
			}
		}
		for _, f := range g.truth.facts(t) {
			if f.Sent != tokens || *f.FirstSent != *f.FirstToken || *f.LastSent != *f.LastToken {
				t.Errorf("truth %+v", f)
			}
		}
	})
}

// A client that takes nothing holds up its own stream only.
func TestStuckRideDelaysNobody(t *testing.T) {
	bubble(t, func(t *testing.T, g *rig) {
		open := make(chan struct{})
		g.at(ticks(4)[0]+1, func() { close(open) })
		taken := 0
		stuck := &rail{loop: g.loop, gate: func() { <-open }, room: func(n int) int {
			if taken++; taken == 2 {
				return n / 2
			}
			return n
		}}
		other := &rail{loop: g.loop}
		var both sync.WaitGroup
		both.Go(func() { g.railed(t.Context(), stuck, 6) })
		synctest.Wait() // the other one comes too late for the first step
		both.Go(func() { g.railed(t.Context(), other, 6) })
		both.Wait()
		// Half of the second token went at once; the rest, and what was made since, when there was room.
		if want := []clock.Time{ticks(1)[0], ticks(2)[0], ticks(4)[0] + 1, ticks(5)[0], ticks(6)[0]}; !slices.Equal(stuck.tries, want) || stuck.waited != 1 {
			t.Errorf("the stuck client was written to at %v, want %v; %d waits", stuck.tries, want, stuck.waited)
		}
		if want := ticks(2, 3, 4, 5, 6, 7); !slices.Equal(other.tries, want) {
			t.Errorf("the other client was written to at %v, want %v", other.tries, want)
		}
		if a, b := len(stuck.events(t)), len(other.events(t)); a != 7 || b != 7 {
			t.Errorf("%d and %d events, want 7 each", a, b)
		}
	})
}

func TestRideEndsEarly(t *testing.T) {
	tests := []struct {
		name   string
		leave  func(g *rig, l *rail, cancel func())
		tokens int
		cut    bool
	}{
		{"the client hangs up", func(g *rig, _ *rail, cancel func()) { g.at(ticks(3)[0]+1, cancel) }, 3, false},
		{"the connection fails", func(g *rig, l *rail, _ func()) {
			g.at(ticks(3)[0]+1, func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.fail = errors.New("broken pipe")
			})
		}, 3, false},
		{"a client that does not read hangs up", func(g *rig, l *rail, cancel func()) {
			l.room = func(int) int { return 0 }
			l.gate = func() {
				l.mu.Lock()
				l.fail = errors.New("connection reset")
				l.mu.Unlock()
			}
			cancel()
		}, 0, false},
		{"the replica crashes", func(g *rig, _ *rail, _ func()) {
			g.at(ticks(3)[0]+1, func() { (*host)(g.Server).Crash(0) })
		}, 3, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, g *rig) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				l := &rail{loop: g.loop}
				tt.leave(g, l, cancel)
				func() {
					defer func() {
						if r := recover(); (r == http.ErrAbortHandler) != tt.cut {
							t.Errorf("recovered %v, want the connection cut: %v", r, tt.cut)
						}
					}()
					g.railed(ctx, l, 500)
				}()
				if s := g.state(0); s.Running+s.Waiting+s.Arriving != 0 || s.KVUsed != 0 || s.Aborted != 1 {
					t.Errorf("after the end %+v", s)
				}
				if at := g.loop.Stamp(); at > ticks(4)[0] {
					t.Errorf("it took until %v to notice", at)
				}
				if f := g.truth.facts(t)[0]; *f.Finish != "abort" || f.Sent != tt.tokens || f.LastSent != nil {
					t.Errorf("truth %+v", f)
				}
			})
		})
	}
}

// Whatever a connection takes at once, the client gets the bytes that net/http would
// have sent it.
func TestRideSaysTheSame(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(r, "tokens")
		path := rapid.SampledFrom([]string{"/v1/completions", "/v1/chat/completions", "/v1/responses"}).Draw(r, "path")
		fields := rapid.SampledFrom([]string{"", `,"stream_options":{"include_usage":true}`, `,"n":3`, `,"logprobs":true`}).Draw(r, "fields")
		if path != "/v1/chat/completions" && strings.Contains(fields, "logprobs") {
			fields = `,"logprobs":2`
		}
		takes := rapid.SliceOfN(rapid.IntRange(0, 300), 1, 20).Draw(r, "takes")
		body := fmt.Sprintf(`{"prompt":"a b c","input":"a b c","messages":[{"role":"user","content":"a b"}],"max_tokens":%d,"max_output_tokens":%[1]d,"stream":true%s}`, n, fields)

		g := start(t, func(c *Config) { c.Engine.PrefixCaching = false })
		ask := func(ctx context.Context) string {
			req := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
			req.Header.Set(headerRequestID, "same")
			c := newClient(g)
			g.Handler().ServeHTTP(c, req)
			return c.body.String()
		}
		k := 0
		l := &rail{loop: g.loop, room: func(n int) int { k++; return min(n, takes[k%len(takes)]) }}
		want := ask(t.Context())
		if got := ask(withLane(t.Context(), l)); got != "" {
			r.Fatalf("past the lane: %q", got)
		}
		got, err := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(string(l.body) + "0\r\n\r\n")))
		if err != nil {
			r.Fatal(err)
		}
		// Events of several choices may come in another order.
		if a, b := sortedEvents(string(got)), sortedEvents(want); !slices.Equal(a, b) {
			r.Fatalf("by the lane %q, without %q", a, b)
		}
	})
}

// sortedEvents are the events of a body without the second of its creation, in an order of their own.
func sortedEvents(body string) []string {
	out := strings.Split(body, "\n\n")
	for i := range out {
		if from, rest, ok := strings.Cut(out[i], `"created`); ok {
			_, rest, _ = strings.Cut(rest, ",")
			out[i] = from + rest
		}
	}
	slices.Sort(out)
	return out
}

// A connection is good for another request after a stream, and what has no lane is
// served by net/http alone.
func TestRideOnTheWire(t *testing.T) {
	g := start(t, nil)
	s := listen(t, g.Handler())
	body := `{"prompt":"a","max_tokens":40,"stream":true}`
	for k := range 3 {
		reused := false
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
		resp := send(ctx, t, s.URL, body)
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || reused != (k > 0) {
			t.Errorf("request %d: %v, on a connection that was used before: %v", k, err, reused)
		}
		if n := strings.Count(string(got), `"text":" `); n != 40 || !strings.HasSuffix(string(got), doneMarker) {
			t.Errorf("request %d: %d tokens in %q", k, n, got)
		}
	}

	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || len(resp.TransferEncoding) > 0 || len(events(t, string(got))) != 41 {
		t.Errorf("HTTP/1.0: %v, encoding %q, %q", err, resp.TransferEncoding, got)
	}
}

func TestFrame(t *testing.T) {
	for _, n := range []int{1, 9, 15, 16, 255, 256, 4096, 1 << 20} {
		buf := make([]byte, frameHead+n)
		_, chunk := frame(buf)
		if want := fmt.Sprintf("%x\r\n%s\r\n", n, strings.Repeat("\x00", n)); string(chunk) != want {
			t.Errorf("%d bytes are framed as %q", n, chunk[:min(len(chunk), 20)])
		}
	}
}

// void is a lane that takes everything.
type void struct{}

func (void) try(p []byte) (int, error) { return len(p), nil }
func (void) write([]byte) error        { return nil }

// TestTurnAllocatesNothing: laying out, framing and handing over the token of a step.
func TestTurnAllocatesNothing(t *testing.T) {
	g := start(t, nil)
	st := &stream{srv: g.Server, note: make(chan struct{}, 1)}
	x := &exchange{srv: g.Server, st: st, id: []byte(`"x"`), greeted: true, truth: newTruth(completions, "x", "")}
	x.req = request{maxTokens: 1 << 20, choices: 1, stream: true, logprobs: noLogprobs}
	x.req.model.name = []byte(`"m"`)
	x.choose()
	st.events.begin(completions, x.id, x.req.model.name, 0, &x.req, 1)
	c := &st.choices[0]
	st.events.lay(&c.script)
	st.ride, st.seat = ride{on: void{}, x: x}, idle
	step := func() {
		c.bursts = append(c.bursts, burst{size: 1, count: 1})
		st.seat = queued
		st.turn()
	}
	step()
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations for the token of a step", n)
	}
	if c.sent != 1002 || st.seat != idle {
		t.Errorf("%d tokens were sent, seat %d", c.sent, st.seat)
	}
}
