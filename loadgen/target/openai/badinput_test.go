package openai

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// judge is a sink that also makes the row of the attempt.
type judge struct {
	*recorder
	asm observe.Assembler
}

func (j *judge) Event(e target.Event) {
	j.recorder.Event(e)
	j.asm.Event(e)
}

// judged sends one request and returns its row and what was odd about it. given is
// called with the sink when the request is on its way; nil: nothing is to be done.
func (r *rig) judged(t *testing.T, given func(*judge)) (*record.Request, *observe.Anomalies) {
	t.Helper()
	j := &judge{recorder: newRecorder(t)}
	req := r.request()
	j.asm.Begin(req, 0)
	r.Start(req, j)
	if given != nil {
		given(j)
	}
	r.loop.await(j.recorder)
	return j.asm.Finish(clock.Never), j.asm.Anomalies()
}

// TestBadInput holds the faults that load generators are known to measure wrongly, each
// with what the row must say. A figure that nothing was seen of is null.
func TestBadInput(t *testing.T) {
	const (
		null  = record.Null
		start = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	)
	single := `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`
	long := `{"choices":[{"delta":{"content":"` + strings.Repeat("x", 1_000_000) + `"}}]}`
	noToken := func(r *record.Request) bool {
		return r.TTFT() == null && r.TPOT() == null && !r.FirstToken.Known() && len(r.TokenGapsUS) == 0
	}
	tests := []struct {
		name    string
		answer  []string // the next one is sent when a token of the one before was seen, if there is one
		outcome record.Outcome
		right   func(*record.Request) bool
		odd     observe.Anomalies
	}{
		{
			"a role-only first chunk is no first token",
			[]string{head + data(role), data(tok), data(tok, finish, usage, done) + last},
			record.OK,
			func(r *record.Request) bool { return r.FirstRole < r.FirstToken && r.Chunks == 2 },
			observe.Anomalies{},
		},
		{
			"an error in a 200 is a failure",
			[]string{head + data(`{"error":{"message":"out of memory"}}`, done) + last},
			record.StreamError, noToken,
			observe.Anomalies{},
		},
		{
			"an error in a 200 after tokens is a failure",
			[]string{head + data(tok, tok, `{"error":{"message":"out of memory"}}`, finish, done) + last},
			record.StreamError, nil,
			observe.Anomalies{},
		},
		{
			"a truncated stream is a failure",
			[]string{head + data(tok, tok)},
			record.Truncated, nil,
			observe.Anomalies{},
		},
		{
			"a stream that ends well without a finish reason is a failure",
			[]string{head + data(tok, tok, done) + last},
			record.Truncated, nil,
			observe.Anomalies{},
		},
		{
			"a usage-only last chunk is no token, and ends nothing",
			[]string{head + data(tok), data(tok), data(tok), data(finish, usage, done) + last},
			record.OK,
			func(r *record.Request) bool {
				return r.OutputTokens == 3 && r.Chunks == 3 && len(r.TokenGapsUS) == 2 && r.LastToken < r.UsageAt
			},
			observe.Anomalies{},
		},
		{
			"of all that failed there is no latency",
			[]string{"HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\nno"},
			record.HTTP5xx,
			func(r *record.Request) bool { return noToken(r) && r.E2E() == null && r.OutputTokens == record.Null32 },
			observe.Anomalies{},
		},
		{
			"an answer of one token has a TTFT and no TPOT",
			[]string{head + data(single, finish, strings.Replace(usage, `"completion_tokens":3`, `"completion_tokens":1`, 1), done) + last},
			record.OK,
			func(r *record.Request) bool { return r.TTFT() > 0 && r.TPOT() == null && r.OutputTokens == 1 },
			observe.Anomalies{},
		},
		{
			"chunks of one read are counted as such",
			[]string{head + data(tok, tok, tok, finish, usage, done) + last},
			record.OK,
			func(r *record.Request) bool { return r.Chunks == 3 && r.CoalescedTokens == 2 && r.TPOT() == null },
			observe.Anomalies{},
		},
		{
			"an answer in one chunk of many tokens has no time per token, and no gaps of 0",
			[]string{head + data(tok, finish, usage, done) + last},
			record.OK,
			func(r *record.Request) bool {
				return r.OutputTokens == 3 && r.Chunks == 1 && r.TTFT() > 0 && r.TPOT() == null && len(r.TokenGapsUS) == 0
			},
			observe.Anomalies{},
		},
		{
			"a call of a tool alone is a first token, and none that the user sees",
			[]string{head + data(role), data(call), data(call, finish, usage, done) + last},
			record.OK,
			func(r *record.Request) bool { return r.FirstTool == r.FirstToken && r.TTFT() > 0 && r.TTFV() == null },
			observe.Anomalies{},
		},
		{
			"reasoning is a first token, and told from the first one that the user sees",
			[]string{head + data(think), data(think), data(tok, finish, usage, done) + last},
			record.OK,
			func(r *record.Request) bool {
				return r.FirstReasoning == r.FirstToken && r.TTFT() < r.TTFV() && r.Chunks == 3 && r.TPOT() > 0
			},
			observe.Anomalies{},
		},
		{
			"the empty delta of the finish adds no gap",
			[]string{head + data(tok), data(tok), data(finish, strings.Replace(usage, `"completion_tokens":3`, `"completion_tokens":2`, 1), done) + last},
			record.OK,
			func(r *record.Request) bool { return r.Chunks == 2 && len(r.TokenGapsUS) == 1 && r.OutputTokens == 2 },
			observe.Anomalies{},
		},
		{
			"a usage of no tokens is no answer of the length that was asked for",
			[]string{head + data(role, finish, strings.Replace(usage, `"completion_tokens":3`, `"completion_tokens":0`, 1), done) + last},
			record.OK,
			func(r *record.Request) bool { return noToken(r) && r.OutputTokens == 0 && r.Normalized() == null },
			observe.Anomalies{},
		},
		{
			"an error object behind the finish is a failure",
			[]string{head + data(tok, finish, `{"error":{"message":"engine died"}}`, done) + last},
			record.StreamError, nil,
			observe.Anomalies{},
		},
		{
			"a connection that breaks is not tried again out of sight",
			[]string{""},
			record.Reset, noToken,
			observe.Anomalies{},
		},
		{
			"a line of a megabyte is read",
			[]string{head + data(long, finish, done) + last},
			record.OK,
			func(r *record.Request) bool { return r.Chunks == 1 && r.BytesIn > 1_000_000 },
			observe.Anomalies{},
		},
		{
			"a line above the limit is an error",
			[]string{head + data(long+long) + last},
			record.StreamError, noToken,
			observe.Anomalies{},
		},
		{
			"endless headers are an error",
			[]string{"HTTP/1.1 200 OK\r\n" + strings.Repeat("X-More: and more\r\n", 10_000)},
			record.StreamError, noToken,
			observe.Anomalies{},
		},
		{
			"a wrong content type is an error",
			[]string{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"},
			record.StreamError, noToken,
			observe.Anomalies{},
		},
		{
			"a compressed body is refused",
			[]string{start + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b"},
			record.StreamError, noToken,
			observe.Anomalies{},
		},
		{
			"a second marker is counted",
			[]string{head + data(tok, tok, finish, done, done) + last},
			record.OK, nil,
			observe.Anomalies{observe.DuplicateDone: 1},
		},
		{
			"tokens after the finish count, those after the marker do not",
			[]string{head + data(tok, finish, tok, done, tok) + last},
			record.OK,
			func(r *record.Request) bool { return r.Chunks == 2 },
			observe.Anomalies{observe.TokensAfterFinish: 1, observe.TokensAfterDone: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sinks := make(chan *judge, 1)
			p := listen(t, func(c *conn) {
				if req, _ := c.request(); req == nil {
					return
				}
				sink := <-sinks
				for i, part := range tt.answer {
					if i > 0 {
						<-sink.tokens
					}
					c.say(part)
				}
			})
			row, odd := newRig(t, p.url()).judged(t, func(j *judge) { sinks <- j })
			if row.Outcome != tt.outcome || tt.right != nil && !tt.right(row) {
				t.Errorf("%v (want %v): %+v", row.Outcome, tt.outcome, row)
			}
			tt.odd[observe.DecodeFallbacks] = odd[observe.DecodeFallbacks]
			if *odd != tt.odd {
				t.Errorf("oddities %v, want %v", *odd, tt.odd)
			}
			if n := p.requests.Load(); n != 1 {
				t.Errorf("%d requests arrived", n)
			}
		})
	}
}

// A name that does not resolve is a failure of its own kind, within the time given.
func TestBadNames(t *testing.T) {
	row, _ := newRig(t, "http://host.invalid:1").judged(t, nil)
	if row.Outcome != record.Connect || row.Conn.Known() || row.TTFT() != record.Null || row.HTTPStatus != record.Null32 {
		t.Errorf("%v: %+v", row.Outcome, row)
	}
}

// What is silent is given up by the timeouts alone, and the row says how far it came: at
// a handshake that does not end, before the header, and within the stream. No FIN comes
// from a host that has vanished.
func TestSilence(t *testing.T) {
	reached := make(chan struct{}, 1)
	tests := []struct {
		name    string
		secure  bool
		answer  string
		outcome record.Outcome
		right   func(*record.Request) bool
	}{
		{"within the handshake", true, "", record.TimeoutTTFT, func(r *record.Request) bool { return !r.Conn.Known() && r.TTFT() == record.Null }},
		{"before the header", false, "", record.TimeoutTTFT, func(r *record.Request) bool { return r.Conn.Known() && r.TTFT() == record.Null }},
		{"within the header", false, "HTTP/1.1 200 OK\r\n", record.TimeoutTTFT, func(r *record.Request) bool { return r.HTTPStatus == record.Null32 }},
		{"before a token", false, head + data(role), record.TimeoutTTFT, func(r *record.Request) bool { return r.FirstRole.Known() && r.TTFT() == record.Null }},
		{"within the stream", false, head + data(tok), record.TimeoutTotal, func(r *record.Request) bool { return r.TTFT() > 0 && r.Chunks == 1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := listen(t, func(c *conn) {
				if tt.secure {
					c.r.Peek(1) // the hello has begun
				} else {
					c.request()
				}
				c.say(tt.answer)
				reached <- struct{}{}
				c.gone()
			})
			url := p.url()
			if tt.secure {
				url = strings.Replace(url, "http:", "https:", 1)
			}
			r := newRig(t, url, timeouts(time.Second, time.Minute))
			row, _ := r.judged(t, func(j *judge) {
				<-reached
				if strings.HasPrefix(tt.answer, head) {
					<-j.tokens
				}
				r.loop.advance(clock.Time(2 * time.Minute))
			})
			if row.Outcome != tt.outcome || !tt.right(row) {
				t.Errorf("%v (want %v): %+v", row.Outcome, tt.outcome, row)
			}
		})
	}
}

// A slow handshake is part of what a user waits for, and the row tells it apart.
func TestSlowTLS(t *testing.T) {
	stamps := &ticks{}
	donor := httptest.NewTLSServer(nil)
	donor.Close()
	p := listen(t, func(c *conn) {
		c.r.Peek(1)
		stamps.n.Add(1_000_000) // that much later by the client's clock
		s := tls.Server(rewound{c.TCPConn, c.r}, &tls.Config{Certificates: donor.TLS.Certificates})
		req, err := http.ReadRequest(bufio.NewReader(s))
		if err != nil {
			t.Error(err)
			return
		}
		io.Copy(io.Discard, req.Body)
		io.WriteString(s, head+data(tok, tok, finish, usage, done)+last)
		s.Close()
	})
	r := newRig(t, strings.Replace(p.url(), "http:", "https:", 1), func(c *Config) {
		c.TLS, c.Stamp = &tls.Config{InsecureSkipVerify: true}, stamps
	})
	row, _ := r.judged(t, nil)
	if row.Outcome != record.OK || row.TLS < 1_000_000 || row.TTFT() < row.TLS || row.Dial >= 1_000_000 || row.Connect() < row.TLS || row.TTFTSend() >= 1_000_000 {
		t.Errorf("%v, TLS %d, dial %d, connect %d, TTFT %d, from sending %d: %s", row.Outcome, row.TLS, row.Dial, row.Connect(), row.TTFT(), row.TTFTSend(), row.Error)
	}
}

// rewound is a connection of which some has been read into r.
type rewound struct {
	net.Conn
	r io.Reader
}

func (c rewound) Read(b []byte) (int, error) { return c.r.Read(b) }
