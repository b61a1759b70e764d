package genai

import (
	"sort"
	"strconv"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"goodput/loadgen/record"
)

// Bounds of buckets that the conventions ask for; durations in seconds.
var (
	durationBounds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	tokenBounds    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	ttftBounds     = []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	tpotBounds     = []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5}
	callBounds     = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
)

// histogram is one metric, with a point for each set of attributes.
type histogram struct {
	name, unit string
	bounds     []float64
	keys       map[string]*metrics.HistogramDataPoint
	points     []*metrics.HistogramDataPoint // in order of their first values
}

func newHistogram(name, unit string, bounds []float64) *histogram {
	return &histogram{name: name, unit: unit, bounds: bounds, keys: map[string]*metrics.HistogramDataPoint{}}
}

// at is the point of a key, made with the attributes if it is not there.
func (h *histogram) at(key string, a attributes) *metrics.HistogramDataPoint {
	p := h.keys[key]
	if p == nil {
		sum := 0.0
		p = &metrics.HistogramDataPoint{Attributes: a, Sum: &sum, ExplicitBounds: h.bounds, BucketCounts: make([]uint64, len(h.bounds)+1)}
		h.keys[key] = p
		h.points = append(h.points, p)
	}
	return p
}

// add counts a value: a bucket holds what is above its lower and up to its upper bound.
func (h *histogram) add(key string, v float64, a attributes) { h.count(h.at(key, a), v) }

func (h *histogram) count(p *metrics.HistogramDataPoint, v float64) {
	p.Count++
	*p.Sum += v
	p.BucketCounts[sort.SearchFloat64s(h.bounds, v)]++
}

// metric is the histogram as it is sent; nil: it has no values.
func (h *histogram) metric(from, to uint64) *metrics.Metric {
	if len(h.points) == 0 {
		return nil
	}
	for _, p := range h.points {
		p.StartTimeUnixNano, p.TimeUnixNano = from, to
	}
	return &metrics.Metric{Name: h.name, Unit: h.unit, Data: &metrics.Metric_Histogram{Histogram: &metrics.Histogram{
		DataPoints: h.points, AggregationTemporality: metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE,
	}}}
}

// clientMetrics are those of the attempts, as the client saw them.
type clientMetrics struct {
	latest                          bool
	duration, first, chunk          *histogram
	tokens, tokensIn, tokensOut     *histogram
	input, output, cached, reasoned *counter
}

func newClientMetrics(c Conventions) clientMetrics {
	if !c.latest {
		return clientMetrics{
			duration: newHistogram("gen_ai.client.operation.duration", "s", durationBounds),
			first:    newHistogram("gen_ai.client.operation.time_to_first_chunk", "s", durationBounds),
			chunk:    newHistogram("gen_ai.client.operation.time_per_output_chunk", "s", durationBounds),
			tokens:   newHistogram("gen_ai.client.token.usage", "{token}", tokenBounds),
		}
	}
	const usage = "gen_ai.client.inference.usage."
	return clientMetrics{
		latest:    true,
		duration:  newHistogram("gen_ai.client.inference.duration", "s", durationBounds),
		first:     newHistogram("gen_ai.client.inference.time_to_first_chunk", "s", durationBounds),
		chunk:     newHistogram("gen_ai.client.inference.time_per_output_chunk", "s", durationBounds),
		tokensIn:  newHistogram("gen_ai.client.inference.operation.input_tokens", "{token}", tokenBounds),
		tokensOut: newHistogram("gen_ai.client.inference.operation.output_tokens", "{token}", tokenBounds),
		input:     newCounter(usage+"input_tokens", "{token}"), output: newCounter(usage+"output_tokens", "{token}"),
		cached: newCounter(usage+"cache_read.input_tokens", "{token}"), reasoned: newCounter(usage+"reasoning.output_tokens", "{token}"),
	}
}

// common are the attributes of a point, and the key that tells points apart.
func (t *Teller) common(r *record.Request, failure bool) (key string, a attributes) {
	a.text(opName, t.src.Operation)
	a.text(provider, openAI)
	a.text(requestModel, t.src.Model)
	where := t.serverOf(r)
	a.text(serverAddress, where.Address)
	if where.Port > 0 {
		a.integer(serverPort, int64(where.Port))
	}
	key = strconv.Itoa(int(r.URL)) + " "
	if failure && r.Outcome != record.OK {
		key += r.Outcome.String()
		a.text(errorType, r.Outcome.String())
	}
	return key, a
}

