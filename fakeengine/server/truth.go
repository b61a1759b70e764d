package server

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"sync"

	"goodput/fakeengine/engine"
	"goodput/loadgen/clock"
)

// truth is one line of the ground-truth log: what really happened to a request,
// or to one of several answers to it, to hold a client's measurements against. The package documentation describes
// the fields.
type truth struct {
	requestID   string
	traceparent string // as received; "" is none
	adapter     string // "" is the base model
	api         api
	stream      bool
	status      int // 0: the client left before a response began
	replica     int // unknown: none was picked
	source      int // that computed the prompt; unknown: the same
	choice      int // unknown: the request was refused
	finish      string

	prompt, maxTokens, output, sent, cached int // tokens; unknown: not known
	preemptions, recomputed                 int
	preemptedNS                             int64
	spent                                   engine.Spent // of a sequence that was in an engine

	received, arrival, queued, scheduled, firstToken, firstSent, lastToken, lastSent clock.Time
}

// unknown is a number that does not exist; it is written as null.
const unknown = -1

func newTruth(a api, requestID, traceparent string) truth {
	return truth{
		requestID: requestID, traceparent: traceparent, api: a, replica: unknown, source: unknown, choice: unknown,
		prompt: unknown, maxTokens: unknown, output: unknown, cached: unknown,
		preemptions: unknown, recomputed: unknown, preemptedNS: unknown,
		received: clock.Never, arrival: clock.Never, queued: clock.Never, scheduled: clock.Never,
		firstToken: clock.Never, firstSent: clock.Never, lastToken: clock.Never, lastSent: clock.Never,
	}
}

// append appends the line as JSON, newline included.
func (t *truth) append(dst []byte) []byte {
	dst = append(dst, `{"request_id":`...)
	dst = appendString(dst, t.requestID)
	dst = appendText(dst, "traceparent", t.traceparent)
	dst = appendText(dst, "adapter", t.adapter)
	dst = appendText(dst, "api", t.api.String())
	dst = append(dst, `,"stream":`...)
	dst = strconv.AppendBool(dst, t.stream)
	status := int64(t.status)
	if status == 0 {
		status = unknown
	}
	dst = appendNumber(dst, "status", status)
	dst = appendText(dst, "finish", t.finish)
	for _, f := range [...]struct {
		name  string
		value int64
	}{
		{"replica", int64(t.replica)},
		{"prefill_replica", int64(t.source)},
		{"choice", int64(t.choice)},
		{"prompt_tokens", int64(t.prompt)},
		{"max_tokens", int64(t.maxTokens)},
		{"output_tokens", int64(t.output)},
		{"sent_tokens", int64(t.sent)},
		{"cached_tokens", int64(t.cached)},
		{"preemptions", int64(t.preemptions)},
		{"recomputed_tokens", int64(t.recomputed)},
		{"preempted_ns", t.preemptedNS},
		{"received_ns", instant(t.received)},
		{"arrival_ns", instant(t.arrival)},
		{"queued_ns", instant(t.queued)},
		{"scheduled_ns", instant(t.scheduled)},
		{"first_token_ns", instant(t.firstToken)},
		{"first_sent_ns", instant(t.firstSent)},
		{"last_token_ns", instant(t.lastToken)},
		{"last_sent_ns", instant(t.lastSent)},
	} {
		dst = appendNumber(dst, f.name, f.value)
	}
	dst = t.appendSpent(dst)
	return append(dst, "}\n"...)
}

// appendSpent appends where the time went, if the request came to an engine.
func (t *truth) appendSpent(dst []byte) []byte {
	p := [...]struct {
		name string
		ns   int64
	}{
		{"spent_frontend_ns", t.spent.FrontEndNS},
		{"spent_queue_ns", t.spent.QueueNS},
		{"spent_prefill_ns", t.spent.PrefillNS},
		{"spent_decode_ns", t.spent.DecodeNS},
		{"spent_interference_ns", t.spent.InterferenceNS},
		{"spent_transfer_ns", t.spent.TransferNS},
	}
	for _, f := range p {
		if !t.arrival.Known() {
			f.ns = unknown
		}
		dst = appendNumber(dst, f.name, f.ns)
	}
	return dst
}

func instant(t clock.Time) int64 {
	if !t.Known() {
		return unknown
	}
	return int64(t)
}

// appendNumber appends a field; unknown is null.
func appendNumber(dst []byte, name string, v int64) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	if v == unknown {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, v, 10)
}

// appendText appends a field; "" is null.
func appendText(dst []byte, name, v string) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, name...)
	dst = append(dst, `":`...)
	if v == "" {
		return append(dst, "null"...)
	}
	return appendString(dst, v)
}

// truthBuffer is how many bytes of lines may wait to be handed on.
const truthBuffer = 64 << 10

// truthLog writes lines for several goroutines. After the first error it only
// counts what it had to drop.
type truthLog struct {
	out io.Writer // nil: no log is wanted

	mu   sync.Mutex
	held []byte // whole lines, not yet handed on
	lost int    // lines
	err  error
}

func newTruthLog(w io.Writer) *truthLog { return &truthLog{out: w} }

func (l *truthLog) write(t *truth) {
	if l.out == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		l.lost++
		return
	}
	if l.held = t.append(l.held); len(l.held) >= truthBuffer {
		l.handOn()
	}
}

// flush hands on what is held, and returns the first error so far.
func (l *truthLog) flush() error {
	if l.out == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handOn()
	if l.err != nil {
		return fmt.Errorf("writing the ground-truth log: %d lines are lost: %w", l.lost, l.err)
	}
	return nil
}

func (l *truthLog) handOn() {
	if len(l.held) == 0 {
		return
	}
	n, err := l.out.Write(l.held)
	if err != nil {
		l.err = err
		l.lost += bytes.Count(l.held[n:], []byte{'\n'})
	}
	l.held = l.held[:0]
}
