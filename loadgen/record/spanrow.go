package record

import (
	"encoding/hex"
	"fmt"
)

// spanRow is a Span as the files have it.
type spanRow struct {
	TraceID    string  `parquet:"trace_id"`
	SpanID     string  `parquet:"span_id"`
	ParentID   *string `parquet:"parent_span_id,optional"`
	Attempt    *int32  `parquet:"attempt,optional"`
	Role       string  `parquet:"role,dict"`
	Name       string  `parquet:"name,dict"`
	Kind       string  `parquet:"kind,dict"`
	Service    *string `parquet:"service,optional,dict"`
	Start      int64   `parquet:"start_unix_ns"`
	Duration   int64   `parquet:"duration"`
	Failed     bool    `parquet:"failed"`
	RequestID  *string `parquet:"request_id,optional"`
	Queue      *int64  `parquet:"queue,optional"`
	Prefill    *int64  `parquet:"prefill,optional"`
	Decode     *int64  `parquet:"decode,optional"`
	TTFT       *int64  `parquet:"ttft,optional"`
	E2E        *int64  `parquet:"e2e,optional"`
	Prompt     *int32  `parquet:"prompt_tokens,optional"`
	Output     *int32  `parquet:"output_tokens,optional"`
	Cached     *int32  `parquet:"cached_tokens,optional"`
	Attributes *string `parquet:"attributes,optional"`
}

func (s *Span) row() spanRow {
	r := spanRow{
		TraceID: hex.EncodeToString(s.TraceID[:]), SpanID: hex.EncodeToString(s.SpanID[:]),
		Attempt: count32(s.Attempt), Role: s.Role.String(), Name: s.Name, Kind: s.Kind, Service: words(s.Service),
		Start: s.Start, Duration: s.Duration, Failed: s.Failed, RequestID: words(s.RequestID),
		Queue: orNil(s.Queue), Prefill: orNil(s.Prefill), Decode: orNil(s.Decode), TTFT: orNil(s.TTFT), E2E: orNil(s.E2E),
		Prompt: count32(s.PromptTokens), Output: count32(s.OutputTokens), Cached: count32(s.CachedToken),
		Attributes: words(s.Attributes),
	}
	if s.ParentID != ([8]byte{}) {
		r.ParentID = words(hex.EncodeToString(s.ParentID[:]))
	}
	return r
}

func (r *spanRow) span() (Span, error) {
	s := Span{
		Attempt: orNull32(r.Attempt), Name: r.Name, Kind: r.Kind, Service: orEmpty(r.Service),
		Start: r.Start, Duration: r.Duration, Failed: r.Failed, RequestID: orEmpty(r.RequestID),
		Queue: orNull(r.Queue), Prefill: orNull(r.Prefill), Decode: orNull(r.Decode), TTFT: orNull(r.TTFT), E2E: orNull(r.E2E),
		PromptTokens: orNull32(r.Prompt), OutputTokens: orNull32(r.Output), CachedToken: orNull32(r.Cached),
		Attributes: orEmpty(r.Attributes),
	}
	for _, id := range []struct {
		text string
		to   []byte
	}{{r.TraceID, s.TraceID[:]}, {r.SpanID, s.SpanID[:]}, {orEmpty(r.ParentID), s.ParentID[:]}} {
		if id.text == "" {
			continue
		}
		if len(id.text) != 2*len(id.to) {
			return s, fmt.Errorf("span %s has an id of %d digits instead of %d", r.SpanID, len(id.text), 2*len(id.to))
		}
		if _, err := hex.Decode(id.to, []byte(id.text)); err != nil {
			return s, fmt.Errorf("span %s: %w", r.SpanID, err)
		}
	}
	for role, name := range roleNames {
		if name == r.Role {
			s.Role = SpanRole(role)
			return s, nil
		}
	}
	return s, fmt.Errorf("span %s has the unknown role %q; use the release that wrote it", r.SpanID, r.Role)
}

func words(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func count32(v int32) *int32 {
	if v == Null32 {
		return nil
	}
	return &v
}

func orNull32(v *int32) int32 {
	if v == nil {
		return Null32
	}
	return *v
}
