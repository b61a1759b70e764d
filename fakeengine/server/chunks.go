package server

import "strconv"

// chunks writes the server-sent events of one answer, shaped as vLLM shapes them:
// one event for the tokens of one engine step, the last of which carries the
// finish_reason; for a chat an event with the role of each choice before them;
// after them the usage if it was asked for, and the terminal marker.
type chunks struct {
	api        api
	head       []byte // `data: {"id":...,` up to the value of choices; common to all
	logprobs   int    // alternatives to a token; noLogprobs: none
	continuous bool   // usage in every event
	tokenIDs   bool   // the numbers of the tokens in every event that has some
	prompt     int    // tokens, for such usage
	// Of the responses API: how the answer ended, and which it is.
	ending   string
	answered *script
}

// script is what chunks needs of one choice. Mostly only a token's word differs
// from event to event, so everything else is laid out once and copied.
type script struct {
	answer
	index int
	event []byte // of one token of text, with room for its word
	word  int    // offset of the word in event
	plain bool   // event will do
}

const doneMarker = "data: [DONE]\n\n"

// begin lays out what the events of a new answer have in common. id and model are
// JSON strings, created is in Unix seconds.
func (c *chunks) begin(a api, id, model []byte, created int64, r *request, prompt int) {
	c.api, c.logprobs, c.continuous, c.prompt = a, r.logprobs, r.continuousUsage, prompt
	c.tokenIDs = r.tokenIDs
	object := "text_completion"
	switch a {
	case chat:
		object = "chat.completion.chunk"
	case responses:
		c.beginResponse(id, model, created)
		return
	}
	c.head = append(c.head[:0], "data: "...)
	c.head = appendEnvelope(c.head, id, object, created, model)
}

// lay prepares a choice.
func (c *chunks) lay(s *script) {
	if c.api == responses {
		c.layDelta(s)
		return
	}
	s.event = c.appendChoice(append(s.event[:0], c.head...), s)
	if c.api == chat {
		s.event = append(s.event, `"delta":{"content":"`...)
	} else {
		s.event = append(s.event, `"text":"`...)
	}
	s.word = len(s.event)
	s.event = append(s.event, "     "[:wordLen]...)
	if c.api == chat {
		s.event = append(s.event, `"},"logprobs":null,"finish_reason":null}]}`+"\n\n"...)
	} else {
		s.event = append(s.event, `","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":null}`+"\n\n"...)
	}
	s.plain = c.logprobs == noLogprobs && !c.continuous && !c.tokenIDs && s.hold == 0
}

func (c *chunks) appendChoice(dst []byte, s *script) []byte {
	dst = append(dst, `[{"index":`...)
	dst = strconv.AppendInt(dst, int64(s.index), 10)
	return append(dst, ',')
}

// appendEnvelope appends an object up to the value of its choices.
func appendEnvelope(dst, id []byte, object string, created int64, model []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"object":"`...)
	dst = append(dst, object...)
	dst = append(dst, `","created":`...)
	dst = strconv.AppendInt(dst, created, 10)
	dst = append(dst, `,"model":`...)
	dst = append(dst, model...)
	return append(dst, `,"choices":`...)
}

