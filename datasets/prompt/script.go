package prompt

import "goodput/datasets"

// script divides a prompt into messages, and these into pieces.
type script struct {
	spans  []datasets.Span  // what is left
	quotes []datasets.Quote // among them
	pieces []piece          // of the messages that more has found
	begun  bool
	ended  bool
	// caller is the key of the answer that called tools, and calls how many, if the
	// results are what comes next. given are the calls that a server made; nil: they
	// are as planned.
	caller uint64
	calls  int
	given  []datasets.Call
}

// more finds the pieces of the next run of a role; false: there is nothing left.
func (s *script) more() bool {
	s.pieces = s.pieces[:0]
	if s.ended {
		return false
	}
	if len(s.spans) == 0 {
		if !s.begun {
			s.frame("[")
		}
		s.frame("]")
		s.ended = true
		return true
	}
	if q := said(&s.quotes, s.spans[0]); q != nil {
		s.spans = s.spans[1:]
		s.quote(q)
		return true
	}
	run, role := s.run()
	s.spans = s.spans[len(run):]
	switch role {
	case datasets.Assistant:
		s.given = nil
		s.calls = min(s.wanted(), tokensOf(run))
		s.caller = run[len(run)-1].Key
		s.answer(run)
	case datasets.Tool:
		s.results(run)
	default:
		s.open(role)
		s.frame(`,"content":"`)
		s.text(run, 0, tokensOf(run))
		s.frame(`"}`)
	}
	if role != datasets.Assistant {
		s.calls = 0
	}
	return true
}

// run is the spans of the next role. Results that no answer has called for are the
// user's. A quoted answer is no part of another one.
func (s *script) run() ([]datasets.Span, datasets.Role) {
	as := func(r datasets.Role) datasets.Role {
		if r == datasets.Tool && s.calls == 0 {
			return datasets.User
		}
		return r
	}
	role := as(s.spans[0].Role)
	n := 1
	for n < len(s.spans) && as(s.spans[n].Role) == role && datasets.Quoted(s.quotes, s.spans[n]) < 0 {
		n++
	}
	return s.spans[:n], role
}

// wanted is the number of results that what is left begins with.
func (s *script) wanted() int {
	n := 0
	for i, span := range s.spans {
		if span.Role != datasets.Tool {
			break
		}
		n += int(span.Calls)
		if i == 0 && n == 0 {
			n = 1
		}
	}
	return n
}

// Frames of messages.
const (
	functionFrame  = `","type":"function","function":{"name":"goodput","arguments":"{`
	argumentFrame  = `\"text\":\"`
	argumentsFrame = `\"`
)

// answer is an assistant's message.
func (s *script) answer(run []datasets.Span) {
	s.open(datasets.Assistant)
	n := tokensOf(run)
	each := 0
	if s.calls > 0 {
		each = n / s.calls
	}
	said := n - each*s.calls
	if said == 0 {
		s.frame(`,"content":null`)
	} else {
		s.frame(`,"content":"`)
		s.text(run, 0, said)
		s.frame(`"`)
	}
	for i := range s.calls {
		if i == 0 {
			s.frame(`,"tool_calls":[{"id":"`)
		} else {
			s.frame(`,{"id":"`)
		}
		s.frame(callID(s.caller, i))
		s.frame(functionFrame)
		if each > 1 {
			first := said + i*each + 1
			s.frame(argumentFrame)
			s.text(run, first, first+each-1)
			s.frame(argumentsFrame)
		}
		s.frame(`}"}}`)
	}
	if s.calls > 0 {
		s.frame(`]`)
	}
	s.frame(`}`)
}

// quote is an assistant's message as a server gave it. What tools return after it is for
// the calls that it has, and the user's if it has none.
func (s *script) quote(q *datasets.Quote) {
	s.calls, s.given = len(q.Calls), q.Calls
	s.open(datasets.Assistant)
	if len(q.Reasoning) > 0 {
		s.frame(`,"`)
		s.frame(q.Field)
		s.frame(`":"`)
		s.raw(q.Reasoning)
		s.frame(`"`)
	}
	if len(q.Text) == 0 && s.calls > 0 {
		s.frame(`,"content":null`)
	} else {
		s.frame(`,"content":"`)
		s.raw(q.Text)
		s.frame(`"`)
	}
	for i := range q.Calls {
		c := &q.Calls[i]
		if i == 0 {
			s.frame(`,"tool_calls":[{"id":"`)
		} else {
			s.frame(`,{"id":"`)
		}
		s.raw(c.ID)
		s.frame(`","type":"function","function":{"name":"`)
		s.raw(c.Name)
		s.frame(`","arguments":"`)
		s.raw(c.Arguments)
		s.frame(`"}}`)
	}
	if s.calls > 0 {
		s.frame(`]`)
	}
	s.frame(`}`)
}

// results are the messages of tools, one for each call. The first ones have a token more,
// if the tokens cannot be divided.
func (s *script) results(run []datasets.Span) {
	n, from := tokensOf(run), 0
	for i := range s.calls {
		s.open(datasets.Tool)
		s.frame(`,"tool_call_id":"`)
		if s.given != nil {
			s.raw(s.given[i].ID)
		} else {
			s.frame(callID(s.caller, i))
		}
		s.frame(`","content":"`)
		to := from + n/s.calls
		if i < n%s.calls {
			to++
		}
		s.text(run, from, to)
		s.frame(`"}`)
		from = to
	}
}

// open begins a message.
func (s *script) open(role datasets.Role) {
	if s.begun {
		s.frame(",")
	} else {
		s.frame("[")
	}
	s.begun = true
	s.frame(`{"role":"`)
	s.frame(role.String())
	s.frame(`"`)
}

func (s *script) frame(json string) { s.pieces = append(s.pieces, piece{frame: json}) }

func (s *script) raw(b []byte) {
	if len(b) > 0 {
		s.pieces = append(s.pieces, piece{raw: b})
	}
}

// text adds tokens from to to of a run.
func (s *script) text(run []datasets.Span, from, to int) {
	for _, span := range run {
		if first, end := max(from, 0), min(to, span.Tokens); first < end {
			s.pieces = append(s.pieces, piece{key: span.Key, from: first, tokens: end - first})
		}
		from, to = from-span.Tokens, to-span.Tokens
	}
}

func tokensOf(run []datasets.Span) int {
	n := 0
	for _, s := range run {
		n += s.Tokens
	}
	return n
}

// idBytes is the length of a call's id: the chat templates of Mistral's models accept
// nothing but nine letters and digits.
const idBytes = 9

// callID names call i of an answer, by its key.
func callID(key uint64, i int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	x := mix(key + uint64(i+1)*golden)
	var id [idBytes]byte
	for k := range id {
		id[k] = digits[x%uint64(len(digits))]
		x /= uint64(len(digits))
	}
	return string(id[:])
}
