package genai

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// Server is where requests went.
type Server struct {
	Address string // empty: not known
	Port    int    // 0: not known
}

// Source is what a run's rows do not tell.
type Source struct {
	Conventions Conventions
	// RunID names the run in attributes of ours.
	RunID string
	// Epoch is the wall time of the run's instant 0.
	Epoch time.Time
	// Operation is chat, text_completion or embeddings; Model the name on the wire.
	Operation, Model string
	// Streamed: answers were asked for as streams.
	Streamed bool
	// Servers are those of the base URLs, in their order; none: the engines of this
	// process.
	Servers []Server
}

// Teller makes spans and metrics of the rows of one run. It is for one goroutine.
type Teller struct {
	src      Source
	sessions map[string]*conversed
	client   clientMetrics
	server   serverMetrics
	agents   agentMetrics
	unsent   int64
	last     uint64 // end of the last attempt, Unix nanoseconds
}

// New returns a teller that has been told nothing.
func New(s Source) *Teller {
	return &Teller{src: s, sessions: map[string]*conversed{}, client: newClientMetrics(s.Conventions), server: newServerMetrics(), agents: newAgentMetrics()}
}

// Unsent is the number of rows that have no span, as no request was sent for them.
func (t *Teller) Unsent() int64 { return t.unsent }

// unix is an instant of the run on the wall. All are from one reading of the wall's
// clock, so that setting that clock bends no span.
func (t *Teller) unix(at clock.Time) uint64 {
	return uint64(t.src.Epoch.Add(time.Duration(at)).UnixNano())
}

// name makes ids that depend on nothing but what they are of.
func name(trace []byte, parts ...string) (out [24]byte) {
	h := sha256.New()
	h.Write(trace)
	for _, p := range parts {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(p))))
		h.Write([]byte(p))
	}
	copy(out[:], h.Sum(nil))
	out[0], out[16] = out[0]|1, out[16]|1 // neither is all zeros
	return out
}

// server is where an attempt went.
func (t *Teller) serverOf(r *record.Request) Server {
	i := 0
	if r.URL != record.Null32 {
		i = int(r.URL)
	}
	if i < 0 || i >= len(t.src.Servers) {
		return Server{}
	}
	return t.src.Servers[i]
}

// began and ended bound an attempt: from when the generator took it up until nothing
// more was seen of it.
func began(r *record.Request) clock.Time {
	for _, at := range [...]clock.Time{r.Dispatched, r.Permitted, r.Conn, r.Writing} {
		if at.Known() {
			return at
		}
	}
	return clock.Never
}

func ended(r *record.Request) clock.Time {
	last := clock.Never
	for _, at := range [...]clock.Time{
		r.Dispatched, r.Permitted, r.Conn, r.Writing, r.Wrote, r.FirstByte, r.FirstEvent, r.FirstToken, r.LastToken, r.UsageAt, r.Done, r.Closed,
	} {
		if at.Known() && (!last.Known() || at > last) {
			last = at
		}
	}
	return last
}

// Attempt hands over the client span of a row, and those of an engine of this process,
// and takes it into the metrics.
func (t *Teller) Attempt(r *record.Request, client, engine func(*tracepb.Span)) {
	from, to := began(r), ended(r)
	if !from.Known() || r.TraceID == ([16]byte{}) || r.Outcome == record.DroppedCap {
		t.unsent++
		return
	}
	s := &tracepb.Span{
		TraceId: slices.Clone(r.TraceID[:]), SpanId: slices.Clone(r.SpanID[:]), Flags: 1, Name: t.src.Operation + " " + t.src.Model, Kind: tracepb.Span_SPAN_KIND_CLIENT,
		StartTimeUnixNano: t.unix(from), EndTimeUnixNano: t.unix(to), Attributes: t.describe(r),
	}
	if r.Outcome != record.OK {
		s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: r.Error}
	}
	if r.SessionID != "" {
		id := t.sessionID(r.SessionID)
		s.Links = []*tracepb.Span_Link{{TraceId: id[:16], SpanId: id[16:], Flags: 1}}
		t.converse(r, from, to)
	}
	client(s)
	t.last = max(t.last, s.EndTimeUnixNano)
	t.client.add(t, r)
	if r.ServerSource == "inprocess" {
		t.engine(r, engine)
		t.server.add(t, r)
	}
}

// describe are the attributes of an attempt's span.
func (t *Teller) describe(r *record.Request) attributes {
	var a attributes
	a.text(opName, t.src.Operation)
	a.text(provider, openAI)
	a.text(requestModel, t.src.Model)
	if t.src.Streamed {
		a.truth(streamed, true)
	}
	a.count(maxTokens, r.PlannedOutputTokens)
	a.text(conversation, r.SessionID)
	where := t.serverOf(r)
	a.text(serverAddress, where.Address)
	if where.Port > 0 {
		a.integer(serverPort, int64(where.Port))
	}
	a.list(finishReasons, r.FinishReason)
	if t.src.Streamed {
		a.seconds(firstChunk, timeToFirstChunk(r))
	}
	a.count(inputTokens, r.PromptTokens)
	a.count(outputTokens, r.OutputTokens)
	a.count(cacheRead, r.CachedTokens)
	a.count(reasoning, r.ReasoningTokens)
	a.count(httpStatus, r.HTTPStatus)
	if r.Attempt > 0 {
		a.integer(resendCount, int64(r.Attempt))
	}
	if r.Outcome != record.OK {
		a.text(errorType, r.Outcome.String())
	}
	t.ours(&a, r)
	return a
}

// ours are what the conventions have no names for.
func (t *Teller) ours(a *attributes, r *record.Request) {
	a.text("goodput.run_id", t.src.RunID)
	a.text("goodput.arm", r.Arm)
	a.integer("goodput.seq", r.Seq)
	a.integer("goodput.attempt", int64(r.Attempt))
	if r.Hedge {
		a.truth("goodput.hedge", true)
	}
	a.text("goodput.phase", r.Phase.String())
	a.text("goodput.class", r.Class)
	a.text("goodput.tenant", r.Tenant)
	a.text("goodput.replica", r.Replica)
	a.seconds("goodput.lag_s", r.Lag())
	a.seconds("goodput.client_queue_s", r.ClientQueue())
	a.seconds("goodput.connect_s", r.Connect())
	a.seconds("goodput.upload_s", r.Upload())
	a.seconds("goodput.ttft_s", r.TTFT())
	a.count("goodput.chunks", r.Chunks)
	if r.ConnReused != record.Unknown {
		a.truth("goodput.conn_reused", r.ConnReused == record.Yes)
	}
	if r.SLOMet != record.Unknown {
		a.truth("goodput.slo_met", r.SLOMet == record.Yes)
	}
}

// timeToFirstChunk counts from when the request was issued.
func timeToFirstChunk(r *record.Request) int64 {
	if !r.FirstEvent.Known() {
		return less(r.FirstToken, r.Writing)
	}
	return less(r.FirstEvent, r.Writing)
}

// less is the time between two instants, Null if either is unknown.
func less(to, from clock.Time) int64 {
	if !to.Known() || !from.Known() {
		return record.Null
	}
	return int64(to - from)
}
