package otlpin

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// What one export may have, before and after inflation.
const (
	maxBody     = 8 << 20  // bytes
	maxInflated = 32 << 20 // bytes
)

var errTooLarge = errors.New("the body is too large: let the exporter send smaller batches")

// inflate undoes gzip, up to maxInflated.
func inflate(body []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("inflating the body: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(z, maxInflated+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("inflating the body: %w", err)
	case len(out) > maxInflated:
		return nil, errTooLarge
	}
	return out, nil
}

// decode reads an export of traces.
func decode(body []byte, isJSON bool) (*collector.ExportTraceServiceRequest, error) {
	in := &collector.ExportTraceServiceRequest{}
	if !isJSON {
		if err := proto.Unmarshal(body, in); err != nil {
			return nil, fmt.Errorf("reading the spans: %w", err)
		}
		return in, nil
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, in); err != nil {
		return nil, fmt.Errorf("reading the spans: %w", err)
	}
	for _, rs := range in.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				unmangle(s)
			}
		}
	}
	return in, nil
}

// unmangle undoes what protojson did to ids: OTLP/JSON has them in hexadecimal, where
// JSON of protobuf has base64, for which the digits pass too.
func unmangle(s *tracepb.Span) {
	s.TraceId, s.SpanId, s.ParentSpanId = rehex(s.TraceId), rehex(s.SpanId), rehex(s.ParentSpanId)
}

// rehex is the id whose digits were read as base64; nil: they are not hexadecimal.
func rehex(b []byte) []byte {
	out, err := hex.DecodeString(base64.StdEncoding.EncodeToString(b))
	if err != nil {
		return nil
	}
	return out
}
