package server

import (
	"encoding/json"
	"strconv"
)

// adapt brings the fields of the responses and embeddings APIs to where those of a
// completion are.
func (b *body) adapt(a api) *apiError {
	if a != responses && a != embeddings {
		return nil
	}
	b.Prompt, b.MaxTokens, b.MaxCompletionTokens, b.Messages, b.N = b.Input, b.MaxOutputTokens, nil, nil, nil
	if a == embeddings {
		one := 1 // the engine's last step, whose token is the vector
		b.MaxTokens, b.Stream, b.MinTokens, b.Stop = &one, false, nil, nil
		return nil
	}
	raw := b.Input
	if first(raw) == '[' && first(raw[1:]) == '{' {
		if err := json.Unmarshal(raw, &b.Messages); err != nil {
			return badRequest("input", "input cannot be read: %v", err)
		}
	}
	return nil
}

// beginResponse lays out what events that hold the whole response have in common: c.head
// is its object up to the status.
func (c *chunks) beginResponse(id, model []byte, created int64) {
	c.head = appendResponseHead(c.head[:0], id, model, created)
}

func appendResponseHead(dst, id, model []byte, created int64) []byte {
	dst = append(dst, `{"id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, created, 10)
	dst = append(dst, `,"model":`...)
	dst = append(dst, model...)
	return append(dst, `,"status":"`...)
}

const textDelta = "event: response.output_text.delta\n" +
	`data: {"type":"response.output_text.delta","item_id":"msg_0","output_index":0,"content_index":0,"delta":"`

// layDelta prepares the event of one token of text.
func (c *chunks) layDelta(s *script) {
	s.event = append(s.event[:0], textDelta...)
	s.word = len(s.event)
	s.event = append(s.event, "     "[:wordLen]...)
	s.event = append(s.event, "\"}\n\n"...)
	s.plain = s.hold == 0
}

// appendCreated appends the event that begins a response.
func (c *chunks) appendCreated(dst []byte) []byte {
	dst = append(dst, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":"...)
	dst = append(dst, c.head...)
	return append(dst, "in_progress\",\"output\":[]}}\n\n"...)
}

// appendDeltaEvent appends the tokens from to to, which are of one kind.
func (c *chunks) appendDeltaEvent(dst []byte, s *script, k kind, from, to int) []byte {
	switch k {
	case kindReasoning:
		dst = append(dst, "event: response.reasoning_text.delta\ndata: {\"type\":\"response.reasoning_text.delta\",\"item_id\":\"rs_0\",\"delta\":\""...)
		dst = s.appendWords(dst, from, to)
	case kindTool:
		dst = append(dst, "event: response.function_call_arguments.delta\ndata: {\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc_0\",\"delta\":\""...)
		dst = s.appendArguments(dst, from, to)
	default:
		dst = append(dst, textDelta...)
		dst = s.appendText(dst, s.shown(from), s.shown(to))
	}
	dst = append(dst, "\"}\n\n"...)
	if to == s.tokens {
		c.ending = s.finish()
		c.answered = s
	}
	return dst
}

// appendCompleted appends the event that ends a response; it repeats the answer.
func (c *chunks) appendCompleted(dst []byte, u *usage) []byte {
	name := "response.completed"
	if c.ending == "length" {
		name = "response.incomplete"
	}
	dst = append(dst, "event: "...)
	dst = append(dst, name...)
	dst = append(dst, "\ndata: {\"type\":\""...)
	dst = append(dst, name...)
	dst = append(dst, "\",\"response\":"...)
	dst = append(dst, c.head...)
	dst = appendResponseTail(dst, c.answered, u)
	return append(dst, "}\n\n"...)
}

// appendResponse appends the answer as one object.
func appendResponse(dst, id, model []byte, created int64, s *script, u *usage) []byte {
	return appendResponseTail(appendResponseHead(dst, id, model, created), s, u)
}

// appendResponseTail appends what follows the status of a response that is over.
func appendResponseTail(dst []byte, s *script, u *usage) []byte {
	if s.finish() == "length" {
		dst = append(dst, `incomplete","incomplete_details":{"reason":"max_output_tokens"}`...)
	} else {
		dst = append(dst, `completed","incomplete_details":null`...)
	}
	dst = append(dst, `,"error":null,"output":[{"id":"msg_0","type":"message","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"`...)
	from, to := s.shape.reasoning, s.tokens-s.shape.tool*s.shape.calls
	dst = s.appendText(dst, from*wordLen, min(to*wordLen, s.text))
	dst = append(dst, `"}]}],"usage":{"input_tokens":`...)
	dst = strconv.AppendInt(dst, u.say(u.prompt), 10)
	dst = append(dst, `,"input_tokens_details":{"cached_tokens":`...)
	dst = strconv.AppendInt(dst, u.say(u.cached), 10)
	dst = append(dst, `},"output_tokens":`...)
	dst = strconv.AppendInt(dst, u.say(u.output), 10)
	dst = append(dst, `,"output_tokens_details":{"reasoning_tokens":`...)
	dst = strconv.AppendInt(dst, u.say(u.reasoning), 10)
	dst = append(dst, `},"total_tokens":`...)
	dst = strconv.AppendInt(dst, u.say(u.prompt+u.output), 10)
	return append(dst, "}}"...)
}

// dimensions of a vector. Its numbers are made up from the answer's key.
const dimensions = 16

// appendEmbedding appends the answer to a request for a vector.
func appendEmbedding(dst, model []byte, key uint64, u *usage) []byte {
	dst = append(dst, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[`...)
	for i := range dimensions {
		if i > 0 {
			dst = append(dst, ',')
		}
		x := float64(mix(key+uint64(i))>>11)*0x1p-52 - 1 // in [-1, 1)
		dst = strconv.AppendFloat(dst, x, 'f', 6, 64)
	}
	dst = append(dst, `]}],"model":`...)
	dst = append(dst, model...)
	dst = append(dst, `,"usage":{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, u.say(u.prompt), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, u.say(u.prompt), 10)
	return append(dst, "}}"...)
}
