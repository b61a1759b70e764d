package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"goodput/datasets"
)

// otelDocument is one value of an export, in either form.
type otelDocument struct {
	TraceID   string     `json:"trace_id"`
	Spans     []otelSpan `json:"spans"`
	Resources []struct {
		Scopes []struct {
			Spans []otelSpan `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

// otelSpan is a span: OTLP names its fields in camel case, with nanoseconds in
// quotes, the flat form with underscores and ISO times.
type otelSpan struct {
	TraceID     string          `json:"traceId"`
	SpanID      string          `json:"spanId"`
	StartNano   json.Number     `json:"startTimeUnixNano"`
	EndNano     json.Number     `json:"endTimeUnixNano"`
	FlatTraceID string          `json:"trace_id"`
	FlatSpanID  string          `json:"span_id"`
	Start       string          `json:"start_time"`
	End         string          `json:"end_time"`
	Name        string          `json:"name"`
	Attributes  json.RawMessage `json:"attributes"`
}

func (s *otelSpan) id() string { return s.SpanID + s.FlatSpanID }

func (s *otelSpan) times() (start, end int64, err error) {
	if s.StartNano != "" {
		start, err = strconv.ParseInt(string(s.StartNano), 10, 64)
		if err == nil {
			end, err = strconv.ParseInt(string(s.EndNano), 10, 64)
		}
		if err != nil || start < 0 || start > math.MaxInt64/2 {
			return 0, 0, fmt.Errorf("found %q and %q, expected startTimeUnixNano and endTimeUnixNano in nanoseconds", s.StartNano, s.EndNano)
		}
		return start, end, nil
	}
	var ok [2]bool
	start, ok[0] = parseTimestamp([]byte(strings.Replace(s.Start, "T", " ", 1)))
	end, ok[1] = parseTimestamp([]byte(strings.Replace(s.End, "T", " ", 1)))
	if !ok[0] || !ok[1] {
		return 0, 0, fmt.Errorf("found %q and %q, expected start_time and end_time such as 2026-02-25T10:00:02.500000", s.Start, s.End)
	}
	return start, end, nil
}

// otelAttributes are the attributes of a span by key, as JSON.
type otelAttributes map[string]json.RawMessage

func (s *otelSpan) attributes() (otelAttributes, error) {
	a := otelAttributes{}
	raw := bytes.TrimSpace(s.Attributes)
	if len(raw) == 0 {
		return a, nil
	}
	if raw[0] == '{' {
		return a, json.Unmarshal(raw, &a)
	}
	var list []struct {
		Key   string                     `json:"key"`
		Value map[string]json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, errors.New("found no list of attributes")
	}
	for _, kv := range list {
		for _, kind := range []string{"stringValue", "intValue", "doubleValue", "boolValue", "arrayValue", "kvlistValue"} {
			if v, ok := kv.Value[kind]; ok {
				a[kv.Key] = v
			}
		}
	}
	return a, nil
}

// text is the first of the keys that holds a string.
func (a otelAttributes) text(keys ...string) string {
	for _, k := range keys {
		var s string
		if json.Unmarshal(a[k], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// number is the first of the keys that holds a whole number, in quotes or not.
func (a otelAttributes) number(keys ...string) (int, bool) {
	for _, k := range keys {
		n, err := strconv.Atoi(string(bytes.Trim(a[k], `"`)))
		if err == nil && n >= 0 && n <= datasets.MaxTokens {
			return n, true
		}
	}
	return 0, false
}

// request reports whether a span of this name asks a model for text.
func (a otelAttributes) request(name string) bool {
	if op := a.text("gen_ai.operation.name"); op != "" {
		return slices.Contains([]string{"chat", "text_completion", "generate_content"}, op)
	}
	return strings.HasPrefix(name, "chat ") || a["gen_ai.input.messages"] != nil
}

// messages reads the first of the keys that holds messages, as JSON or as JSON
// within a string.
func (a otelAttributes) messages(keys ...string) []message {
	for _, k := range keys {
		raw := a[k]
		if s := a.text(k); s != "" {
			raw = json.RawMessage(s)
		}
		var all []message
		if json.Unmarshal(raw, &all) == nil && len(all) > 0 {
			return all
		}
	}
	return nil
}

// messageTokens estimates the tokens of the messages, or of the text, of the keys.
func (a otelAttributes) messageTokens(keys ...string) int {
	if all := a.messages(keys...); all != nil {
		_, tokens := spans(nil, all)
		return tokens
	}
	if text := a.text(keys...); text != "" {
		return textTokens(len(text))
	}
	return 0
}

// endsWithTool reports whether the last input message is the result of a tool.
func (a otelAttributes) endsWithTool() bool {
	all := a.messages("gen_ai.input.messages")
	return len(all) > 0 && all[len(all)-1].Role == "tool"
}
