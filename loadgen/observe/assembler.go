package observe

import (
	"math"
	"slices"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// Assembler takes the events of one attempt and fills its row. Call Begin, let
// the target deliver events up to End, then call Finish; then it can Begin
// again, and keeps its slices.
//
// Events come from one goroutine at a time, as target.Target promises. Begin
// and Finish belong to the loop's goroutine, which also delivers End.
type Assembler struct {
	row record.Request
	state
}

// state is what an attempt needs besides its row.
type state struct {
	odd   Anomalies
	want  int
	exact bool

	cause    target.Cause
	err      string
	finished bool
	ended    bool

	// counted: each chunk so far said how many tokens it holds; tokens is their sum.
	counted bool
	tokens  int64
	// lastUS is the last token's instant, rounded to microseconds.
	lastUS int64
}

var _ target.RunSink = (*Assembler)(nil)

// Begin starts the row of attempt r, which was handed over at the given instant.
// It fills what the request itself says; the caller adds the identity of the run
// to the row that Begin returns.
func (a *Assembler) Begin(r *target.Request, at clock.Time) *record.Request {
	a.row.Reset()
	a.state = state{want: r.Out, exact: r.IgnoreEOS, counted: true}
	row := &a.row
	row.Seq = int64(r.Seq)
	row.TraceID, row.SpanID = r.TraceID, r.SpanID
	row.Turn = int32(r.Turn)
	row.Adapter, row.Tenant = r.Adapter.Name, r.CacheSalt
	row.Intended, row.Dispatched = r.Intended, at
	row.PlannedPromptTokens, row.PlannedOutputTokens = count32(r.In), count32(r.Out)
	return row
}

// Event takes one observation. It allocates only to grow the row's slices.
func (a *Assembler) Event(e target.Event) {
	if a.ended {
		a.odd[AfterEnd]++
		return
	}
	row := &a.row
	switch e.Kind {
	case target.Token:
		a.token(e.At, e.Content, e.N, e.Coalesced)
	case target.Dispatched:
		// The attempt's own goroutine runs: a truer instant than the hand-over.
		row.Dispatched = e.At
	case target.Conn:
		// A transport may replace a dead idle connection: the last one counts, and
		// so for what is written to it.
		row.Conn, row.ConnReused = e.At, tri(e.Reused)
	case target.Writing:
		row.Writing = e.At
	case target.Wrote:
		row.Wrote = e.At
	case target.Header:
		row.HTTPStatus = status32(e.Status)
	case target.FirstByte:
		first(&row.FirstByte, e.At)
	case target.Finished:
		a.finish(e.Reason)
	case target.UsageSeen:
		a.usage(e.At, e.Usage)
	case target.Done:
		if row.Done.Known() {
			a.odd[DuplicateDone]++
		}
		first(&row.Done, e.At)
	case target.End:
		a.end(e.At, e.Result)
	}
}

func (a *Assembler) token(at clock.Time, c target.Content, n int, coalesced bool) {
	row := &a.row
	if row.Done.Known() {
		a.odd[TokensAfterDone]++
		return
	}
	first(&row.FirstEvent, at)
	switch c {
	case target.Role:
		first(&row.FirstRole, at)
		return
	case target.Text:
		first(&row.FirstContent, at)
	case target.Reasoning:
		first(&row.FirstReasoning, at)
	case target.Tool:
		first(&row.FirstTool, at)
	}
	if a.finished {
		a.odd[TokensAfterFinish]++
	}
	if !row.FirstToken.Known() {
		row.FirstToken, row.Chunks, row.CoalescedTokens = at, 1, 0
		a.lastUS = micros(at)
	} else {
		at = a.follow(at, coalesced)
	}
	row.LastToken = at
	if n <= 0 {
		a.counted = false
	}
	if a.counted {
		a.tokens += int64(n)
		row.ChunkTokens = append(row.ChunkTokens, count32(n))
	}
}

// Run takes many chunks at once, with the same result as one by one.
func (a *Assembler) Run(at []clock.Time, c target.Content, n int) {
	if a.ended {
		a.odd[AfterEnd] += int64(len(at))
		return
	}
	row := &a.row
	for len(at) > 0 && (!row.FirstToken.Known() || row.Done.Known() || a.finished || c == target.Role) {
		a.token(at[0], c, n, false)
		at = at[1:]
	}
	if len(at) == 0 {
		return
	}
	a.token(at[0], c, n, false) // may be the first of its content
	at = at[1:]
	a.gaps(at)
	if n <= 0 {
		a.counted = false
	}
	if a.counted {
		a.tokens += int64(n) * int64(len(at))
		row.ChunkTokens = repeat(row.ChunkTokens, count32(n), len(at))
	}
}

// repeat appends v n times.
func repeat(dst []int32, v int32, n int) []int32 {
	if n == 0 {
		return dst
	}
	was := len(dst)
	dst = slices.Grow(dst, n)[:was+n]
	dst[was] = v
	for done := 1; done < n; done *= 2 {
		copy(dst[was+done:], dst[was:was+done])
	}
	return dst
}

// gaps is follow for all of at, none of them coalesced.
func (a *Assembler) gaps(at []clock.Time) {
	row := &a.row
	was := len(row.TokenGapsUS)
	gaps := slices.Grow(row.TokenGapsUS, len(at))[:was+len(at)]
	last, lastUS := row.LastToken, uint64(a.lastUS)
	out, odd := gaps[was:][:len(at)], int64(0)
	for i, t := range at {
		us := (uint64(t) + 500) / 1000
		gap := us - lastUS
		out[i] = int32(gap)
		odd |= int64(t) | int64(t-last) | (math.MaxInt32 - int64(gap)) // negative, if any is
		last, lastUS = t, us
	}
	if odd < 0 {
		for _, t := range at {
			row.LastToken = a.follow(t, false)
		}
		return
	}
	row.TokenGapsUS = gaps
	row.Chunks += int32(len(at))
	row.LastToken, a.lastUS = last, int64(lastUS)
}

// follow enters the chunk after another one, and returns its instant. Gaps are
// differences of rounded instants: their sum is off by a microsecond at most,
// however many there are.
func (a *Assembler) follow(at clock.Time, coalesced bool) clock.Time {
	row := &a.row
	if at < row.LastToken {
		a.odd[OutOfOrder]++
		at = row.LastToken
	}
	if coalesced && at == row.LastToken {
		row.CoalescedTokens++
	}
	us := micros(at)
	gap := us - a.lastUS
	if gap > math.MaxInt32 {
		a.odd[GapsClamped]++
		gap = math.MaxInt32
	}
	row.TokenGapsUS = append(row.TokenGapsUS, int32(gap))
	row.Chunks++
	a.lastUS = us
	return at
}

func (a *Assembler) finish(reason string) {
	if a.finished {
		a.odd[DuplicateFinish]++
		return
	}
	a.finished = true
	a.row.FinishReason = reason
}

// usage keeps the latest count of each kind: a server may report as it goes.
func (a *Assembler) usage(at clock.Time, u *target.Usage) {
	if u == nil {
		return
	}
	row := &a.row
	row.UsageAt = at
	latest(&row.PromptTokens, u.Prompt)
	latest(&row.OutputTokens, u.Completion)
	latest(&row.CachedTokens, u.Cached)
	latest(&row.ReasoningTokens, u.Reasoning)
}

func (a *Assembler) end(at clock.Time, res *target.Result) {
	a.ended = true
	row := &a.row
	row.Closed = at
	if row.Chunks == record.Null32 {
		row.Chunks, row.CoalescedTokens = 0, 0
	}
	a.count()
	if res == nil {
		// Without a result nothing proves that the answer is complete.
		a.cause = target.CauseTruncated
		return
	}
	a.cause, a.err = res.Cause, res.Err
	if res.Status != 0 {
		row.HTTPStatus = status32(res.Status)
	}
	if res.RetryAfter > 0 {
		row.RetryAfter = res.RetryAfter
	}
	row.BytesIn, row.BytesOut = count64(res.BytesIn), count64(res.BytesOut)
	row.Replica = res.Replica
	if res.Attempts > 0 {
		row.ServerAttempts = int32(res.Attempts)
	}
	if n := res.Net; n != nil {
		row.URL = count32(n.URL)
		row.DNS, row.Dial, row.TLS = count64(n.DNS), count64(n.Dial), count64(n.TLS)
	}
	a.odd[DecodeFallbacks] += int64(res.DecodeFallbacks)
	if res.Server != nil {
		serverAccount(row, res.Server)
		row.Deltas()
	}
}

// count settles the number of output tokens: usage first, else the stream's own
// counts if there is one for each chunk, else unknown.
func (a *Assembler) count() {
	row := &a.row
	if !a.counted || row.Chunks == 0 {
		row.ChunkTokens = row.ChunkTokens[:0]
		return
	}
	switch {
	case row.OutputTokens == record.Null32:
		row.OutputTokens = count32(int(a.tokens))
	case int64(row.OutputTokens) != a.tokens:
		a.odd[UsageDiffers]++
	}
}

// Finish judges the attempt after its End, and returns the row, which is valid
// until the next Begin. If cutoff is known, the sender stopped waiting then: an
// attempt that was cancelled or that ended later is censored.
func (a *Assembler) Finish(cutoff clock.Time) *record.Request {
	row := &a.row
	if cutoff.Known() && (a.cause == target.CauseCanceled || row.Closed > cutoff) {
		row.Outcome, row.Error = record.Censored, "unfinished when the drain ended"
		return row
	}
	row.Outcome, row.Error = Classify(a.evidence())
	return row
}

// Abandon closes a row whose attempt never ended, though it was told to, and
// returns it. Call it right after Begin, on an Assembler that takes no events.
func (a *Assembler) Abandon(why string) *record.Request {
	a.row.Outcome, a.row.Error = record.Censored, why
	return &a.row
}

// Unsent closes a row whose attempt was never handed over, and returns it. Call it
// right after Begin, on an Assembler that takes no events.
func (a *Assembler) Unsent(o record.Outcome, why string) *record.Request {
	a.row.Outcome, a.row.Error = o, why
	return &a.row
}

// Anomalies are those of the attempt, valid until the next Begin.
func (a *Assembler) Anomalies() *Anomalies { return &a.odd }

func (a *Assembler) evidence() Evidence {
	row := &a.row
	status := 0
	if row.HTTPStatus != record.Null32 {
		status = int(row.HTTPStatus)
	}
	return Evidence{
		Cause: a.cause, Status: status, Err: a.err,
		Finished: a.finished, Reason: row.FinishReason, Done: row.Done.Known(),
		Tokens: row.FirstToken.Known(), Usage: row.UsageAt.Known(),
		Exact: a.exact, Want: a.want, Output: row.OutputTokens,
	}
}

// first sets t unless it is known.
func first(t *clock.Time, at clock.Time) {
	if !t.Known() {
		*t = at
	}
}

// latest sets c to n unless n is unknown.
func latest(c *int32, n int) {
	if v := count32(n); v != record.Null32 {
		*c = v
	}
}

// micros rounds to the nearest microsecond.
func micros(t clock.Time) int64 { return (int64(t) + 500) / 1000 }

// count32 is n, or Null32 for a count that is unknown or absurd.
func count32(n int) int32 {
	if n < 0 || n > math.MaxInt32 {
		return record.Null32
	}
	return int32(n)
}

func status32(status int) int32 {
	if status == 0 {
		return record.Null32
	}
	return count32(status)
}

func tri(b bool) record.Tri {
	if b {
		return record.Yes
	}
	return record.No
}
