package openai

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"goodput/loadgen/clock"
	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loop is a clock.Loop whose time the test moves by hand. The test's goroutine
// is the loop's.
type loop struct {
	now   clock.Time
	posts chan clock.Event
	timed []timed
}

type timed struct {
	at clock.Time
	e  clock.Event
}

func newLoop() *loop { return &loop{posts: make(chan clock.Event, 1000)} }

func (l *loop) Now() clock.Time    { return l.now }
func (l *loop) Post(e clock.Event) { l.posts <- e }
func (l *loop) fire(e clock.Event) { e.Fire(l.now) }
func (l *loop) await(r *recorder)  { l.awaitAll([]*recorder{r}) }
func (l *loop) advance(to clock.Time) {
	for {
		first := -1
		for i, t := range l.timed {
			if t.at <= to && (first < 0 || t.at < l.timed[first].at) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		t := l.timed[first]
		l.timed = append(l.timed[:first], l.timed[first+1:]...)
		l.now = max(l.now, t.at)
		l.fire(t.e)
	}
	l.now = max(l.now, to)
}

func (l *loop) At(t clock.Time, _ clock.Rank, e clock.Event) {
	l.timed = append(l.timed, timed{max(t, l.now), e})
}

// awaitAll fires posts until each of the attempts has ended.
func (l *loop) awaitAll(rs []*recorder) {
	for _, r := range rs {
		for !r.over {
			l.fire(<-l.posts)
		}
	}
}

// ticks is a Stamper that counts, so that every stamp differs.
type ticks struct{ n atomic.Int64 }

func (c *ticks) Stamp() clock.Time { return clock.Time(c.n.Add(1)) }

// words is a prompt of fixed text.
type words string

func (w words) Len() int64        { return int64(len(w)) }
func (w words) Reader() io.Reader { return strings.NewReader(string(w)) }

// recorder is a sink that keeps everything and checks the contract of Target.
type recorder struct {
	t      *testing.T
	events []target.Event
	tokens chan struct{} // one value for each Token event
	over   bool
	result target.Result
}

func newRecorder(t *testing.T) *recorder {
	return &recorder{t: t, tokens: make(chan struct{}, 10_000)}
}

func (r *recorder) Event(e target.Event) {
	if n := len(r.events); r.over || n > 0 && e.At < r.events[n-1].At || (n == 0) != (e.Kind == target.Dispatched) {
		r.t.Errorf("event %+v out of place after %+v", e, r.events)
	}
	if e.Usage != nil {
		u := *e.Usage
		e.Usage = &u
	}
	r.events = append(r.events, e)
	switch e.Kind {
	case target.Token:
		r.tokens <- struct{}{}
	case target.End:
		r.over = true
		r.result = *e.Result
	}
}

// story is what the stream said, in short; + marks what came with the read of the
// event before.
func (r *recorder) story() string {
	var b strings.Builder
	for _, e := range r.events {
		s := ""
		switch e.Kind {
		case target.Token:
			s = [...]string{"role", "text", "reasoning", "tool"}[e.Content]
		case target.Finished:
			s = "finish:" + e.Reason
		case target.UsageSeen:
			s = fmt.Sprintf("usage:%d/%d/%d/%d", e.Usage.Prompt, e.Usage.Completion, e.Usage.Cached, e.Usage.Reasoning)
		case target.Done:
			s = "done"
		default:
			continue
		}
		if e.Coalesced {
			s = "+" + s
		}
		b.WriteString(s + " ")
	}
	return strings.TrimSpace(b.String())
}

// kinds are the events besides those of the stream.
func (r *recorder) kinds() []target.Kind {
	var out []target.Kind
	for _, e := range r.events {
		if e.Kind < target.Token || e.Kind == target.End {
			out = append(out, e.Kind)
		}
	}
	return out
}

func (r *recorder) count(k target.Kind) int {
	n := 0
	for _, e := range r.events {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// peer is a server whose every byte the test decides.
type peer struct {
	t        *testing.T
	l        net.Listener
	requests atomic.Int64 // read completely
	wg       sync.WaitGroup
}

// conn is one connection of a peer.
type conn struct {
	*net.TCPConn
	p *peer
	r *bufio.Reader
}

// listen serves each connection with script, then closes it.
func listen(t *testing.T, script func(c *conn)) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, l: l}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() {
				defer c.Close()
				script(&conn{TCPConn: c.(*net.TCPConn), p: p, r: bufio.NewReader(c)})
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.wg.Wait()
	})
	return p
}

func (p *peer) url() string { return "http://" + p.l.Addr().String() }

// request reads one whole request; nil if the client has gone.
func (c *conn) request() (*http.Request, string) {
	req, err := http.ReadRequest(c.r)
	if err != nil {
		return nil, ""
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, ""
	}
	c.p.requests.Add(1)
	return req, string(body)
}

func (c *conn) say(parts ...string) { io.WriteString(c, strings.Join(parts, "")) }

// gone waits until the client closes the connection.
func (c *conn) gone() { io.Copy(io.Discard, c.r) }

// reset closes with RST instead of FIN.
func (c *conn) reset() {
	c.SetLinger(0)
	c.Close()
}

const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"

const last = "0\r\n\r\n"

// data is one HTTP chunk that holds the payloads as events.
func data(payloads ...string) string {
	var b strings.Builder
	for _, p := range payloads {
		b.WriteString("data: " + p + "\n\n")
	}
	return fmt.Sprintf("%x\r\n%s\r\n", b.Len(), b.String())
}

const (
	role   = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	tok    = `{"choices":[{"index":0,"delta":{"content":" a"},"finish_reason":null}]}`
	think  = `{"choices":[{"index":0,"delta":{"reasoning_content":" hm"},"finish_reason":null}]}`
	call   = `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`
	finish = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	usage  = `{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8}}}`
	done   = "[DONE]"
)

// rig is a client with its loop.
type rig struct {
	*Client
	loop *loop
	seq  uint64
}

func newRig(t *testing.T, url string, change ...func(*Config)) *rig {
	t.Helper()
	l := newLoop()
	cfg := Config{
		BaseURLs: []string{url}, API: wire.Chat, Model: "m", Loop: l, Stamp: &ticks{},
		Prompt: func([]target.Span, ...target.Quote) wire.Prompt { return words("alpha beta gamma delta epsilon zeta") },
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &rig{Client: c, loop: l}
}

func (r *rig) request() *target.Request {
	r.seq++
	return &target.Request{Seq: r.seq, Out: 3, TraceID: [16]byte{1, 0xab}, SpanID: [8]byte{2}}
}

// one sends one request and waits for its end.
func (r *rig) one(t *testing.T) *recorder {
	t.Helper()
	rec := newRecorder(t)
	r.Start(r.request(), rec)
	r.loop.await(rec)
	return rec
}

func timeouts(ttft, total time.Duration) func(*Config) {
	return func(c *Config) { c.TTFTTimeout, c.RequestTimeout = ttft, total }
}
