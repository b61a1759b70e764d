package trace

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"time"

	"goodput/datasets"
)

// otel reads exported GenAI spans: OTLP/JSON (resourceSpans) and the flat form
// ({"spans": […]}). The spans of one gen_ai.conversation.id, or else of one trace,
// are a session. A span continues the first thread that is free at its start, the
// main one if it is; where none is free a thread begins, as the sub-agent of the
// main thread's last finished step. Lengths are the usage that the spans report, or
// estimates from their messages.
//
// Spans of a session may lie anywhere in a file, so that all are held in memory.
type otel struct {
	d         *documents
	rows      []Row
	read      bool
	foreign   int
	estimated bool
	sessions  map[string]int
	spans     [][]genSpan // by session
}

func newOTel(r io.Reader, path string, _ Options) (source, error) {
	d, err := newDocuments(r, path)
	if err != nil {
		return nil, err
	}
	return &otel{d: d, sessions: map[string]int{}}, nil
}

func (o *otel) traits() Traits {
	return Traits{Timed: true, Recorded: true, Waits: true, Identified: true, Estimated: o.estimated}
}

func (o *otel) dropped() (int, string) { return o.foreign, "spans that are no requests to a model" }

func (o *otel) next(r *Row) error {
	for !o.read {
		raw, err := o.d.next()
		if errors.Is(err, io.EOF) {
			o.read = true
			o.arrange()
			break
		}
		if err != nil {
			return err
		}
		if err := o.document(raw); err != nil {
			return err
		}
	}
	if len(o.rows) == 0 {
		return io.EOF
	}
	*r = o.rows[0]
	o.rows = o.rows[1:]
	return nil
}

// genSpan is a request to a model.
type genSpan struct {
	line       int
	start, end int64
	in, out    int
	cached     int // tokens that the provider read from its cache; -1: not said
	tools      bool
}

// document takes the spans of one value of the file; those before a bad one stay.
func (o *otel) document(raw json.RawMessage) error {
	var doc otelDocument
	if err := o.d.object(raw, &doc); err != nil {
		return err
	}
	if doc.Spans == nil && doc.Resources == nil {
		return o.d.errorf("row", "found neither spans nor resourceSpans, expected one of them")
	}
	for i := range doc.Spans {
		if err := o.span(&doc.Spans[i], doc.TraceID); err != nil {
			return err
		}
	}
	for _, r := range doc.Resources {
		for _, s := range r.Scopes {
			for i := range s.Spans {
				if err := o.span(&s.Spans[i], ""); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (o *otel) span(s *otelSpan, traceID string) error {
	a, err := s.attributes()
	if err != nil {
		return o.d.errorf("attributes", "%v, expected an object or a list of keys and values", err)
	}
	if !a.request(s.Name) {
		o.foreign++
		return nil
	}
	g := genSpan{line: o.d.line, cached: -1}
	if g.start, g.end, err = s.times(); err != nil {
		return o.d.errorf("start_time", "span %q: %v", s.id(), err)
	}
	if g.start > g.end {
		return o.d.errorf("end_time", "span %q ends before it starts", s.id())
	}
	in, knownIn := a.number("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
	out, knownOut := a.number("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
	if !knownIn {
		in = a.messageTokens("gen_ai.input.messages", "gen_ai.prompt")
	}
	if !knownOut {
		out = a.messageTokens("gen_ai.output.messages", "gen_ai.output.text", "gen_ai.completion")
	}
	o.estimated = o.estimated || !knownIn || !knownOut
	if in < 1 || out < 1 || in > datasets.MaxTokens || out > datasets.MaxTokens {
		return o.d.errorf("gen_ai.usage", "span %q: found %d tokens in and %d out, expected gen_ai.usage.input_tokens and output_tokens, or messages, of 1 to %d tokens", s.id(), in, out, datasets.MaxTokens)
	}
	g.in, g.out = in, out
	if n, ok := a.number("gen_ai.usage.cache_read.input_tokens"); ok && n <= in {
		g.cached = n
	}
	g.tools = a.endsWithTool()
	name := cmp.Or(a.text("gen_ai.conversation.id"), s.TraceID, s.FlatTraceID, traceID)
	if name == "" {
		return o.d.errorf("trace_id", "span %q: found neither a trace id nor gen_ai.conversation.id", s.id())
	}
	i, ok := o.sessions[name]
	if !ok {
		i = len(o.spans)
		o.sessions[name] = i
		o.spans = append(o.spans, nil)
	}
	o.spans[i] = append(o.spans[i], g)
	return nil
}

// otelThread is where a thread stands while spans are given to threads.
type otelThread struct {
	end, steps, context int64
	spawn, join         int
}

// arrange turns the spans of each session into rows.
func (o *otel) arrange() {
	names := make([]string, len(o.spans))
	for name, i := range o.sessions {
		names[i] = name
	}
	for i, spans := range o.spans {
		slices.SortStableFunc(spans, func(a, b genSpan) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
		})
		o.session(names[i], spans)
	}
	o.spans = nil
}

func (o *otel) session(name string, spans []genSpan) {
	var threads []otelThread
	first := len(o.rows)
	for _, g := range spans {
		at := slices.IndexFunc(threads, func(t otelThread) bool { return t.end <= g.start })
		r := Row{Line: g.line, Session: name, At: g.start, In: g.in, Out: g.out, Parent: -1, Spawn: -1, Join: -1}
		if at < 0 {
			at = len(threads)
			// The main thread is busy with its last step, so the one before it is what
			// this one can have followed.
			t := otelThread{end: g.start, spawn: -1, join: -1}
			if at > 0 {
				t.spawn = int(threads[0].steps) - 2
				r.Trigger = datasets.BySpawn
				if t.spawn >= 0 {
					t.end = o.endOf(first, t.spawn, spans)
				}
			}
			threads = append(threads, t)
		}
		t := &threads[at]
		r.Thread = at
		if at > 0 {
			r.Parent, r.Spawn = 0, t.spawn
		}
		after := t.end
		if at == 0 {
			for j := 1; j < len(threads); j++ {
				if c := &threads[j]; c.join < 0 && c.end <= g.start {
					c.join, after = int(t.steps), max(after, c.end)
					r.Trigger = datasets.ByJoin
				}
			}
		}
		if g.tools && r.Trigger == datasets.ByUser {
			r.Trigger = datasets.ByTool
		}
		r.Before = time.Duration(max(0, g.start-after))
		r.Keep = int(min(t.context, int64(g.in)))
		if g.cached >= 0 {
			r.Keep = min(r.Keep, g.cached)
		}
		t.end, t.steps, t.context = g.end, t.steps+1, int64(g.in+g.out)
		if at > 0 && t.join >= 0 {
			t.join = -1 // it goes on after all: a later step may wait for it
		}
		o.rows = append(o.rows, r)
	}
	for i := first; i < len(o.rows); i++ {
		if r := &o.rows[i]; r.Thread > 0 {
			r.Join = threads[r.Thread].join
		}
	}
}

// endOf is when step number step of the main thread ended.
func (o *otel) endOf(first, step int, spans []genSpan) int64 {
	n := 0
	for i := first; i < len(o.rows); i++ {
		if o.rows[i].Thread != 0 {
			continue
		}
		if n == step {
			return spans[i-first].end
		}
		n++
	}
	return math.MinInt64
}
