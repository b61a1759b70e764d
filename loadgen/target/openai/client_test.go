package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"goodput/loadgen/clock"
	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

func complete(c *conn) { c.say(head, data(role, tok, finish, usage, done), last) }

func TestRequestOnTheWire(t *testing.T) {
	var got *http.Request
	var body string
	p := listen(t, func(c *conn) {
		got, body = c.request()
		complete(c)
		c.gone()
	})
	r := newRig(t, p.url()+"/prefix/", func(c *Config) {
		c.APIKey = "sk-1234567890"
		c.Header = http.Header{"x-team": {"blue"}, "Host": {"models.example"}}
	})
	rec := newRecorder(t)
	req := r.request()
	req.IgnoreEOS, req.Session = true, 7
	r.Start(req, rec)
	r.loop.await(rec)
	r.Close()

	if got.URL.Path != "/prefix/v1/chat/completions" || got.Host != "models.example" || got.Proto != "HTTP/1.1" {
		t.Errorf("%s %s at %s", got.Proto, got.URL, got.Host)
	}
	want := http.Header{
		"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}, "Content-Type": {"application/json"},
		"Authorization": {"Bearer sk-1234567890"}, "X-Team": {"blue"}, "User-Agent": {"goodput"}, "Te": {"trailers"},
		"Content-Length": {fmt.Sprint(len(body))},
		"X-Request-Id":   {"01ab0000000000000000000000000000"},
		"X-Session-Id":   {"7"},
		"Traceparent":    {"00-01ab0000000000000000000000000000-0200000000000000-01"},
	}
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	var sent struct {
		Stream   bool
		Min      int `json:"min_tokens"`
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil {
		t.Fatal(err)
	}
	if !sent.Stream || sent.Min != 3 || sent.Messages[0].Content != "alpha beta gamma delta epsilon zeta" {
		t.Errorf("body %s", body)
	}
	if rec.result.BytesOut != int64(len(body)) {
		t.Errorf("BytesOut %d, body %d", rec.result.BytesOut, len(body))
	}
}

func TestEventsOfAnAttempt(t *testing.T) {
	p := listen(t, func(c *conn) {
		for {
			if req, _ := c.request(); req == nil {
				return
			}
			c.say(strings.Replace(head, "\r\n", "\r\nX-Upstream: replica-3\r\n", 1), data(role, tok, finish, usage, done), last)
		}
	})
	r := newRig(t, p.url())
	for _, reused := range []bool{false, true} {
		rec := r.one(t)
		want := []target.Kind{
			target.Dispatched, target.Conn, target.Writing, target.Wrote, target.FirstByte, target.Header, target.End,
		}
		if diff := cmp.Diff(want, rec.kinds()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if rec.events[1].Reused != reused {
			t.Errorf("reused = %v, want %v", rec.events[1].Reused, reused)
		}
		body := len("data: \n\n")*5 + len(role+tok+finish+usage+done)
		res := target.Result{
			Status: 200, BytesIn: int64(body), BytesOut: rec.result.BytesOut, Replica: "replica-3",
		}
		// TestTrust looks at it.
		if got := rec.result.Net; (got == nil) != reused {
			t.Errorf("reused = %v, and the connection came about as %+v", reused, got)
		}
		if diff := cmp.Diff(res, rec.result, cmpopts.IgnoreFields(target.Result{}, "Net")); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
	}
	if len(r.live) != 0 {
		t.Errorf("%d attempts are remembered", len(r.live))
	}
}

func TestDecodeFallbacksAreCounted(t *testing.T) {
	p := listen(t, func(c *conn) {
		c.request()
		c.say(head, data(tok, `{"ping":1}`, `{"choices":[{"delta":{"content":["x"]}}]}`, finish, done), last)
	})
	rec := newRig(t, p.url()).one(t)
	if rec.result.DecodeFallbacks != 2 || !sameStory(rec.story(), "text text finish:stop done") {
		t.Errorf("%s, %+v", rec.story(), rec.result)
	}
}

func TestTTFTTimeout(t *testing.T) {
	tests := []struct {
		name, answer, story string
		status              int
	}{
		{"no answer", "", "", 0},
		{"role only", head + data(role), "role", 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			arrived := make(chan struct{})
			rec := newRecorder(t)
			p := listen(t, func(c *conn) {
				c.request()
				c.say(tt.answer)
				if tt.answer != "" {
					<-rec.tokens
				}
				close(arrived)
				c.gone()
			})
			r := newRig(t, p.url(), timeouts(time.Second, time.Hour))
			req := r.request()
			req.Intended = 5
			r.Start(req, rec)
			<-arrived
			r.loop.advance(clock.Time(time.Second) + 4)
			if r.ttft.Empty() {
				t.Fatal("gave up before the deadline, which counts from the intended time")
			}
			r.loop.advance(clock.Time(time.Second) + 5)
			r.loop.await(rec)
			res := rec.result
			if res.Cause != target.CauseTTFTTimeout || res.Status != tt.status || rec.story() != tt.story {
				t.Errorf("%q, %+v", rec.story(), res)
			}
			if res.Err != "no first token within 1s of the intended time" {
				t.Errorf("error %q", res.Err)
			}
		})
	}
}

func TestTotalTimeout(t *testing.T) {
	rec := newRecorder(t)
	p := listen(t, func(c *conn) {
		c.request()
		c.say(head, data(tok))
		c.gone()
	})
	r := newRig(t, p.url(), timeouts(time.Second, time.Minute))
	r.Start(r.request(), rec)
	<-rec.tokens
	r.loop.advance(clock.Time(time.Minute) - 1) // the TTFT deadline passes without effect
	if len(r.live) != 1 || r.ctxErr() != nil {
		t.Fatal("the attempt was given up although its first token had come")
	}
	r.loop.advance(clock.Time(time.Minute))
	r.loop.await(rec)
	if rec.result.Cause != target.CauseTotalTimeout || rec.story() != "text" {
		t.Errorf("%q, %+v", rec.story(), rec.result)
	}
}

// ctxErr is the state of the only live attempt's context.
func (r *rig) ctxErr() error {
	for _, a := range r.live {
		return a.ctx.Err()
	}
	return nil
}

// A deadline that has passed at the start leaves no time for anything.
func TestStartAfterTheDeadline(t *testing.T) {
	p := listen(t, func(c *conn) {
		c.request()
		c.gone()
	})
	r := newRig(t, p.url(), timeouts(0, time.Second))
	r.loop.now = clock.Time(time.Minute)
	rec := newRecorder(t)
	r.Start(r.request(), rec)
	r.loop.advance(r.loop.now)
	r.loop.await(rec)
	if rec.result.Cause != target.CauseTotalTimeout {
		t.Errorf("%+v", rec.result)
	}
}

func TestCancel(t *testing.T) {
	rec := newRecorder(t)
	p := listen(t, func(c *conn) {
		c.request()
		c.say(head, data(tok))
		c.gone()
	})
	r := newRig(t, p.url())
	req := r.request()
	r.Start(req, rec)
	<-rec.tokens
	r.Cancel(req)
	r.Cancel(req)
	r.loop.await(rec)
	r.Cancel(req) // over: no effect
	if rec.result.Cause != target.CauseCanceled || rec.result.Err != "cancelled" || rec.story() != "text" {
		t.Errorf("%q, %+v", rec.story(), rec.result)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	p := listen(t, func(c *conn) {
		c.request()
		c.gone()
	})
	r := newRig(t, p.url())
	var recs []*recorder
	for range 20 {
		rec := newRecorder(t)
		recs = append(recs, rec)
		r.Start(r.request(), rec)
	}
	r.Close()
	r.loop.awaitAll(recs)
	for _, rec := range recs {
		if rec.result.Cause != target.CauseCanceled {
			t.Errorf("%+v", rec.result)
		}
	}
}

// An attempt goes out at most once: a server that closes its connections while
// they are idle costs a reset, never a hidden repetition.
func TestNoHiddenRetry(t *testing.T) {
	t.Run("closed on the second request", func(t *testing.T) {
		p := listen(t, func(c *conn) {
			if req, _ := c.request(); req != nil {
				complete(c)
				c.request() // and not a word
			}
		})
		r := newRig(t, p.url())
		first, second := r.one(t), r.one(t)
		if first.result.Cause != target.CauseEOF || second.result.Cause != target.CauseReset {
			t.Errorf("%+v, then %+v", first.result, second.result)
		}
		if n := p.requests.Load(); n != 2 {
			t.Errorf("%d requests arrived for two attempts", n)
		}
	})
	t.Run("closed between choice and use", func(t *testing.T) {
		closeNow, closed := make(chan struct{}), make(chan struct{})
		p := listen(t, func(c *conn) {
			if req, _ := c.request(); req == nil {
				return
			}
			complete(c)
			if c.p.requests.Load() > 1 {
				return
			}
			<-closeNow
			c.reset()
			close(closed)
		})
		r := newRig(t, p.url())
		r.one(t)
		rec := newRecorder(t)
		r.Start(r.request(), &onReuse{rec, func() {
			close(closeNow)
			<-closed
			roundTrips(t)
		}})
		r.loop.await(rec)
		if rec.result.Cause != target.CauseReset || rec.count(target.Conn) != 1 || p.requests.Load() != 1 {
			t.Errorf("%+v over %d connections, %d requests arrived", rec.result, rec.count(target.Conn), p.requests.Load())
		}
	})
}

// onReuse calls do when an attempt has got an idle connection and has not written
// to it yet.
type onReuse struct {
	*recorder
	do func()
}

func (o *onReuse) Event(e target.Event) {
	o.recorder.Event(e)
	if do := o.do; do != nil && e.Kind == target.Conn && e.Reused {
		o.do = nil
		do()
	}
}

// roundTrips talks over the loopback for a while, so that net/http's goroutines
// come to see what happened to their connections before.
func roundTrips(t *testing.T) {
	p := listen(t, func(c *conn) { io.Copy(c, c.r) })
	c, err := net.Dial("tcp", p.l.Addr().String())
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	for range 50 {
		c.Write([]byte{0})
		io.ReadFull(c, make([]byte, 1))
	}
}

// guarded is a large prompt that, once the answer has come, takes longer than the
// connection lasts.
type guarded struct {
	t        *testing.T
	answered chan struct{}
	dropped  chan struct{}
	reading  atomic.Int64
}

const guardedLen = 1 << 30

func (g *guarded) Len() int64        { return guardedLen }
func (g *guarded) Reader() io.Reader { return io.LimitReader(g, guardedLen) }

func (g *guarded) Read(p []byte) (int, error) {
	g.reading.Add(1)
	defer g.reading.Add(-1)
	select {
	case <-g.answered:
		<-g.dropped
		roundTrips(g.t)
	default:
	}
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// onHeader tells when the answer has come, while the request is still being sent.
type onHeader struct {
	*recorder
	answered chan struct{}
}

func (o onHeader) Event(e target.Event) {
	o.recorder.Event(e)
	if e.Kind == target.Header {
		close(o.answered)
	}
}

// A server may answer before it has read the request; after End nobody touches
// the request any more.
func TestAnswerBeforeTheRequestIsRead(t *testing.T) {
	const text = `{"error":{"message":"too long!"}}`
	g := &guarded{t: t, answered: make(chan struct{}), dropped: make(chan struct{})}
	p := listen(t, func(c *conn) {
		io.ReadFull(c.r, make([]byte, 1000))
		c.say(fmt.Sprintf("HTTP/1.1 413 Too Large\r\nContent-Length: %d\r\n\r\n%s", len(text), text))
		c.gone()
		close(g.dropped)
	})
	r := newRig(t, p.url(), func(c *Config) {
		c.Prompt = func([]target.Span, ...target.Quote) wire.Prompt { return g }
	})
	rec := newRecorder(t)
	r.Start(r.request(), onHeader{rec, g.answered})
	r.loop.await(rec)
	if g.reading.Load() != 0 {
		t.Error("the prompt is read after End")
	}
	if rec.result.Status != 413 || rec.result.Cause != target.CauseEOF || !strings.Contains(rec.result.Err, "too long") {
		t.Errorf("%+v", rec.result)
	}
	if rec.count(target.Wrote) != 0 || rec.result.BytesOut >= guardedLen {
		t.Errorf("%d bytes and %d ends of a request that was not taken", rec.result.BytesOut, rec.count(target.Wrote))
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	p := listen(t, func(c *conn) {
		req, body := c.request()
		msg, _ := json.Marshal("no such key: " + req.Header.Get("Authorization") + " from " + req.Header.Get("X-Team") +
			" for " + body[strings.Index(body, "alpha"):])
		text := `{"error":{"message":` + string(msg) + `}}`
		c.say(fmt.Sprintf("HTTP/1.1 401 No\r\nContent-Length: %d\r\n\r\n%s", len(text), text))
	})
	r := newRig(t, p.url(), func(c *Config) {
		c.APIKey = "sk-1234567890"
		c.Header = http.Header{"X-Team": {"secret team"}}
	})
	want := "HTTP status 401: no such key: Bearer [secret] from [secret] for [prompt]"
	if got := r.one(t).result.Err; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		name, value, date string
		want              int64
	}{
		{"none", "", "", 0},
		{"seconds", "7", "", 7e9},
		{"zero", "0", "", 0},
		{"negative", "-1", "", 0},
		{"very long", "99999999999999", "", math.MaxInt64 / int64(time.Second) * int64(time.Second)},
		{"text", "soon", "", 0},
		{"date", "Mon, 02 Jan 2006 15:04:35 GMT", "Mon, 02 Jan 2006 15:04:05 GMT", 30e9},
		{"date without Date", "Mon, 02 Jan 2006 15:04:35 GMT", "", 0},
		{"date in the past", "Mon, 02 Jan 2006 15:04:05 GMT", "Mon, 02 Jan 2006 15:04:35 GMT", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{}
			h.Set("Retry-After", tt.value)
			h.Set("Date", tt.date)
			if got := retryAfter(h); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// fleet starts attempts from within a loop that runs on the wall clock, and stops
// it when all have ended.
type fleet struct {
	*rig
	real *clock.Real
	recs []*recorder
	left int
}

func (f *fleet) Entity() uint64 { return 0 }

func (f *fleet) Fire(clock.Time) {
	for _, rec := range f.recs {
		f.Start(f.request(), &counted{rec, f})
	}
}

// counted tells the fleet when an attempt has ended, on the loop's goroutine.
type counted struct {
	*recorder
	f *fleet
}

func (c *counted) Event(e target.Event) {
	c.recorder.Event(e)
	if e.Kind == target.End {
		if c.f.left--; c.f.left == 0 {
			c.f.real.Stop()
		}
	}
}

func TestManyAtOnceOnTheWallClock(t *testing.T) {
	const n = 200
	p := listen(t, func(c *conn) {
		for {
			if req, _ := c.request(); req == nil {
				return
			}
			complete(c)
		}
	})
	real, err := clock.NewReal()
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{real: real, left: n}
	f.rig = newRig(t, p.url(), timeouts(time.Minute, time.Minute), func(c *Config) { c.Loop, c.Stamp = real, real })
	for range n {
		f.recs = append(f.recs, newRecorder(t))
	}
	real.At(0, clock.RankArrival, f)
	real.Run()
	for _, rec := range f.recs {
		if !sameStory(rec.story(), "role text finish:stop usage:12/3/8/-1 done") || rec.result.Err != "" {
			t.Fatalf("%s, %+v", rec.story(), rec.result)
		}
	}
}

// stream500 is an answer of 500 tokens.
func stream500() []byte {
	var b bytes.Buffer
	for range 500 {
		b.WriteString("data: " + tok + "\n\n")
	}
	b.WriteString("data: " + finish + "\n\ndata: [DONE]\n\n")
	return b.Bytes()
}

type counter int

func (c *counter) Event(target.Event) { *c++ }

func TestStreamDoesNotAllocate(t *testing.T) {
	a, read := streamer(t, stream500())
	if allocs := testing.AllocsPerRun(10, read); allocs != 0 {
		t.Errorf("%v allocations for 502 chunks", allocs)
	}
	if got := *a.sink.(*counter); got != 11*502 {
		t.Errorf("%d events", got)
	}
}

// streamer returns a function that reads stream through an attempt.
func streamer(t testing.TB, stream []byte) (*attempt, func()) {
	c, err := New(Config{
		BaseURLs: []string{"http://127.0.0.1:1"}, Loop: newLoop(), Stamp: &ticks{},
		Prompt: func([]target.Span, ...target.Quote) wire.Prompt { return words("x") },
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &attempt{c: c, req: &target.Request{}, sink: new(counter), scanner: wire.NewScanner(0)}
	a.up = newUpload(nil, 0, c.cfg.Stamp)
	body := bytes.NewReader(nil)
	return a, func() {
		body.Reset(stream)
		a.stream(body)
	}
}

func BenchmarkStream(b *testing.B) {
	stream := stream500()
	_, read := streamer(b, stream)
	b.ReportAllocs()
	for b.Loop() {
		read()
	}
	b.ReportMetric(float64(b.N)*502/b.Elapsed().Seconds(), "chunks/s")
}
