package record

import (
	"reflect"

	"github.com/parquet-go/parquet-go"

	"goodput/loadgen/clock"
)

// columns are those of requests-*.parquet, in the order of the file.
func columns() []column {
	var all []column
	for _, part := range [][]column{identity(), instants(), metrics(), tokens(), results(), server()} {
		all = append(all, part...)
	}
	return all
}

func identity() []column {
	return []column{
		text("run_id", true, func(r *Request) *string { return &r.RunID }),
		text("arm", true, func(r *Request) *string { return &r.Arm }),
		i32("trial", func(r *Request) *int32 { return &r.Trial }).required(),
		i32("shard", func(r *Request) *int32 { return &r.Shard }).required(),
		i64("seq", func(r *Request) *int64 { return &r.Seq }).required(),
		text("request_id", false, func(r *Request) *string { return &r.RequestID }),
		i32("attempt", func(r *Request) *int32 { return &r.Attempt }).required(),
		flag("final", func(r *Request) *bool { return &r.Final }),
		flag("hedge", func(r *Request) *bool { return &r.Hedge }),
		id("trace_id", func(r *Request) []byte { return r.TraceID[:] }),
		id("span_id", func(r *Request) []byte { return r.SpanID[:] }),
		text("session_id", true, func(r *Request) *string { return &r.SessionID }),
		i32("turn", func(r *Request) *int32 { return &r.Turn }).required(),
		text("thread", true, func(r *Request) *string { return &r.Thread }),
		text("parent_thread", true, func(r *Request) *string { return &r.ParentThread }),
		text("trigger", true, func(r *Request) *string { return &r.Trigger }),
		text("class", true, func(r *Request) *string { return &r.Class }),
		text("tenant", true, func(r *Request) *string { return &r.Tenant }),
		text("prefix_key", true, func(r *Request) *string { return &r.PrefixKey }),
		text("adapter", true, func(r *Request) *string { return &r.Adapter }),
		text("replica", true, func(r *Request) *string { return &r.Replica }),
	}
}

func instants() []column {
	return []column{
		i64("intended", func(r *Request) *clock.Time { return &r.Intended }),
		i64("attempt_due", func(r *Request) *clock.Time { return &r.AttemptDue }),
		i64("dispatched", func(r *Request) *clock.Time { return &r.Dispatched }),
		i64("permitted", func(r *Request) *clock.Time { return &r.Permitted }),
		i64("conn", func(r *Request) *clock.Time { return &r.Conn }),
		i64("writing", func(r *Request) *clock.Time { return &r.Writing }),
		i64("wrote", func(r *Request) *clock.Time { return &r.Wrote }),
		i64("first_byte", func(r *Request) *clock.Time { return &r.FirstByte }),
		i64("first_event", func(r *Request) *clock.Time { return &r.FirstEvent }),
		i64("first_role", func(r *Request) *clock.Time { return &r.FirstRole }),
		i64("first_reasoning", func(r *Request) *clock.Time { return &r.FirstReasoning }),
		i64("first_content", func(r *Request) *clock.Time { return &r.FirstContent }),
		i64("first_tool", func(r *Request) *clock.Time { return &r.FirstTool }),
		i64("first_token", func(r *Request) *clock.Time { return &r.FirstToken }),
		i64("last_token", func(r *Request) *clock.Time { return &r.LastToken }),
		i64("usage", func(r *Request) *clock.Time { return &r.UsageAt }),
		i64("done", func(r *Request) *clock.Time { return &r.Done }),
		i64("closed", func(r *Request) *clock.Time { return &r.Closed }),
	}
}

func metrics() []column {
	return []column{
		derived("lag", (*Request).Lag, "dispatched", "attempt_due", "intended"),
		derived("prior", (*Request).Prior, "attempt_due", "intended"),
		derived("client_queue", (*Request).ClientQueue, "permitted", "dispatched"),
		derived("connect", (*Request).Connect, "conn", "permitted", "dispatched"),
		derived("stream_wait", (*Request).StreamWait, "writing", "conn"),
		derived("upload", (*Request).Upload, "wrote", "conn", "permitted", "dispatched"),
		derived("ttft", (*Request).TTFT, "first_token", "intended"),
		derived("ttft_send", (*Request).TTFTSend, "first_token", "writing"),
		derived("ttfv", (*Request).TTFV, "first_content", "intended"),
		derived("tpot", (*Request).TPOT, "first_token", "last_token", "output_tokens"),
		derived("e2e", (*Request).E2E, "last_token", "done", "intended", "outcome"),
		derived("normalized", (*Request).Normalized, "last_token", "done", "intended", "outcome", "output_tokens"),
	}
}

