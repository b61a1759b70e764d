package openai

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/target"
)

func TestStreams(t *testing.T) {
	gz := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(s))
		w.Close()
		return b.String()
	}
	long := `{"choices":[{"delta":{"content":"` + strings.Repeat("x", 1_000_000) + `"}}]}`
	plain := func(status, header, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, header, len(body), body)
	}
	tests := []struct {
		name   string
		answer []string
		story  string
		cause  target.Cause
		status int
		err    string // part of it; "" is none
	}{
		{
			name: "complete chat", answer: []string{head, data(role), data(tok, tok), data(finish), data(usage), data(done), last},
			story: "role +text +text +finish:stop +usage:12/3/8/-1 +done", status: 200,
		},
		{
			name: "role only is no token", answer: []string{head, data(role, finish, done), last},
			story: "role +finish:stop +done", status: 200,
		},
		{
			name: "reasoning and tools", answer: []string{head, data(think, tok, call, finish, done), last},
			story: "reasoning +text +tool +finish:stop +done", status: 200,
		},
		{
			name: "no finish, no marker", answer: []string{head, data(tok), last},
			story: "text", status: 200,
		},
		{
			name: "nothing at all", answer: []string{head, last},
			story: "", status: 200,
		},
		{
			name: "error object in a 200", answer: []string{head, data(tok, `{"error":{"message":"out of memory"}}`, done), last},
			story: "text +done", status: 200, cause: target.CauseStreamError, err: "error in the stream: out of memory",
		},
		{
			name: "malformed chunk", answer: []string{head, data(tok, `{"choices":[`, tok), last},
			story: "text +text", status: 200, cause: target.CauseStreamError, err: "malformed chunk: unexpected EOF",
		},
		{
			name: "marker twice", answer: []string{head, data(tok, finish, done, done), last},
			story: "text +finish:stop +done +done", status: 200,
		},
		{
			name: "token after finish and after the marker", answer: []string{head, data(finish, tok, done, tok), last},
			story: "finish:stop +text +done +text", status: 200,
		},
		{
			name: "keep-alives", answer: []string{head, "8\r\n: ping\n\n\r\n", data("", tok, finish, done), last},
			story: "text +finish:stop +done", status: 200,
		},
		{
			name: "line of a megabyte", answer: []string{head, data(long, finish, done), last},
			story: "text finish:stop +done", status: 200,
		},
		{
			name: "line above the limit", answer: []string{head, data(tok, long+long), last},
			story: "text", status: 200, cause: target.CauseStreamError, err: "too long",
		},
		{
			name: "cut by FIN between chunks", answer: []string{head, data(tok)},
			story: "text", status: 200, cause: target.CauseTruncated, err: "before its announced end",
		},
		{
			name: "cut by FIN within a chunk", answer: []string{head, data(tok), "ff\r\ndata: {"},
			story: "text", status: 200, cause: target.CauseTruncated, err: "before its announced end",
		},
		{
			name: "orderly end within an event", answer: []string{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "data: " + tok + "\n\ndata: {\"cho"},
			story: "text", status: 200, cause: target.CauseTruncated, err: "within an event",
		},
		{
			name: "marker without its blank line", answer: []string{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "data: " + tok + "\n\ndata: [DONE]"},
			story: "text +done", status: 200,
		},
		{
			name: "content length longer than the body", answer: []string{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n", "data: " + tok + "\n\n"},
			story: "text", status: 200, cause: target.CauseTruncated, err: "before its announced end",
		},
		{
			name: "broken chunking", answer: []string{head, data(tok), "zz\r\n"},
			story: "text", status: 200, cause: target.CauseStreamError, err: "reading the answer",
		},
		{
			name: "closed before the header", answer: []string{""},
			cause: target.CauseReset, err: "before the answer",
		},
		{
			name: "closed within the header", answer: []string{"HTTP/1.1 200 OK\r\nServer: x\r\n"},
			cause: target.CauseReset, err: "before the answer",
		},
		{
			name: "no HTTP", answer: []string{"SSH-2.0-OpenSSH\r\n\r\n"},
			cause: target.CauseStreamError, err: "no valid HTTP answer",
		},
		{
			name: "429", answer: []string{plain("429 Too Many Requests", "Retry-After: 7\r\n", `{"error":{"message":"slow down"}}`)},
			status: 429, err: "HTTP status 429: slow down",
		},
		{
			name: "huge 500", answer: []string{plain("500 Oops", "", strings.Repeat("stack trace ", 100_000))},
			status: 500, err: "HTTP status 500: stack trace stack trace",
		},
		{
			name: "500 cut short", answer: []string{"HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\n", "broken"},
			status: 500, err: "HTTP status 500: broken",
		},
		{
			name: "503 without a body", answer: []string{plain("503 Busy", "", "")},
			status: 503, err: "HTTP status 503",
		},
		{
			name: "redirect", answer: []string{plain("307 Elsewhere", "Location: http://elsewhere/v1\r\n", "")},
			status: 307, cause: target.CauseStreamError, err: "redirect to http://elsewhere/v1, which is not followed",
		},
		{
			name: "200 that is JSON", answer: []string{plain("200 OK", "Content-Type: application/json\r\n", `{"id": "x", "choices": []}`)},
			status: 200, cause: target.CauseStreamError, err: `expected text/event-stream, got application/json: {"id": "x"`,
		},
		{
			name: "200 without a type", answer: []string{plain("200 OK", "", "hello")},
			status: 200, cause: target.CauseStreamError, err: "got no content type: hello",
		},
		{
			name: "204", answer: []string{"HTTP/1.1 204 No Content\r\n\r\n"},
			status: 204, cause: target.CauseStreamError, err: "got no content type",
		},
		{
			name: "gzip", answer: []string{plain("200 OK", "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n", gz("data: "+tok+"\n\n"))},
			status: 200, cause: target.CauseStreamError, err: "encoded as gzip",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := listen(t, func(c *conn) {
				if req, _ := c.request(); req != nil {
					c.say(tt.answer...)
				}
			})
			rec := newRig(t, p.url()).one(t)
			res := rec.result
			if got := rec.story(); !sameStory(got, tt.story) {
				t.Errorf("story %q, want %q", got, tt.story)
			}
			if res.Cause != tt.cause || res.Status != tt.status {
				t.Errorf("cause %v status %d, want %v and %d (%s)", res.Cause, res.Status, tt.cause, tt.status, res.Err)
			}
			if !strings.Contains(res.Err, tt.err) || (tt.err == "") != (res.Err == "") {
				t.Errorf("error %q, want %q within", res.Err, tt.err)
			}
			if p.requests.Load() != 1 || rec.count(target.Conn) != 1 {
				t.Errorf("%d requests arrived, %d connections were used", p.requests.Load(), rec.count(target.Conn))
			}
		})
	}
}

