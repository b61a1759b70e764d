package server

import "strconv"

// chunks writes the server-sent events of one answer, shaped as vLLM shapes them:
// one event for each token, the last of which carries the finish_reason; for a
// chat an event with the role before them; after them the usage if it was asked
// for, and the terminal marker. Only a token's word differs from event to event,
// so everything else is laid out once and copied.
type chunks struct {
	api  api
	head []byte // `data: {"id":...,` up to the value of choices; common to all
	// token and last are whole events with room for a word at offset word.
	token, last []byte
	word        int
}

// The event's parts around the word.
const (
	chatFront       = `[{"index":0,"delta":{"content":"`
	chatBack        = `"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	chatLastBack    = `"},"logprobs":null,"finish_reason":"length","stop_reason":null}]}` + "\n\n"
	chatRole        = `[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	completionFront = `[{"index":0,"text":"`
	completionBack  = `","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":null}` + "\n\n"
	completionLast  = `","logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":null}` + "\n\n"
	doneMarker      = "data: [DONE]\n\n"
)

// begin lays out the events of a new answer. id and model are JSON strings,
// created is in Unix seconds.
func (c *chunks) begin(a api, id, model []byte, created int64) {
	c.api = a
	c.head = append(c.head[:0], "data: "...)
	front, back, last := completionFront, completionBack, completionLast
	object := "text_completion"
	if a == chat {
		front, back, last = chatFront, chatBack, chatLastBack
		object = "chat.completion.chunk"
	}
	c.head = appendEnvelope(c.head, id, object, created, model)
	c.word = len(c.head) + len(front)
	c.token = c.lay(c.token, front, back)
	c.last = c.lay(c.last, front, last)
}

func (c *chunks) lay(dst []byte, front, back string) []byte {
	dst = append(dst[:0], c.head...)
	dst = append(dst, front...)
	dst = append(dst, "     "[:wordLen]...)
	return append(dst, back...)
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

// appendTokens appends the events of tokens from <= i < to of an answer of n
// tokens; the one with the role comes before the first.
func (c *chunks) appendTokens(dst []byte, key uint64, from, to, n int) []byte {
	if from == 0 && to > 0 && c.api == chat {
		dst = append(dst, c.head...)
		dst = append(dst, chatRole...)
	}
	for i := from; i < to; i++ {
		event := c.token
		if i == n-1 {
			event = c.last
		}
		at := len(dst) + c.word
		dst = append(dst, event...)
		putWord(dst[at:], key, i)
	}
	return dst
}

// appendEnd appends what follows the last token; u is nil if no usage was asked
// for.
func (c *chunks) appendEnd(dst []byte, u *usage) []byte {
	if u != nil {
		dst = append(dst, c.head...)
		dst = append(dst, `[],"usage":`...)
		dst = u.append(dst)
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, doneMarker...)
}

// usage is the count of tokens of one request.
type usage struct{ prompt, output, cached int }

func (u *usage) append(dst []byte) []byte {
	dst = append(dst, `{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.prompt), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.prompt+u.output), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.output), 10)
	dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.cached), 10)
	return append(dst, "}}"...)
}

// appendWhole appends the answer as one object, for a request that did not ask
// for a stream.
func appendWhole(dst []byte, a api, id, model []byte, created int64, key uint64, u *usage) []byte {
	object, front := "text_completion", `[{"index":0,"text":"`
	back := `","logprobs":null,"finish_reason":"length","stop_reason":null,"prompt_logprobs":null}],"usage":`
	if a == chat {
		object, front = "chat.completion", `[{"index":0,"message":{"role":"assistant","content":"`
		back = `","refusal":null,"tool_calls":[]},"logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":`
	}
	dst = appendEnvelope(dst, id, object, created, model)
	dst = append(dst, front...)
	for i := range u.output {
		var word [wordLen]byte
		putWord(word[:], key, i)
		dst = append(dst, word[:]...)
	}
	dst = append(dst, back...)
	dst = u.append(dst)
	return append(dst, '}')
}
