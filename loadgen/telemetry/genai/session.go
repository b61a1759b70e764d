package genai

import (
	"cmp"
	"slices"
	"strconv"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

const (
	// maxLinks is how many links a span has at most, as in OpenTelemetry's SDKs; those
	// beyond are counted in the span.
	maxLinks = 128
	// simulated names the tools of sessions: workloads have how long one takes, and
	// not which it is.
	simulated = "simulated"
	mainAgent = "main"
)

// conversed is what was seen of a session.
type conversed struct {
	steps []step
	links []*tracepb.Span_Link
	lost  uint32 // links that were one too many
	calls int64
}

// step is one attempt of a session that decided its request.
type step struct {
	thread, parent, trigger string
	turn                    int32
	intended, from, to      clock.Time
	ok                      bool
}

func (t *Teller) sessionID(session string) [24]byte { return name(nil, t.src.RunID, session) }

// converse remembers an attempt of a session.
func (t *Teller) converse(r *record.Request, from, to clock.Time) {
	c := t.sessions[r.SessionID]
	if c == nil {
		c = &conversed{}
		t.sessions[r.SessionID] = c
	}
	if len(c.links) < maxLinks {
		c.links = append(c.links, &tracepb.Span_Link{TraceId: slices.Clone(r.TraceID[:]), SpanId: slices.Clone(r.SpanID[:]), Flags: 1})
	} else {
		c.lost++
	}
	c.calls++
	if r.Final {
		c.steps = append(c.steps, step{r.Thread, r.ParentThread, r.Trigger, r.Turn, r.Intended, from, to, r.Outcome == record.OK})
	}
}

// Session hands over the spans of a session whose attempts were told before: of its
// agent, of its sub-agents, and of the tools that steps followed on. A tool has run
// from the end of the step before until its step was due.
func (t *Teller) Session(s *record.Session, emit func(*tracepb.Span)) {
	c := t.sessions[s.SessionID]
	if c == nil || !s.Arrival.Known() || !s.Ended.Known() || s.Outcome == record.SessionDropped {
		return
	}
	id := t.sessionID(s.SessionID)
	root := t.agent(s, id, nil, id[16:], mainAgent, s.Arrival, s.Ended)
	root.Links, root.DroppedLinksCount = c.links, c.lost
	if s.Outcome != record.SessionCompleted {
		root.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: s.Outcome.String()}
	}
	emit(root)
	slices.SortStableFunc(c.steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.turn, b.turn)) })
	tools := int64(0)
	for from := 0; from < len(c.steps); {
		to := from + 1
		for to < len(c.steps) && c.steps[to].thread == c.steps[from].thread {
			to++
		}
		thread := c.steps[from:to]
		parent := id[16:]
		if name := thread[0].thread; name != mainAgent && name != "" {
			sub := t.threadSpan(s, id, thread)
			parent = sub.SpanId
			emit(sub)
		}
		tools += t.tools(s, id, parent, thread, emit)
		from = to
	}
	t.agents.add(t, s, c.calls, tools)
}

// agent is a span of an agent's work in a session.
func (t *Teller) agent(s *record.Session, id [24]byte, parent, span []byte, agent string, from, to clock.Time) *tracepb.Span {
	var a attributes
	a.text(opName, "invoke_agent")
	a.text(provider, openAI)
	a.text(agentName, agent)
	a.text(conversation, s.SessionID)
	a.text(requestModel, t.src.Model)
	a.text("goodput.run_id", t.src.RunID)
	a.text("goodput.tenant", s.Tenant)
	return &tracepb.Span{
		TraceId: slices.Clone(id[:16]), SpanId: slices.Clone(span), ParentSpanId: parent, Flags: 1,
		Name: "invoke_agent " + agent, Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: t.unix(from), EndTimeUnixNano: t.unix(to), Attributes: a,
	}
}

// threadSpan is that of a sub-agent, below the agent that started it.
func (t *Teller) threadSpan(s *record.Session, id [24]byte, thread []step) *tracepb.Span {
	from, to := thread[0].from, thread[0].to
	for _, x := range thread {
		to = max(to, x.to)
	}
	parent := id[16:]
	if above := thread[0].parent; above != mainAgent && above != "" {
		p := name(id[:16], "thread", above)
		parent = p[16:]
	}
	own := name(id[:16], "thread", thread[0].thread)
	return t.agent(s, id, slices.Clone(parent), own[16:], thread[0].thread, from, to)
}

// tools hands over the spans of the tools of a thread, and returns their number.
func (t *Teller) tools(s *record.Session, id [24]byte, parent []byte, thread []step, emit func(*tracepb.Span)) (n int64) {
	for i := 1; i < len(thread); i++ {
		before, x := &thread[i-1], &thread[i]
		if x.trigger != "tool" || x.turn != before.turn+1 || !before.ok || x.intended < before.to {
			continue
		}
		var a attributes
		a.text(opName, "execute_tool")
		a.text(toolName, simulated)
		a.text(toolType, "function")
		a.text(conversation, s.SessionID)
		own := name(id[:16], "tool", x.thread, strconv.Itoa(int(x.turn)))
		emit(&tracepb.Span{
			TraceId: slices.Clone(id[:16]), SpanId: slices.Clone(own[16:]), ParentSpanId: slices.Clone(parent), Flags: 1,
			Name: "execute_tool " + simulated, Kind: tracepb.Span_SPAN_KIND_INTERNAL,
			StartTimeUnixNano: t.unix(before.to), EndTimeUnixNano: t.unix(x.intended), Attributes: a,
		})
		t.agents.tool.add("", float64(x.intended-before.to)/1e9, attributes{a[0], a[1]}) // its operation and name
		n++
	}
	return n
}
