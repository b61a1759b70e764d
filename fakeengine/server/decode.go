package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"goodput/loadgen/target"
)

// api is one of the ways to ask for text, or for a vector.
type api uint8

const (
	completions api = iota
	chat
	responses
	embeddings
)

func (a api) String() string {
	return [...]string{"completions", "chat", "responses", "embeddings"}[a]
}

// prefix begins the ids of its answers.
func (a api) prefix() string {
	return [...]string{"cmpl-", "chatcmpl-", "resp_", "embd-"}[a]
}

// defaultMaxTokens is what a completion without max_tokens gets, as in OpenAI's
// API and vLLM. A chat without it gets what is left of the model's length.
const defaultMaxTokens = 16

// maxChoices bounds n.
const maxChoices = 128

// request is what a body asks for. The prompt is in the tokenizer.
type request struct {
	model           servedModel
	maxTokens       int
	choices         int
	stream          bool
	includeUsage    bool // a last chunk with the token counts
	continuousUsage bool // and the counts so far in every chunk
	logprobs        int  // alternatives to each token; noLogprobs: none
	tokenIDs        bool // the numbers of a completion's tokens beside its text
	shape           shape
	calls           []string // names of functions, as JSON strings; nil without calls
	stop            stopRule
	priority        int // a smaller one is served first
}

// servedModel is a name that is answered to.
type servedModel struct {
	name    []byte // as a JSON string
	adapter uint16 // its number; 0: the base model
	// adapterName goes into the names of its blocks: a reload finds them again.
	adapterName string
}

// decoder is what a body is read against.
type decoder struct {
	// model finds a model by name; "" is the base model.
	model func(name string) (servedModel, *apiError)
	// modelLen bounds prompt and answer.
	modelLen int
	shape    shape
	ranked   bool // the engines schedule by priority
}

// body is the JSON of both APIs. Fields that are not here are accepted and
// ignored, as vLLM does: sampling has no effect on a made-up answer. Neither has
// ignore_eos, because an answer has no end of its own.
type body struct {
	Model               *string         `json:"model"`
	Prompt              json.RawMessage `json:"prompt"`
	Messages            []message       `json:"messages"`
	Input               json.RawMessage `json:"input"`
	MaxOutputTokens     *int            `json:"max_output_tokens"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           *int            `json:"min_tokens"`
	IgnoreEOS           *bool           `json:"ignore_eos"`
	Stream              bool            `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	N            *int            `json:"n"`
	Logprobs     json.RawMessage `json:"logprobs"`
	TopLogprobs  *int            `json:"top_logprobs"`
	Stop         json.RawMessage `json:"stop"`
	StopTokenIDs []uint32        `json:"stop_token_ids"`
	IncludeStop  bool            `json:"include_stop_str_in_output"`
	CacheSalt    *string         `json:"cache_salt"`
	Tools        []tool          `json:"tools"`
	Priority     *int            `json:"priority"`
	TokenIDs     bool            `json:"return_token_ids"`

	// What follows would change the shape of the answer, so it is refused.
	BestOf *int `json:"best_of"`
	Echo   bool `json:"echo"`
}

type tool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

type message struct {
	Role      *string         `json:"role"`
	Content   json.RawMessage `json:"content"`
	Reasoning string          `json:"reasoning"`
	ToolCalls []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// readCalls takes what an assistant's turn has behind its content: of each call the
// name and the arguments, those that an answer here has without the JSON around them.
func (m *message) readCalls(t *tokenizer) {
	for i := range m.ToolCalls {
		f := &m.ToolCalls[i].Function
		t.text(f.Name)
		var only struct {
			Text *string `json:"text"`
		}
		in := json.NewDecoder(strings.NewReader(f.Arguments))
		in.DisallowUnknownFields()
		switch err := in.Decode(&only); {
		case err != nil:
			t.text(f.Arguments)
		case only.Text != nil:
			t.text(*only.Text)
		}
	}
}

type part struct {
	Type string  `json:"type"`
	Text *string `json:"text"`
}

// decode reads a request body and gives its prompt to t, which was reset.
func (d *decoder) decode(a api, raw []byte, t *tokenizer) (request, *apiError) {
	r := request{shape: d.shape}
	var b body
	if err := json.Unmarshal(raw, &b); err != nil {
		return r, badJSON(err)
	}
	if err := b.adapt(a); err != nil {
		return r, err
	}
	if err := d.readPrompt(a, &b, t, &r.model); err != nil {
		return r, err
	}
	if err := b.unsupported(); err != nil {
		return r, err
	}
	if b.Priority != nil {
		r.priority = *b.Priority
	}
	if r.priority != 0 && !d.ranked {
		return r, badRequest("priority", "priority is %d, but the engines serve by arrival; leave it out, or serve with --engine.scheduling-policy priority", r.priority)
	}
	var err *apiError
	if r.maxTokens, err = b.length(a, t.n, d.modelLen); err != nil {
		return r, err
	}
	if r.logprobs, err = b.logprobs(a); err != nil {
		return r, err
	}
	if err := b.readStop(&r); err != nil {
		return r, err
	}
	if err := b.readShape(a, &r); err != nil {
		return r, err
	}
	r.stream, r.choices = b.Stream, 1
	r.tokenIDs = b.TokenIDs && a == completions
	if b.N != nil {
		r.choices = *b.N
	}
	if o := b.StreamOptions; o != nil && b.Stream {
		r.includeUsage = o.IncludeUsage
		r.continuousUsage = o.IncludeUsage && o.ContinuousUsage
	}
	return r, nil
}

// decodePrompt reads a body of either API for its prompt alone.
func (d *decoder) decodePrompt(raw []byte, t *tokenizer) *apiError {
	var b body
	if err := json.Unmarshal(raw, &b); err != nil {
		return badJSON(err)
	}
	a := completions
	if b.Prompt == nil {
		a = chat
	}
	var m servedModel
	return d.readPrompt(a, &b, t, &m)
}

// readPrompt finds the model and takes the prompt.
func (d *decoder) readPrompt(a api, b *body, t *tokenizer, m *servedModel) *apiError {
	name := ""
	if b.Model != nil {
		name = *b.Model
	}
	var err *apiError
	if *m, err = d.model(name); err != nil {
		return err
	}
	within := target.Request{Adapter: target.Adapter{Name: m.adapterName}}
	if b.CacheSalt != nil {
		within.CacheSalt = *b.CacheSalt
	}
	t.chain ^= within.Scope()
	if a == chat || b.Messages != nil && a == responses {
		return b.readMessages(t)
	}
	return b.readText(t)
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
	case b.N != nil && (*b.N < 1 || *b.N > maxChoices):
		return badRequest("n", "n is %d; it must be from 1 to %d", *b.N, maxChoices)
	case b.BestOf != nil && *b.BestOf != 1 && (b.N == nil || *b.BestOf != *b.N):
		return badRequest("best_of", "best_of is %d; no answer here is better than another, leave best_of out", *b.BestOf)
	case b.Echo:
		return badRequest("echo", "echo is not supported; leave it out")
	}
	return nil
}

