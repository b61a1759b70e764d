package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"goodput/datasets"
)

// openAI reads request bodies of OpenAI's API: the lines of a batch file, which
// wrap them, plain bodies with messages, and vLLM's custom dataset, which has a
// prompt. Prompts are estimated from their text.
type openAI struct {
	l       *lines
	format  Format
	output  int
	foreign int // requests of a batch that generate no text
}

func newBatch(r io.Reader, path string, o Options) (source, error) {
	return &openAI{l: newLines(r, path), format: Batch, output: o.outputLen()}, nil
}

func newChat(r io.Reader, path string, o Options) (source, error) {
	return &openAI{l: newLines(r, path), format: Chat, output: o.outputLen()}, nil
}

func newCustom(r io.Reader, path string, o Options) (source, error) {
	return &openAI{l: newLines(r, path), format: Custom, output: o.outputLen()}, nil
}

func (*openAI) traits() Traits { return Traits{Identified: true, Estimated: true} }

func (o *openAI) dropped() (int, string) {
	return o.foreign, "requests of a batch to other endpoints than completions"
}

// body is a request.
type body struct {
	Messages   []message       `json:"messages"`
	Prompt     json.RawMessage `json:"prompt"`
	Tools      json.RawMessage `json:"tools"`
	MaxTokens  *int            `json:"max_tokens"`
	Completion *int            `json:"max_completion_tokens"`
	Output     *int            `json:"output_tokens"`
}

// batchLine wraps a body.
type batchLine struct {
	CustomID *string         `json:"custom_id"`
	URL      string          `json:"url"`
	Body     json.RawMessage `json:"body"`
}

func (o *openAI) next(r *Row) error {
	for {
		line, err := o.l.next()
		if err != nil {
			return err
		}
		if o.format == Batch {
			var wrapped batchLine
			if err := o.l.object(line, &wrapped); err != nil {
				return err
			}
			if wrapped.CustomID == nil || wrapped.Body == nil {
				return o.l.errorf("row", "found %s, expected custom_id, method, url and body in every row", quote(line))
			}
			if !strings.HasSuffix(wrapped.URL, "/completions") {
				o.foreign++
				continue
			}
			line = wrapped.Body
		}
		return o.request(r, line)
	}
}

func (o *openAI) request(r *Row, text []byte) error {
	var b body
	if err := o.l.object(text, &b); err != nil {
		return err
	}
	r.alone()
	r.Line = o.l.n
	if err := o.prompt(r, &b); err != nil {
		return err
	}
	r.Out = o.output
	for _, n := range []struct {
		v    *int
		name string
	}{{b.MaxTokens, "max_tokens"}, {b.Completion, "max_completion_tokens"}, {b.Output, "output_tokens"}} {
		if n.v == nil {
			continue
		}
		if *n.v < 1 || *n.v > datasets.MaxTokens {
			return o.l.errorf(n.name, "found %d, expected a whole number from 1 to %d", *n.v, datasets.MaxTokens)
		}
		r.Out = *n.v
	}
	return nil
}

// prompt fills in the content: tools first, as chat templates put them.
func (o *openAI) prompt(r *Row, b *body) error {
	if o.format == Custom && b.Prompt == nil {
		return o.l.errorf("prompt", "found none, expected it in every row")
	}
	if o.format == Chat && b.Messages == nil {
		return o.l.errorf("messages", "found none, expected it in every row")
	}
	if len(b.Tools) > 0 {
		s := textSpan("tools", b.Tools)
		r.Append, r.In = append(r.Append, s), s.Tokens
	}
	var tokens int
	r.Append, tokens = spans(r.Append, b.Messages)
	r.In += tokens
	if b.Prompt != nil {
		if err := o.promptField(r, b.Prompt); err != nil {
			return err
		}
	}
	if r.In < 1 || r.In > datasets.MaxTokens {
		return o.l.errorf("row", "found a prompt of %d tokens, expected 1 to %d", r.In, datasets.MaxTokens)
	}
	return nil
}

// promptField reads a text or token ids, whose number is exact.
func (o *openAI) promptField(r *Row, raw json.RawMessage) error {
	var text string
	var ids []int64
	switch {
	case json.Unmarshal(raw, &text) == nil && text != "":
		s := textSpan("prompt", []byte(text))
		r.Append, r.In = append(r.Append, s), r.In+s.Tokens
	case json.Unmarshal(raw, &ids) == nil && len(ids) > 0:
		s := textSpan("prompt", []byte(fmt.Sprint(ids)))
		s.Tokens = len(ids)
		r.Append, r.In = append(r.Append, s), r.In+s.Tokens
	default:
		return o.l.errorf("prompt", "found %s, expected a text or an array of token ids", quote(raw))
	}
	return nil
}