// sameStory leaves the marks of coalescing aside: how many reads it takes depends
// on how the kernel cuts the stream. TestCoalesced is about them.
func sameStory(a, b string) bool {
	return strings.ReplaceAll(a, "+", "") == strings.ReplaceAll(b, "+", "")
}

func TestEndlessAnswers(t *testing.T) {
	tests := []struct{ name, start, rest, err string }{
		{"headers", "HTTP/1.1 200 OK\r\n", "X-More: and more and more and more\r\n", "no valid HTTP answer"},
		{"body of an error", "HTTP/1.1 500 Oops\r\n\r\n", "and more and more ", "HTTP status 500: and more"},
		{"body that is no stream", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", "and more and more ", "got text/plain: and more"},
		{"line", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ", "and more and more ", "too long"},
		{"event", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "data: and more and more\n", "too long"},
		{"preliminary answers", "", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", "no valid HTTP answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := listen(t, func(c *conn) {
				c.request()
				c.say(tt.start)
				more := []byte(strings.Repeat(tt.rest, 100))
				for {
					if _, err := c.Write(more); err != nil {
						return
					}
				}
			})
			rec := newRig(t, p.url()).one(t)
			if !strings.Contains(rec.result.Err, tt.err) {
				t.Errorf("error %q, want %q within", rec.result.Err, tt.err)
			}
			if rec.result.BytesIn > 3<<20 {
				t.Errorf("read %d bytes", rec.result.BytesIn)
			}
		})
	}
}

func TestResetWithinTheStream(t *testing.T) {
	rec := newRecorder(t)
	p := listen(t, func(c *conn) {
		c.request()
		c.say(head, data(tok))
		<-rec.tokens // an RST would take unread data along
		c.reset()
	})
	r := newRig(t, p.url())
	r.Start(r.request(), rec)
	r.loop.await(rec)
	if rec.result.Cause != target.CauseReset || rec.story() != "text" || rec.result.Status != 200 {
		t.Errorf("%s, %+v", rec.story(), rec.result)
	}
}

func TestResetBeforeTheAnswer(t *testing.T) {
	p := listen(t, func(c *conn) {
		c.request()
		c.reset()
	})
	rec := newRig(t, p.url()).one(t)
	if rec.result.Cause != target.CauseReset || rec.result.Status != 0 || p.requests.Load() != 1 {
		t.Errorf("%+v, %d requests", rec.result, p.requests.Load())
	}
}

func TestNoConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + l.Addr().String()
	l.Close()
	p := listen(t, func(c *conn) { c.say("HTTP/1.1 400 Bad Request\r\n\r\n") })
	tests := []struct{ name, url string }{
		{"refused", refused},
		{"no TLS", strings.Replace(p.url(), "http:", "https:", 1)},
		{"no such host", "http://host.invalid:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec := newRig(t, tt.url).one(t)
			want := []target.Kind{target.Dispatched, target.End}
			if diff := cmp.Diff(want, rec.kinds()); diff != "" || rec.result.Cause != target.CauseConnect || rec.result.Err == "" {
				t.Errorf("%+v, events (-want +got):\n%s", rec.result, diff)
			}
		})
	}
}

