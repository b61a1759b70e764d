package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
)

// maxMessage bounds a text that Clip returns, in bytes.
const maxMessage = 300

// decode is the slow path, and the definition of what a payload means.
func decode(payload []byte, c *Chunk) {
	*c = blank
	top, err := object(payload)
	if err != nil {
		c.Kind = Malformed
		c.Message = err.Error() + ": " + string(payload)
		return
	}
	if msg, ok := errorMessage(top); ok {
		c.Kind = Failed
		c.Message = msg
		return
	}
	decodeObject(top, c)
}

// decodeObject reads what a chunk says that is no error.
func decodeObject(top map[string]any, c *Chunk) {
	choices, _ := top["choices"].([]any)
	for _, v := range choices {
		c.Content = max(c.Content, Role)
		choice, _ := v.(map[string]any)
		decodeChoice(choice, c)
	}
	if u, ok := top["usage"].(map[string]any); ok {
		c.Usage.Prompt = count(u["prompt_tokens"])
		c.Usage.Completion = count(u["completion_tokens"])
		details, _ := u["prompt_tokens_details"].(map[string]any)
		c.Usage.Cached = count(details["cached_tokens"])
		details, _ = u["completion_tokens_details"].(map[string]any)
		c.Usage.Reasoning = count(details["reasoning_tokens"])
		c.Counted = c.Usage.Prompt != Unknown || c.Usage.Completion != Unknown
	}
}

func decodeChoice(choice map[string]any, c *Chunk) {
	delta, _ := choice["delta"].(map[string]any)
	switch {
	case filled(choice["text"]), filled(delta["content"]), filled(delta["refusal"]):
		c.Content = max(c.Content, Text)
	case filled(delta["tool_calls"]), filled(delta["function_call"]):
		c.Content = max(c.Content, Tool)
	case filled(delta["reasoning_content"]), filled(delta["reasoning"]):
		c.Content = max(c.Content, Reasoning)
	}
	if s, ok := choice["finish_reason"].(string); ok && c.Finish == "" {
		c.Finish = s
	}
}

// object decodes one JSON object with nothing after it.
func object(payload []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	var top map[string]any
	if err := dec.Decode(&top); err != nil {
		return nil, err
	}
	if top == nil {
		return nil, errNotObject
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errTrailing
	}
	return top, nil
}

type shapeError string

func (e shapeError) Error() string { return string(e) }

const (
	errNotObject = shapeError("null instead of a JSON object")
	errTrailing  = shapeError("text after the JSON object")
)

// filled reports whether a value carries anything. Some servers send content as
// a list of parts, so any type counts.
func filled(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// count reads a token count; whatever is not a whole number >= 0 is Unknown.
func count(v any) int {
	num, ok := v.(json.Number)
	if !ok {
		return Unknown
	}
	if n, err := strconv.ParseInt(num.String(), 10, 64); err == nil {
		if n < 0 {
			return Unknown
		}
		return int(n)
	}
	f, err := num.Float64()
	if err != nil || f < 0 || f > 1<<53 || f != math.Trunc(f) {
		return Unknown
	}
	return int(f)
}

// errorMessage finds an error object: {"error": ...} with anything but null,
// false or "", or the older {"object":"error","message":...} of vLLM.
func errorMessage(top map[string]any) (string, bool) {
	if top["object"] == "error" {
		return message(top), true
	}
	switch e := top["error"].(type) {
	case nil:
		return "", false
	case string:
		return e, e != ""
	case bool:
		return "error: true", e
	case map[string]any:
		return message(e), true
	default:
		return message(map[string]any{"error": e}), true
	}
}

// message is the text of an error object, or the object itself if it has none.
func message(e map[string]any) string {
	if s, ok := e["message"].(string); ok && s != "" {
		return s
	}
	b, err := json.Marshal(e)
	if err != nil {
		return "error object without a message"
	}
	return string(b)
}

// ErrorText is the message of an error response's body: that of its error
// object, a "detail" or "message" text, or else the body itself. Clip it before
// it is shown.
func ErrorText(body []byte) string {
	top, err := object(body)
	if err != nil {
		return string(body)
	}
	if msg, ok := errorMessage(top); ok {
		return msg
	}
	for _, key := range []string{"message", "detail"} {
		if s, ok := top[key].(string); ok && s != "" {
			return s
		}
	}
	return string(body)
}

// Clip makes at most 300 bytes of a text fit for one line: valid UTF-8, each run
// of white space and control characters as one space.
func Clip(text string) string {
	cut := len(text) > maxMessage
	if cut {
		text = text[:maxMessage]
	}
	text = strings.ToValidUTF8(text, "?")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if cut {
		text += "..."
	}
	return text
}
