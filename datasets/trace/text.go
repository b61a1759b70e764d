package trace

import (
	"encoding/json"

	"github.com/cespare/xxhash/v2"

	"goodput/datasets"
)

// bytesPerToken is the usual length of a token of English text. No tokeniser is
// at hand, so lengths that a file gives as text are estimates.
const bytesPerToken = 4

// textTokens estimates the tokens of a text: at least one.
func textTokens(n int) int {
	return min(max(1, (n+bytesPerToken-1)/bytesPerToken), datasets.MaxTokens/256)
}

// textSpan is the span that stands for a text. Equal texts have equal keys.
func textSpan(role string, text []byte) datasets.Span {
	h := xxhash.New()
	h.WriteString(role)
	h.Write([]byte{0})
	h.Write(text)
	return datasets.Span{Key: h.Sum64(), Tokens: textTokens(len(text))}
}

// message is one of a chat. Its content is a string or an array of parts.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Parts   json.RawMessage `json:"parts"`
	Calls   json.RawMessage `json:"tool_calls"`
}

// span stands for the message. The size of parts that are no plain string is that
// of their JSON.
func (m *message) span() datasets.Span {
	var text string
	if json.Unmarshal(m.Content, &text) == nil && len(m.Calls) == 0 && len(m.Parts) == 0 {
		return textSpan(m.Role, []byte(text))
	}
	all := append(append(append([]byte{}, m.Content...), m.Parts...), m.Calls...)
	return textSpan(m.Role, all)
}

// spans stands for a list of messages.
func spans(dst []datasets.Span, all []message) (out []datasets.Span, tokens int) {
	for i := range all {
		s := all[i].span()
		tokens += s.Tokens
		dst = append(dst, s)
	}
	return dst, tokens
}