// Each read has one stamp, and what it completed after the first event is marked.
func TestCoalesced(t *testing.T) {
	rec := newRecorder(t)
	p := listen(t, func(c *conn) {
		c.request()
		c.say(head, data(role)) // in one segment with the header
		<-rec.tokens
		c.say(data(tok))
		<-rec.tokens
		c.say(data(tok, tok), data(tok)) // three events in two HTTP chunks of one segment
		for range 3 {
			<-rec.tokens
		}
		c.say(data(finish, usage, done), last)
		c.gone()
	})
	r := newRig(t, p.url())
	r.Start(r.request(), rec)
	r.loop.await(rec)
	want := "role text text +text +text finish:stop +usage:12/3/8/-1 +done"
	if got := rec.story(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for i := 1; i < len(rec.events); i++ {
		if rec.events[i].Coalesced != (rec.events[i].At == rec.events[i-1].At) {
			t.Errorf("%+v after %+v", rec.events[i], rec.events[i-1])
		}
	}
}

// A server that sends single bytes yields the same events as any other.
func TestSlowServer(t *testing.T) {
	p := listen(t, func(c *conn) {
		c.SetNoDelay(true)
		c.request()
		for _, b := range []byte(head + data(role) + data(tok) + data(tok, finish) + data(usage, done) + last) {
			c.Write([]byte{b})
		}
	})
	rec := newRig(t, p.url()).one(t)
	if got := rec.story(); !sameStory(got, "role text text finish:stop usage:12/3/8/-1 done") || rec.result.Err != "" {
		t.Errorf("%s, %+v", got, rec.result)
	}
}
