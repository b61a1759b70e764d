package openai

import (
	"context"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

// mediaType is that of the answers.
func (c *Config) mediaType() string {
	if c.streams() {
		return "text/event-stream"
	}
	return "application/json"
}

// unreadable says why the body is not of the kind that was asked for; "" if
// it is.
func (a *attempt) unreadable(resp *http.Response) string {
	if a.c.cfg.HTTP2 && resp.ProtoMajor != 2 {
		return "the server speaks " + resp.Proto + ", and HTTP/2 was asked for"
	}
	if resp.StatusCode/100 != 2 {
		return "HTTP status " + strconv.Itoa(resp.StatusCode)
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return "the answer is encoded as " + enc + " though identity was asked for, and cannot be timed"
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	kind = strings.TrimSpace(kind)
	if strings.EqualFold(kind, a.c.cfg.mediaType()) {
		return ""
	}
	if kind == "" {
		kind = "no content type"
	}
	return "expected " + a.c.cfg.mediaType() + ", got " + kind
}

// refused ends an attempt whose answer is no stream. Of the body it reads what an
// error message needs; if that is all, the connection can be used again. An error
// status stands even if the text about it is cut short.
func (a *attempt) refused(resp *http.Response, why string) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	a.result.BytesIn = int64(len(body))
	status := resp.StatusCode / 100
	if _, ok := context.Cause(a.ctx).(giveUp); ok && err != nil && status == 2 {
		a.failed(err)
		return
	}
	switch {
	case status == 3:
		why += ", a redirect to " + resp.Header.Get("Location") + ", which is not followed; use the final address"
	case resp.Header.Get("Content-Encoding") == "":
		if text := wire.ErrorText(body); text != "" {
			why += ": " + text
		}
	}
	cause := target.CauseEOF
	if status <= 3 {
		cause = target.CauseStreamError
	}
	a.blame(cause, why)
}

// replica is what the answer says of the replica that gave it.
func replica(h http.Header) string {
	if name := h.Get("X-Goodput-Replica"); name != "" {
		return name
	}
	return h.Get("X-Upstream")
}

// account is what a header or trailer says of how long the server took; nil: nothing.
func account(h http.Header) *target.Server {
	if len(h) == 0 {
		return nil
	}
	t, ok := wire.ParseTiming(h[wire.TimingHeader])
	if !ok {
		return nil
	}
	return &target.Server{
		Source: target.SourceHeader, Queue: t.Queue, Prefill: t.Prefill, Decode: t.Decode, TTFT: t.TTFT, E2E: t.E2E,
		Preempted: target.Unknown, CachedTokens: target.Unknown, Preemptions: target.Unknown, RecomputedToks: target.Unknown,
	}
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3), in nanoseconds. A date
// counts from the answer's own Date, so that no clock of ours is compared with
// the server's. 0 is none, or one that cannot be understood.
func retryAfter(h http.Header) int64 {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseInt(v, 10, 64); err == nil {
		return min(max(s, 0), math.MaxInt64/int64(time.Second)) * int64(time.Second)
	}
	until, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, int64(until.Sub(from)))
}
