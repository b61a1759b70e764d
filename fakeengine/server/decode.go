package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
)

// api is one of the two ways to ask for text.
type api uint8

const (
	completions api = iota
	chat
)

func (a api) String() string {
	if a == chat {
		return "chat"
	}
	return "completions"
}

// defaultMaxTokens is what a completion without max_tokens gets, as in OpenAI's
// API and vLLM. A chat without it gets what is left of the model's length.
const defaultMaxTokens = 16

// request is what a body asks for. The prompt is in the tokenizer.
type request struct {
	maxTokens    int
	stream       bool
	includeUsage bool // a last chunk with the token counts
}

// body is the JSON of both APIs. Fields that are not here are accepted and
// ignored, as vLLM does: sampling has no effect on a made-up answer. min_tokens
// and ignore_eos have none either, because an answer never ends before
// max_tokens.
type body struct {
	Model               *string         `json:"model"`
	Prompt              json.RawMessage `json:"prompt"`
	Messages            []message       `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           *int            `json:"min_tokens"`
	IgnoreEOS           *bool           `json:"ignore_eos"`
	Stream              bool            `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	// What follows would change the shape of the answer, so it is refused.
	N        *int            `json:"n"`
	BestOf   *int            `json:"best_of"`
	Echo     bool            `json:"echo"`
	Logprobs json.RawMessage `json:"logprobs"`
}

type message struct {
	Role    *string         `json:"role"`
	Content json.RawMessage `json:"content"`
}

type part struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
}

// decode reads a request body and gives its prompt to t, which was reset. model
// is the one name that is served, modelLen bounds prompt and answer.
func decode(a api, raw []byte, t *tokenizer, model string, modelLen int) (request, *apiError) {
	var b body
	if err := json.Unmarshal(raw, &b); err != nil {
		return request{}, badJSON(err)
	}
	if b.Model != nil && *b.Model != model && *b.Model != "" {
		return request{}, unknownModel(*b.Model, model)
	}
	if err := b.unsupported(); err != nil {
		return request{}, err
	}
	read := b.readPrompt
	if a == chat {
		read = b.readMessages
	}
	if err := read(t); err != nil {
		return request{}, err
	}
	maxTokens, err := b.length(a, t.n, modelLen)
	if err != nil {
		return request{}, err
	}
	return request{
		maxTokens:    maxTokens,
		stream:       b.Stream,
		includeUsage: b.StreamOptions != nil && b.StreamOptions.IncludeUsage,
	}, nil
}

func badJSON(err error) *apiError {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if wrong.Field == "" {
			return badRequest("", "the body is a JSON %s; send an object", wrong.Value)
		}
		return badRequest(wrong.Field, "%s is a JSON %s; it must be %s", wrong.Field, wrong.Value, jsonKind(wrong.Type.Kind()))
	}
	return badRequest("", "the body is not JSON: %v", err)
}

// jsonKind names what a field of kind k reads.
func jsonKind(k reflect.Kind) string {
	switch k {
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

func (b *body) unsupported() *apiError {
	switch {
	case b.N != nil && *b.N != 1:
		return badRequest("n", "n is %d; this engine makes one answer to a request, leave n out or send 1", *b.N)
	case b.BestOf != nil && *b.BestOf != 1:
		return badRequest("best_of", "best_of is %d; this engine makes one answer to a request, leave best_of out or send 1", *b.BestOf)
	case b.Echo:
		return badRequest("echo", "echo is not supported; leave it out")
	}
	switch string(b.Logprobs) {
	case "", "null", "false":
		return nil
	}
	return badRequest("logprobs", "logprobs are not supported; leave the field out")
}

// readPrompt takes the one prompt of a completion: a string, an array of token
// numbers, or an array that holds one of these.
func (b *body) readPrompt(t *tokenizer) *apiError {
	raw := bytes.TrimSpace(b.Prompt)
	switch first(raw) {
	case 0, 'n':
		return badRequest("prompt", "prompt is missing; send a string or an array of token numbers")
	case '"':
	case '[':
		inner := first(raw[1:])
		if inner != '"' && inner != '[' {
			break
		}
		var several []json.RawMessage
		if err := json.Unmarshal(raw, &several); err != nil {
			return badRequest("prompt", "prompt cannot be read: %v", err)
		}
		if len(several) != 1 {
			return badRequest("prompt", "prompt holds %d prompts; this server takes one per request", len(several))
		}
		raw = several[0]
	default:
		return badRequest("prompt", "prompt must be a string or an array of token numbers")
	}
	if first(raw) == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return badRequest("prompt", "prompt cannot be read: %v", err)
		}
		t.text(s)
		return nil
	}
	var ids []uint32
	if err := json.Unmarshal(raw, &ids); err != nil {
		return badRequest("prompt", "prompt is neither text nor token numbers from 0 to 4294967295")
	}
	t.ids(ids)
	return nil
}

