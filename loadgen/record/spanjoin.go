package record

import "slices"

// SpanMatch says what became of the attempt to find a row's account among the spans.
type SpanMatch uint8

// The results.
const (
	// SpanUnasked: the row has an account of its own, did not succeed, or the run has
	// no spans.
	SpanUnasked SpanMatch = iota
	SpanJoined
	// SpanMissing: no engine sent a span of the request.
	SpanMissing
	// SpanAmbiguous: several engines did, and nothing tells which one answered; or it
	// is not known which attempt they served.
	SpanAmbiguous
	// SpanUnlike: what they tell is not of this answer: another number of tokens.
	SpanUnlike
	NumSpanMatches int = iota
)

// The ServerSource of a row whose account is a span's, or a header's of the answer.
const (
	sourceOTLP   = "otlp"
	sourceHeader = "header"
)

// spanSlack is how much longer than the client a server may have seen an answer take,
// in nanoseconds: stamps of two processes are not taken at one instant.
const spanSlack = 1e6

// joinedColumns are those that spans can fill in, and joinNeeds those that this takes.
var (
	joinedColumns = []string{
		"server_queue", "server_prefill", "server_decode", "server_ttft", "server_e2e", "server_frontend",
		"server_cached_tokens", "server_attempts", "server_source", "d_ttft", "d_e2e", "d_tail", "d_tpot",
	}
	joinNeeds = []string{"trace_id", "attempt", "outcome", "wrote", "first_token", "done", "output_tokens", "server_source"}
)

// joiner finds the accounts of rows among the spans of a run.
type joiner struct {
	engines map[[16]byte][]Span
	path    map[[16]byte][]Span // routers and their hops
	names   map[string]string   // of services, each once
}

// newJoiner reads the spans of the run; nil if it has none.
func newJoiner(r *Run) (*joiner, error) {
	j := &joiner{engines: map[[16]byte][]Span{}, path: map[[16]byte][]Span{}, names: map[string]string{}}
	found, err := r.Spans(func(s *Span) error {
		j.keep(s)
		return nil
	})
	if err != nil || !found {
		return nil, err
	}
	return j, nil
}

// keep remembers what a row may need of a span.
func (j *joiner) keep(s *Span) {
	to := j.path
	switch s.Role {
	case SpanEngine:
		to = j.engines
	case SpanRouter, SpanHop:
	default:
		return
	}
	kept := *s
	kept.Attributes, kept.Name, kept.RequestID = "", "", ""
	if _, known := j.names[s.Service]; !known {
		j.names[s.Service] = s.Service
	}
	kept.Service = j.names[s.Service]
	to[s.TraceID] = append(to[s.TraceID], kept)
}

// join fills in the account of a success that has none, or that of a header only: a span
// tells of the whole answer, by the engine's own clock, and a header of what was known
// when it was sent. Of a request whose client left, without an account, it is what the
// engine did all the same.
func (j *joiner) join(r *Request) {
	switch {
	case r.ServerSource == "" && (r.Outcome == Canceled || r.Outcome == TimeoutTTFT || r.Outcome == TimeoutTotal):
		j.abandoned(r)
		return
	case r.Outcome != OK || r.ServerSource != "" && r.ServerSource != sourceHeader:
		return
	}
	had := r.ServerSource
	if j.search(r); had != "" && r.Spans != SpanJoined {
		r.Spans = SpanUnasked
	}
}

// search is join for a row that a span may tell of.
func (j *joiner) search(r *Request) {
	of := j.engines[r.TraceID]
	if len(of) == 0 {
		r.Spans = SpanMissing
		return
	}
	mine := slices.Clone(of)
	mine = slices.DeleteFunc(mine, func(s Span) bool { return s.Attempt != r.Attempt })
	if len(mine) == 0 {
		r.Spans = SpanMissing
		if slices.ContainsFunc(of, func(s Span) bool { return s.Attempt == Null32 }) {
			r.Spans = SpanAmbiguous
		}
		return
	}
	won, match := winner(r, mine)
	if r.Spans = match; match != SpanJoined {
		return
	}
	r.ServerAttempts = int32(len(mine))
	r.account(won)
	if head := prefillOf(won, mine); head != nil {
		r.handedOver(head)
	}
	r.Deltas()
	path := slices.Clone(j.path[r.TraceID])
	r.peel(won, slices.DeleteFunc(path, func(s Span) bool { return s.Attempt != r.Attempt }))
}