func (m *clientMetrics) add(t *Teller, r *record.Request) {
	key, a := t.common(r, true)
	if from, to := r.Writing, ended(r); from.Known() && to.Known() {
		m.duration.add(key, float64(to-from)/1e9, a)
	}
	if t.src.Streamed {
		if v := timeToFirstChunk(r); v != record.Null {
			m.first.add(key, float64(v)/1e9, a)
		}
		if len(r.TokenGapsUS) > 0 {
			p := m.chunk.at(key, a)
			for _, us := range r.TokenGapsUS {
				m.chunk.count(p, float64(us)/1e6)
			}
		}
	}
	m.countTokens(t, r)
}

func (m *clientMetrics) countTokens(t *Teller, r *record.Request) {
	key, a := t.common(r, false)
	for _, x := range [...]struct {
		n    int32
		kind string
		per  *histogram
		sum  *counter
	}{
		{r.PromptTokens, "input", m.tokensIn, m.input},
		{r.OutputTokens, "output", m.tokensOut, m.output},
		{r.CachedTokens, "", nil, m.cached},
		{r.ReasoningTokens, "", nil, m.reasoned},
	} {
		switch {
		case x.n == record.Null32:
		case !m.latest && x.kind != "":
			b := append(attributes(nil), a...)
			b.text("gen_ai.token.type", x.kind)
			m.tokens.add(key+x.kind, float64(x.n), b)
		case m.latest:
			b := append(attributes(nil), a...)
			b.text("gen_ai.token.modality", "text")
			x.sum.add(key, int64(x.n), b)
			if x.per != nil {
				x.per.add(key, float64(x.n), a)
			}
		}
	}
}

// serverMetrics are those of engines of this process; others export their own.
type serverMetrics struct{ duration, first, token *histogram }

func newServerMetrics() serverMetrics {
	return serverMetrics{
		duration: newHistogram("gen_ai.server.request.duration", "s", durationBounds),
		first:    newHistogram("gen_ai.server.time_to_first_token", "s", ttftBounds),
		token:    newHistogram("gen_ai.server.time_per_output_token", "s", tpotBounds),
	}
}

func (m *serverMetrics) add(t *Teller, r *record.Request) {
	key, a := t.common(r, true)
	if r.ServerE2E != record.Null {
		m.duration.add(key, float64(r.ServerE2E)/1e9, a)
	}
	if r.Outcome != record.OK || r.ServerTTFT == record.Null {
		return
	}
	m.first.add(key, float64(r.ServerTTFT)/1e9, a)
	if r.ServerE2E != record.Null && r.OutputTokens >= 2 {
		m.token.add(key, float64(r.ServerE2E-r.ServerTTFT)/1e9/float64(r.OutputTokens-1), a)
	}
}

// agentMetrics are those of sessions, which only the names in development have.
type agentMetrics struct{ duration, calls, toolCalls, tool *histogram }

func newAgentMetrics() agentMetrics {
	return agentMetrics{
		duration:  newHistogram("gen_ai.invoke_agent.duration", "s", durationBounds),
		calls:     newHistogram("gen_ai.invoke_agent.inference_calls", "{inference_call}", callBounds),
		toolCalls: newHistogram("gen_ai.invoke_agent.tool_calls", "{tool_call}", callBounds),
		tool:      newHistogram("gen_ai.execute_tool.duration", "s", durationBounds),
	}
}

func (m *agentMetrics) add(t *Teller, s *record.Session, calls, tools int64) {
	var a attributes
	a.text(opName, "invoke_agent")
	a.text(agentName, mainAgent)
	a.text(requestModel, t.src.Model)
	if s.Outcome != record.SessionCompleted {
		a.text(errorType, s.Outcome.String())
	}
	key := s.Outcome.String()
	m.duration.add(key, float64(s.Ended-s.Arrival)/1e9, a)
	m.calls.add(key, float64(calls), a)
	m.toolCalls.add(key, float64(tools), a)
}

// Metrics are all histograms and counters of what was told so far, from the run's
// epoch until the end of the last attempt.
func (t *Teller) Metrics() []*metrics.Metric {
	from, until := t.unix(0), t.last
	var out []*metrics.Metric
	all := []interface {
		metric(from, to uint64) *metrics.Metric
	}{t.client.duration, t.client.first, t.client.chunk}
	if t.src.Conventions.latest {
		all = append(all, t.client.tokensIn, t.client.tokensOut, t.client.input, t.client.output, t.client.cached, t.client.reasoned,
			t.agents.duration, t.agents.calls, t.agents.toolCalls, t.agents.tool)
	} else {
		all = append(all, t.client.tokens)
	}
	for _, m := range append(all, t.server.duration, t.server.first, t.server.token) {
		if x := m.metric(from, until); x != nil {
			out = append(out, x)
		}
	}
	return out
}
