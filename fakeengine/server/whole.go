package server

import (
	"math"
	"strconv"
)

// usage is the count of tokens of one request.
type usage struct {
	prompt, output, cached int
	reasoning              int     // 0: the answer had no such part
	factor                 float64 // what a fault multiplies them with; 1: nothing
}

func (u *usage) append(dst []byte) []byte {
	dst = append(dst, `{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, u.say(u.prompt), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, u.say(u.prompt+u.output), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, u.say(u.output), 10)
	dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":`...)
	dst = strconv.AppendInt(dst, u.say(u.cached), 10)
	if u.reasoning > 0 {
		dst = append(dst, `},"completion_tokens_details":{"reasoning_tokens":`...)
		dst = strconv.AppendInt(dst, u.say(u.reasoning), 10)
	}
	return append(dst, "}}"...)
}

func (u *usage) say(n int) int64 { return int64(math.Round(float64(n) * u.factor)) }

// appendWhole appends the answer as one object, for a request that did not ask
// for a stream.
func appendWhole(dst []byte, a api, id, model []byte, created int64, choices []choice, r *request, u *usage) []byte {
	switch a {
	case responses:
		return appendResponse(dst, id, model, created, &choices[0].script, u)
	case embeddings:
		return appendEmbedding(dst, model, choices[0].key, u)
	}
	object := "text_completion"
	if a == chat {
		object = "chat.completion"
	}
	dst = appendEnvelope(dst, id, object, created, model)
	dst = append(dst, '[')
	dst = list(dst, 0, len(choices), func(dst []byte, i int) []byte {
		s := &choices[i].script
		dst = append(dst, `{"index":`...)
		dst = strconv.AppendInt(dst, int64(i), 10)
		if a == chat {
			dst = append(dst, `,"message":`...)
			dst = s.appendMessage(dst)
		} else {
			dst = append(dst, `,"text":"`...)
			dst = s.appendText(dst, 0, s.text)
			dst = append(dst, '"')
		}
		dst = append(dst, `,"logprobs":`...)
		dst = appendLogprobs(dst, a, &s.answer, 0, s.tokens, r.logprobs)
		if r.tokenIDs {
			dst = s.appendTokenIDs(dst, 0, s.tokens)
		}
		dst = append(dst, `,"finish_reason":"`...)
		dst = append(dst, s.finish()...)
		dst = append(dst, `","stop_reason":`...)
		dst = s.appendStopReason(dst)
		if a == completions {
			dst = append(dst, `,"prompt_logprobs":null`...)
		}
		return append(dst, '}')
	})
	dst = append(dst, `],"usage":`...)
	dst = u.append(dst)
	return append(dst, '}')
}

// appendMessage appends what the assistant says in a chat.
func (a *answer) appendMessage(dst []byte) []byte {
	from, to := a.shape.reasoning, a.tokens-a.shape.tool*a.shape.calls
	dst = append(dst, `{"role":"assistant","content":`...)
	if from == to {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, '"')
		dst = a.appendText(dst, from*wordLen, min(to*wordLen, a.text))
		dst = append(dst, '"')
	}
	if from > 0 {
		dst = append(dst, `,"reasoning":"`...)
		dst = a.appendWords(dst, 0, from)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"refusal":null,"tool_calls":[`...)
	dst = list(dst, 0, a.shape.calls, func(dst []byte, k int) []byte {
		first := to + k*a.shape.tool
		dst = append(dst, '{')
		dst = a.appendCall(dst, k)
		dst = a.appendArguments(dst, first, first+a.shape.tool)
		return append(dst, `"}}`...)
	})
	return append(dst, "]}"...)
}