// logprobs is the number of alternatives that are asked for.
func (b *body) logprobs(a api) (int, *apiError) {
	raw := string(b.Logprobs)
	if raw == "null" {
		raw = ""
	}
	n, field := noLogprobs, "logprobs"
	if a == chat {
		on := false
		if raw != "" && json.Unmarshal(b.Logprobs, &on) != nil {
			return 0, badRequest("logprobs", "logprobs is %s; in a chat it is true or false, and the number goes into top_logprobs", raw)
		}
		switch {
		case on && b.TopLogprobs != nil:
			n, field = *b.TopLogprobs, "top_logprobs"
		case on:
			n = 0
		case b.TopLogprobs != nil && *b.TopLogprobs != 0:
			return 0, badRequest("top_logprobs", "top_logprobs needs logprobs to be true")
		}
	} else if raw != "" && json.Unmarshal(b.Logprobs, &n) != nil {
		return 0, badRequest("logprobs", "logprobs is %s; for a completion it is the number of alternatives", raw)
	}
	if (field == "top_logprobs" || raw != "" && a == completions) && n < 0 || n > maxLogprobs {
		return 0, badRequest(field, "%s is %d; it must be from 0 to %d", field, n, maxLogprobs)
	}
	return n, nil
}

// readStop takes what may end the answer early.
func (b *body) readStop(r *request) *apiError {
	r.stop.ids, r.stop.include = b.StopTokenIDs, b.IncludeStop
	if b.MinTokens != nil {
		r.stop.min = *b.MinTokens
	}
	switch first(b.Stop) {
	case 0, 'n':
		return nil
	case '"':
		r.stop.words = make([]string, 1)
		if json.Unmarshal(b.Stop, &r.stop.words[0]) == nil {
			break
		}
		fallthrough
	default:
		if json.Unmarshal(b.Stop, &r.stop.words) != nil {
			return badRequest("stop", "stop must be a string or an array of strings")
		}
	}
	if slices.Contains(r.stop.words, "") {
		return badRequest("stop", "stop holds an empty string; leave it out")
	}
	return nil
}

// readShape checks that the answer has room for its parts.
func (b *body) readShape(a api, r *request) *apiError {
	switch s := r.shape; {
	case s == shape{}:
		return nil
	case a != chat && a != responses:
		return badRequest("", "the header %s is for chats and responses; a completion is text only", headerShape)
	case !r.stop.empty():
		return badRequest("stop", "stop and the header %s do not go together; leave one of them out", headerShape)
	case s.least() > r.maxTokens:
		return badRequest("", "the header %s asks for %d tokens, and the answer has %d; raise max_tokens", headerShape, s.least(), r.maxTokens)
	}
	if r.shape.calls > 0 {
		for _, t := range b.Tools {
			r.calls = append(r.calls, string(appendString(nil, t.Function.Name)))
		}
		if len(r.calls) == 0 {
			r.calls = []string{`"goodput"`}
		}
	}
	return nil
}

// readText takes the one prompt of a completion: a string, an array of token
// numbers, or an array that holds one of these.
func (b *body) readText(t *tokenizer) *apiError {
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
		t.text(m.Reasoning)
		if err := m.readContent(i, t); err != nil {
			return err
		}
		m.readCalls(t)
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