func tokens() []column {
	return []column{
		i32("planned_prompt_tokens", func(r *Request) *int32 { return &r.PlannedPromptTokens }),
		i32("prompt_tokens", func(r *Request) *int32 { return &r.PromptTokens }),
		i32("planned_output_tokens", func(r *Request) *int32 { return &r.PlannedOutputTokens }),
		i32("output_tokens", func(r *Request) *int32 { return &r.OutputTokens }),
		i32("reasoning_tokens", func(r *Request) *int32 { return &r.ReasoningTokens }),
		i32("planned_cached_tokens", func(r *Request) *int32 { return &r.PlannedCachedTokens }),
		i32("pool_cached_tokens", func(r *Request) *int32 { return &r.PoolCachedTokens }),
		i32("cached_tokens", func(r *Request) *int32 { return &r.CachedTokens }),
		i32("chunks", func(r *Request) *int32 { return &r.Chunks }),
		i32("coalesced_tokens", func(r *Request) *int32 { return &r.CoalescedTokens }),
		ints("token_gaps_us", true, func(r *Request) *[]int32 { return &r.TokenGapsUS }),
		ints("chunk_tokens", false, func(r *Request) *[]int32 { return &r.ChunkTokens }),
	}
}

func results() []column {
	return []column{
		word("outcome", outcomeNames[:], func(r *Request) *Outcome { return &r.Outcome }),
		i32("http_status", func(r *Request) *int32 { return &r.HTTPStatus }),
		text("error", true, func(r *Request) *string { return &r.Error }),
		text("finish_reason", true, func(r *Request) *string { return &r.FinishReason }),
		i64("retry_after_ns", func(r *Request) *int64 { return &r.RetryAfter }),
		i64("bytes_in", func(r *Request) *int64 { return &r.BytesIn }),
		i64("bytes_out", func(r *Request) *int64 { return &r.BytesOut }),
		tri("conn_reused", func(r *Request) *Tri { return &r.ConnReused }),
		i32("url", func(r *Request) *int32 { return &r.URL }),
		i64("dns", func(r *Request) *int64 { return &r.DNS }),
		i64("dial", func(r *Request) *int64 { return &r.Dial }),
		i64("tls", func(r *Request) *int64 { return &r.TLS }),
		tri("slo_met", func(r *Request) *Tri { return &r.SLOMet }),
		word("phase", phaseNames[:], func(r *Request) *Phase { return &r.Phase }),
	}
}

func server() []column {
	return []column{
		i64("server_queue", func(r *Request) *int64 { return &r.ServerQueue }),
		i64("server_prefill", func(r *Request) *int64 { return &r.ServerPrefill }),
		i64("server_decode", func(r *Request) *int64 { return &r.ServerDecode }),
		i64("server_ttft", func(r *Request) *int64 { return &r.ServerTTFT }),
		i64("server_e2e", func(r *Request) *int64 { return &r.ServerE2E }),
		derived("server_frontend", (*Request).ServerFrontEnd, "server_ttft", "server_queue", "server_prefill"),
		i64("server_spent_frontend", func(r *Request) *int64 { return &r.ServerSpentFrontEnd }),
		i64("server_spent_queue", func(r *Request) *int64 { return &r.ServerSpentQueue }),
		i64("server_spent_prefill", func(r *Request) *int64 { return &r.ServerSpentPrefill }),
		i64("server_spent_decode", func(r *Request) *int64 { return &r.ServerSpentDecode }),
		i64("server_spent_interference", func(r *Request) *int64 { return &r.ServerSpentInterference }),
		i64("server_spent_transfer", func(r *Request) *int64 { return &r.ServerSpentTransfer }),
		i64("server_preempted", func(r *Request) *int64 { return &r.ServerPreempted }),
		i32("server_cached_tokens", func(r *Request) *int32 { return &r.ServerCachedTokens }),
		i32("server_preemptions", func(r *Request) *int32 { return &r.ServerPreemptions }),
		i32("server_recomputed", func(r *Request) *int32 { return &r.ServerRecomputed }),
		i32("server_drafts", func(r *Request) *int32 { return &r.ServerDrafts }),
		i32("server_draft_tokens", func(r *Request) *int32 { return &r.ServerDraftTokens }),
		i32("server_accepted_tokens", func(r *Request) *int32 { return &r.ServerAcceptedTokens }),
		i32("server_attempts", func(r *Request) *int32 { return &r.ServerAttempts }),
		text("server_source", true, func(r *Request) *string { return &r.ServerSource }),
		i64("d_ttft", func(r *Request) *int64 { return &r.DTTFT }),
		i64("d_e2e", func(r *Request) *int64 { return &r.DE2E }),
		i64("d_tail", func(r *Request) *int64 { return &r.DTail }),
		i64("d_tpot", func(r *Request) *int64 { return &r.DTPOT }),
	}
}

// schemaOf is the Parquet schema of the columns.
func schemaOf(cols []column) *parquet.Schema {
	g := orderedGroup{Group: parquet.Group{}}
	for _, c := range cols {
		g.Group[c.name] = c.node
		g.fields = append(g.fields, field{Node: c.node, name: c.name})
	}
	return parquet.NewSchema("request", g)
}

// orderedGroup is a Group whose fields keep the order given; a plain Group sorts
// them by name.
type orderedGroup struct {
	parquet.Group
	fields []parquet.Field
}

func (g orderedGroup) Fields() []parquet.Field { return g.fields }

type field struct {
	parquet.Node
	name string
}

func (f field) Name() string { return f.name }

// Value is part of parquet.Field and is only asked for by the writers of Go
// structs, which this package does not use.
func (f field) Value(base reflect.Value) reflect.Value {
	return base.MapIndex(reflect.ValueOf(f.name))
}