// first is the first byte of a JSON value; 0: there is none.
func first(raw []byte) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// readMessages takes a chat. The chat template adds no tokens, so that counts
// are those of the messages' own text; roles still tell prompts apart.
func (b *body) readMessages(t *tokenizer) *apiError {
	if len(b.Messages) == 0 {
		return badRequest("messages", "messages are missing; send at least one")
	}
	for i := range b.Messages {
		m := &b.Messages[i]
		if m.Role == nil || *m.Role == "" {
			return badRequest("messages", "message %d has no role", i)
		}
		t.role(*m.Role)
		if err := m.readContent(i, t); err != nil {
			return err
		}
	}
	return nil
}

func (m *message) readContent(i int, t *tokenizer) *apiError {
	switch first(m.Content) {
	case 0, 'n': // an assistant's turn of tool calls has no content
		return nil
	case '"':
		var s string
		if err := json.Unmarshal(m.Content, &s); err != nil {
			return badRequest("messages", "the content of message %d cannot be read: %v", i, err)
		}
		t.text(s)
		return nil
	case '[':
	default:
		return badRequest("messages", "the content of message %d must be a string or an array of text parts", i)
	}
	var parts []part
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return badRequest("messages", "the content of message %d cannot be read: %v", i, err)
	}
	for _, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return badRequest("messages", "message %d has a part of type %q; this engine reads text only", i, p.Type)
		}
		t.text(*p.Text)
	}
	return nil
}

// length is the number of tokens to generate.
func (b *body) length(a api, prompt, modelLen int) (int, *apiError) {
	if prompt == 0 {
		return 0, badRequest(a.promptField(), "the prompt has no tokens; send at least one word")
	}
	if prompt >= modelLen {
		return 0, badRequest(a.promptField(), "the prompt has %d tokens, and the maximum context length is %d tokens including at least one of the answer; shorten the prompt", prompt, modelLen)
	}
	given, field := b.MaxTokens, "max_tokens"
	if a == chat && b.MaxCompletionTokens != nil {
		given, field = b.MaxCompletionTokens, "max_completion_tokens"
	}
	n := modelLen - prompt
	switch {
	case given != nil:
		n = *given
	case a == completions:
		n = defaultMaxTokens
	}
	switch {
	case n < 1:
		return 0, badRequest(field, "%s is %d; it must be at least 1", field, n)
	case n > modelLen-prompt:
		return 0, badRequest(field, "the maximum context length is %d tokens, but the request needs %d tokens of prompt and %d of answer; shorten the prompt or lower %s", modelLen, prompt, n, field)
	case b.MinTokens != nil && (*b.MinTokens < 0 || *b.MinTokens > n):
		return 0, badRequest("min_tokens", "min_tokens is %d; it must be from 0 to %s, which is %d", *b.MinTokens, field, n)
	}
	return n, nil
}

func (a api) promptField() string {
	if a == chat {
		return "messages"
	}
	return "prompt"
}