// abandoned takes the span of the engine that worked on a request that its client had left,
// of several the last. An engine that heard of it sends none.
func (j *joiner) abandoned(r *Request) {
	var last *Span
	of := j.engines[r.TraceID]
	for i := range of {
		if s := &of[i]; s.Attempt == r.Attempt && !s.Failed && (last == nil || s.end() > last.end()) {
			last = s
		}
	}
	if last != nil {
		r.account(last)
	}
}

// winner is the span of the engine whose answer the client has: it did not fail, has
// as many tokens, and took no longer than the client waited. Of several, one after
// the other, it is the last, as when a router tries again; of several at one time
// nothing tells.
func winner(r *Request, of []Span) (won *Span, m SpanMatch) {
	unlike := false
	for i := range of {
		s := &of[i]
		switch {
		case s.Failed:
			continue
		case s.OutputTokens != Null32 && r.OutputTokens != Null32 && s.OutputTokens != r.OutputTokens:
			unlike = true
			continue
		case len(of) > 1 && s.longer(r):
			unlike = true
			continue
		}
		switch {
		case won == nil || !won.overlaps(s) && s.end() > won.end():
			won = s
		case won.overlaps(s):
			return nil, SpanAmbiguous
		}
	}
	switch {
	case won != nil:
		return won, SpanJoined
	case unlike:
		return nil, SpanUnlike
	}
	return nil, SpanMissing
}

// longer reports that the server says that the answer took longer than the client saw,
// so that it must be another answer.
func (s *Span) longer(r *Request) bool {
	seen := diff(r.Done, r.Wrote)
	return seen != Null && s.E2E != Null && s.E2E > seen+spanSlack
}

// prefillOf is the engine that computed the prompt for won: it made one token and
// began before. nil: won did that itself.
func prefillOf(won *Span, of []Span) *Span {
	for i := range of {
		s := &of[i]
		if s != won && !s.Failed && s.OutputTokens != Null32 && s.OutputTokens <= 1 && won.OutputTokens > 1 && s.Start < won.Start {
			return s
		}
	}
	return nil
}

// account takes what the span says. Of a clock that was set back meanwhile only what
// is of the monotonic one.
func (r *Request) account(s *Span) {
	r.ServerSource = sourceOTLP
	r.ServerQueue, r.ServerPrefill, r.ServerDecode = s.Queue, s.Prefill, s.Decode
	r.ServerTTFT, r.ServerE2E = s.TTFT, s.E2E
	r.ServerCachedTokens = s.CachedToken
	if s.Stepped() {
		r.ServerTTFT, r.ServerE2E = Null, Null
	}
}

// handedOver corrects the account of an answer whose prompt another engine computed:
// the time to the first token is then of both and of the way between them, which
// neither knows, and only the whole can be told, without that way.
func (r *Request) handedOver(head *Span) {
	r.ServerQueue, r.ServerPrefill, r.ServerTTFT = Null, Null, Null
	if r.ServerE2E == Null || head.E2E == Null || head.Stepped() {
		r.ServerE2E = Null
		return
	}
	r.ServerE2E += head.E2E
}

// Deltas fills in client minus server, in nanoseconds. Durations are compared, never
// instants: the two clocks need not agree. Both sides count from the end of the
// request's upload.
func (r *Request) Deltas() {
	r.DTTFT = less(diff(r.FirstToken, r.Wrote), r.ServerTTFT)
	r.DE2E = less(diff(r.Done, r.Wrote), r.ServerE2E)
	r.DTail, r.DTPOT = less(r.DE2E, r.DTTFT), Null
	if r.DTail != Null && r.OutputTokens >= 2 {
		r.DTPOT = r.DTail / int64(r.OutputTokens-1)
	}
}

// less is a-b, or Null if either is.
func less(a, b int64) int64 {
	if a == Null || b == Null {
		return Null
	}
	return a - b
}