// appendRole appends the event that begins a choice of a chat.
func (c *chunks) appendRole(dst []byte, s *script) []byte {
	if c.api == responses {
		return c.appendCreated(dst)
	}
	dst = c.appendChoice(append(dst, c.head...), s)
	dst = append(dst, `"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	return c.appendClose(dst, 0)
}

// appendTokens appends the event of tokens from <= i < to, which were made
// together; several events if they are of several parts.
func (c *chunks) appendTokens(dst []byte, s *script, from, to int) []byte {
	for from < to {
		k, end := s.shape.part(from, s.tokens)
		end = min(end, to)
		if k == kindText && s.plain && end == from+1 && end < s.tokens {
			at := len(dst) + s.word
			dst = append(dst, s.event...)
			putWord(dst[at:], s.key, from)
		} else {
			dst = c.appendEvent(dst, s, k, from, end)
		}
		from = end
	}
	return dst
}

// appendEvent appends any event with tokens.
func (c *chunks) appendEvent(dst []byte, s *script, k kind, from, to int) []byte {
	if c.api == responses {
		return c.appendDeltaEvent(dst, s, k, from, to)
	}
	dst = c.appendChoice(append(dst, c.head...), s)
	if c.api == chat {
		dst = append(dst, `"delta":{`...)
		dst = c.appendDelta(dst, s, k, from, to)
		dst = append(dst, `},"logprobs":`...)
	} else {
		dst = append(dst, `"text":"`...)
		dst = s.appendText(dst, s.shown(from), s.shown(to))
		dst = append(dst, `","logprobs":`...)
	}
	dst = appendLogprobs(dst, c.api, &s.answer, from, to, c.logprobs)
	if c.tokenIDs {
		dst = s.appendTokenIDs(dst, from, to)
	}
	dst = append(dst, `,"finish_reason":`...)
	last := to == s.tokens
	if last {
		dst = append(dst, '"')
		dst = append(dst, s.finish()...)
		dst = append(dst, '"')
	} else {
		dst = append(dst, "null"...)
	}
	if last || c.api == completions {
		dst = append(dst, `,"stop_reason":`...)
		if last {
			dst = s.appendStopReason(dst)
		} else {
			dst = append(dst, "null"...)
		}
	}
	return c.appendClose(append(dst, "}]"...), to)
}

// appendDelta appends the fields of a chat's delta.
func (c *chunks) appendDelta(dst []byte, s *script, k kind, from, to int) []byte {
	switch k {
	case kindReasoning:
		dst = append(dst, `"reasoning":"`...)
		dst = s.appendWords(dst, from, to)
		return append(dst, '"')
	case kindTool:
		n, first := s.call(from)
		dst = append(dst, `"tool_calls":[{"index":`...)
		dst = strconv.AppendInt(dst, int64(n), 10)
		dst = append(dst, ',')
		if from == first {
			dst = s.appendCall(dst, n)
		} else {
			dst = append(dst, `"function":{"arguments":"`...)
		}
		dst = s.appendArguments(dst, from, to)
		return append(dst, `"}}]`...)
	}
	dst = append(dst, `"content":"`...)
	dst = s.appendText(dst, s.shown(from), s.shown(to))
	return append(dst, '"')
}

func appendLogprobs(dst []byte, a api, s *answer, from, to, n int) []byte {
	switch {
	case n == noLogprobs:
		return append(dst, "null"...)
	case a == chat:
		return s.appendChatLogprobs(dst, from, to, n)
	}
	return s.appendTextLogprobs(dst, from, to, n)
}

// appendClose appends what follows the choices; output is the number of the
// choice's tokens so far.
func (c *chunks) appendClose(dst []byte, output int) []byte {
	switch {
	case c.continuous:
		dst = append(dst, `,"usage":{"prompt_tokens":`...)
		dst = strconv.AppendInt(dst, int64(c.prompt), 10)
		dst = append(dst, `,"total_tokens":`...)
		dst = strconv.AppendInt(dst, int64(c.prompt+output), 10)
		dst = append(dst, `,"completion_tokens":`...)
		dst = strconv.AppendInt(dst, int64(output), 10)
		dst = append(dst, '}')
	case c.api == completions:
		dst = append(dst, `,"usage":null`...)
	}
	return append(dst, "}\n\n"...)
}

// appendEnd appends what follows the last token; u is nil if no usage was asked
// for.
func (c *chunks) appendEnd(dst []byte, u *usage) []byte {
	if c.api == responses {
		return c.appendCompleted(dst, u)
	}
	if u != nil {
		dst = append(dst, c.head...)
		dst = append(dst, `[],"usage":`...)
		dst = u.append(dst)
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, doneMarker...)
}
