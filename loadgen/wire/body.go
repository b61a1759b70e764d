package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// API is the shape of request and answer.
type API uint8

// The APIs.
const (
	Completions API = iota // text in "prompt", text in choices[].text
	Chat                   // messages, deltas in choices[].delta
	Responses              // text in "input", events of a type each
	Embeddings             // text in "input", one object with vectors, not streamed
)

// Path is the usual path of the API.
func (a API) Path() string {
	switch a {
	case Chat:
		return "/v1/chat/completions"
	case Responses:
		return "/v1/responses"
	case Embeddings:
		return "/v1/embeddings"
	}
	return "/v1/completions"
}

// String is the API's name in messages.
func (a API) String() string {
	switch a {
	case Chat:
		return "chat completions"
	case Responses:
		return "responses"
	case Embeddings:
		return "embeddings"
	}
	return "completions"
}

// Streams reports whether answers come as streams of events.
func (a API) Streams() bool { return a != Embeddings }

// Prompt is the text of a prompt. It may be large, so a body streams it.
type Prompt interface {
	// Len is the length in bytes.
	Len() int64
	// Reader starts a new reading of exactly Len bytes. They go between the quotes
	// of a JSON string as they are: no quote, backslash, control character or
	// invalid UTF-8 may be among them. In a Format that is Structured they are a JSON
	// value.
	Reader() io.Reader
}

// Format writes the request bodies of one API. It is immutable.
type Format struct {
	model string // the field of the usual model and its comma
	open  string // from there to the value of max_tokens
	text  string // from the last option to the prompt's opening quote
	tail  string // from the prompt's closing quote
	short bool   // the answer has no length, and open no value after it
}

// Ask is what a body says beside the prompt.
type Ask struct {
	// MaxTokens bounds the answer; with IgnoreEOS it has exactly that many tokens
	// (the vLLM extensions ignore_eos and min_tokens).
	MaxTokens int
	IgnoreEOS bool
	// Priority is another extension of vLLM, a smaller one being served first; 0
	// leaves it out.
	Priority int
	// Model is another model than the usual one, such as an adapter; "": the usual
	// one. CacheSalt is one more extension of vLLM; "" leaves it out.
	Model, CacheSalt string
}

// Extra is one more field of a body.
type Extra struct {
	Key   string
	Value json.RawMessage
}

// Continuous makes f ask for the counts so far in every chunk (continuous_usage_stats, an
// extension of vLLM), from which follows how many tokens a chunk holds. Only completions
// and chats have it.
func (f *Format) Continuous() {
	f.open = strings.Replace(f.open, `"include_usage":true`, `"include_usage":true,"continuous_usage_stats":true`, 1)
}

// Unstreamed makes f ask for answers in one piece.
func (f *Format) Unstreamed() {
	f.open = strings.Replace(f.open, `"stream":true,`, "", 1)
	f.open = strings.Replace(f.open, `"stream_options":{"include_usage":true},`, "", 1)
}

// Structured makes prompts of f JSON values of their own: the array of messages of a chat,
// or the array of token numbers of a completion. Without it a chat is one message of the
// user.
func (f *Format) Structured() {
	if i := strings.Index(f.text, `[{"role"`); i >= 0 {
		f.text, f.tail = f.text[:i], "}"
		return
	}
	f.text, f.tail = strings.TrimSuffix(f.text, `"`), strings.TrimPrefix(f.tail, `"`)
}

// NewFormat prepares the constant parts. An empty model leaves the field out,
// which several servers answer with the only model they have. extras are fields that a
// body does not have otherwise, or the temperature, which is 0 without.
func NewFormat(api API, model string, extras ...Extra) (*Format, error) {
	if !utf8.ValidString(model) {
		return nil, errors.New("model name is not valid UTF-8; give the name as /v1/models lists it")
	}
	f := &Format{text: `,"prompt":"`, tail: `"}`}
	if model != "" {
		f.model = string(appendField(nil, "model", model))
	}
	more, err := fields(extras)
	if err != nil {
		return nil, err
	}
	f.open = `"stream":true,"stream_options":{"include_usage":true},` + more + `"max_tokens":`
	switch api {
	case Chat:
		f.text, f.tail = `,"messages":[{"role":"user","content":"`, `"}]}`
	case Responses:
		f.open, f.text = `"stream":true,`+more+`"max_output_tokens":`, `,"input":"`
	case Embeddings:
		f.open, f.text, f.short = strings.TrimPrefix(more, noTemperature)+`"encoding_format":"float"`, `,"input":"`, true
	}
	return f, nil
}

// noTemperature is what a body has without a temperature among its extras.
const noTemperature = `"temperature":0,`

// fields writes the extras, and a comma behind each.
func fields(extras []Extra) (string, error) {
	out, temperature := []byte(nil), noTemperature
	for _, e := range extras {
		if !json.Valid(e.Value) || !utf8.ValidString(e.Key) {
			return "", fmt.Errorf("field %q of the body is not JSON: %s", e.Key, Clip(string(e.Value)))
		}
		if e.Key == "temperature" {
			temperature = ""
		}
		out = append(appendKey(out, e.Key), e.Value...)
		out = append(out, ',')
	}
	return temperature + string(out), nil
}

// appendKey appends a field's name and its colon.
func appendKey(dst []byte, key string) []byte {
	text, err := json.Marshal(key)
	if err != nil {
		panic(err) // no string fails
	}
	return append(append(dst, text...), ':')
}

// appendField appends a field of text and a comma.
func appendField(dst []byte, key, value string) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // no string fails
	}
	dst = append(dst, '"')
	dst = append(dst, key...)
	dst = append(dst, `":`...)
	dst = append(dst, text...)
	return append(dst, ',')
}

// Body asks for a streamed answer.
func (f *Format) Body(p Prompt, ask Ask) Body {
	head := make([]byte, 0, len(f.model)+len(f.open)+len(f.text)+len(ask.Model)+len(ask.CacheSalt)+128)
	head = append(head, '{')
	if ask.Model != "" {
		head = appendField(head, "model", ask.Model)
	} else {
		head = append(head, f.model...)
	}
	if ask.CacheSalt != "" {
		head = appendField(head, "cache_salt", ask.CacheSalt)
	}
	head = append(head, f.open...)
	if !f.short {
		head = strconv.AppendInt(head, int64(ask.MaxTokens), 10)
	}
	if ask.IgnoreEOS && !f.short {
		head = append(head, `,"ignore_eos":true,"min_tokens":`...)
		head = strconv.AppendInt(head, int64(ask.MaxTokens), 10)
	}
	if ask.Priority != 0 {
		head = append(head, `,"priority":`...)
		head = strconv.AppendInt(head, int64(ask.Priority), 10)
	}
	head = append(head, f.text...)
	return Body{head: head, prompt: p, tail: f.tail}
}

// Body is one request body. The prompt is not held: each reading makes it anew.
type Body struct {
	head   []byte
	prompt Prompt
	tail   string
}

// Len is the length in bytes, known before anything is read.
func (b Body) Len() int64 {
	return int64(len(b.head)) + b.prompt.Len() + int64(len(b.tail))
}

// Reader starts a new reading of the whole body.
func (b Body) Reader() io.Reader {
	return io.MultiReader(bytes.NewReader(b.head), b.prompt.Reader(), strings.NewReader(b.tail))
}
