package wire

import "bytes"

// Probe reads payloads. It walks the JSON once, by structure, looks only at the
// few known paths and allocates nothing. Whatever it does not expect (a key
// twice, an escape in a known key, a value of another type, an error object, bad
// syntax, no known field) goes to a full decode, whose result is the meaning of
// a payload by definition; the two agree on everything the probe accepts.
//
// Keys are case-sensitive, and of equal keys the last one counts. A Probe is for
// one goroutine; the zero value is ready.
type Probe struct {
	// API is the one whose payloads are read; that of a completion and a chat is the
	// same.
	API API
	// Fallbacks counts the payloads that took the full decode.
	Fallbacks int

	memo memo
}

// Read fills c, overwriting all of it.
func (p *Probe) Read(payload []byte, c *Chunk) {
	if len(payload) < 16 && string(bytes.TrimSpace(payload)) == "[DONE]" {
		*c = blank
		c.Kind = Done
		return
	}
	if p.API == Responses {
		p.event(payload, c)
		return
	}
	if p.memo.holds(payload) {
		*c = p.memo.said
		return
	}
	cur := cursor{b: payload}
	if cur.chunk(c) {
		p.memo.keep(&cur, c)
		return
	}
	p.Fallbacks++
	decode(payload, c)
}

// Bits of keys already seen in one object.
const (
	seenA = 1 << iota
	seenB
	seenC
	seenD
	seenE
	seenF
)

// chunk is the fast path; false: c is unusable, decode in full.
func (cur *cursor) chunk(c *Chunk) bool {
	*c = blank
	known := false
	if !cur.open('{') {
		return false
	}
	for seen, more := 0, cur.first('}'); more; more = cur.more('}') {
		key := cur.key()
		bit, ok := 0, true
		switch string(key) {
		case "choices":
			bit, known = seenA, true
			ok = cur.choices(c)
		case "usage":
			bit, known = seenB, true
			ok = cur.usage(c)
		case "error":
			bit = seenC
			ok = cur.null()
		case "object":
			bit = seenD
			var s []byte
			s, ok = cur.simple()
			ok = ok && string(s) != "error"
		default:
			ok = cur.skip(0)
		}
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
	}
	return known && cur.end()
}

func (cur *cursor) choices(c *Chunk) bool {
	if cur.null() {
		return true
	}
	if !cur.open('[') {
		return false
	}
	for more := cur.first(']'); more; more = cur.more(']') {
		c.Content = max(c.Content, Role)
		if !cur.choice(c) {
			return false
		}
	}
	return !cur.bad
}

func (cur *cursor) choice(c *Chunk) bool {
	if !cur.open('{') {
		return false
	}
	for seen, more := 0, cur.first('}'); more; more = cur.more('}') {
		key := cur.key()
		bit, ok := 0, true
		switch string(key) {
		case "delta":
			bit = seenA
			ok = cur.delta(c)
		case "text":
			bit = seenB
			ok = cur.text(c, Text)
		case "finish_reason":
			bit = seenC
			ok = cur.finish(c)
		default:
			ok = cur.skip(0)
		}
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
	}
	return !cur.bad
}

func (cur *cursor) delta(c *Chunk) bool {
	if cur.null() {
		return true
	}
	if !cur.open('{') {
		return false
	}
	for seen, more := 0, cur.first('}'); more; more = cur.more('}') {
		key := cur.key()
		bit, ok := 0, true
		switch string(key) {
		case "content":
			bit = seenA
			ok = cur.text(c, Text)
		case "reasoning_content":
			bit = seenB
			ok = cur.text(c, Reasoning)
		case "reasoning":
			bit = seenC
			ok = cur.text(c, Reasoning)
		case "refusal":
			bit = seenD
			ok = cur.text(c, Text)
		case "tool_calls":
			bit = seenE
			ok = cur.container(c, '[', ']')
		case "function_call":
			bit = seenF
			ok = cur.container(c, '{', '}')
		default:
			ok = cur.skip(0)
		}
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
	}
	return !cur.bad
}

// text takes a string or null; a string that is not empty is content of kind k.
func (cur *cursor) text(c *Chunk, k Content) bool {
	if cur.null() {
		return true
	}
	s, ok := cur.str()
	if ok && len(s) > 0 {
		c.Content = max(c.Content, k)
		cur.texts++
		cur.to = cur.i - 1
		cur.from = cur.to - len(s)
	}
	return ok
}

// container takes an array or object, or null; one that is not empty is a Tool.
func (cur *cursor) container(c *Chunk, open, shut byte) bool {
	if cur.null() {
		return true
	}
	mark := *cur
	if !mark.open(open) {
		return false
	}
	if mark.first(shut) {
		c.Content = max(c.Content, Tool)
	}
	return cur.skip(0)
}

func (cur *cursor) finish(c *Chunk) bool {
	if cur.null() {
		return true
	}
	s, ok := cur.simple()
	if ok && c.Finish == "" {
		c.Finish = finishReason(s)
	}
	return ok
}

// finishReason is string(s), without allocation for the usual reasons.
func finishReason(s []byte) string {
	switch string(s) {
	case "":
		return ""
	case "stop":
		return "stop"
	case "length":
		return "length"
	case "tool_calls":
		return "tool_calls"
	case "function_call":
		return "function_call"
	case "content_filter":
		return "content_filter"
	case "abort":
		return "abort"
	}
	return string(s)
}

func (cur *cursor) usage(c *Chunk) bool {
	if cur.null() {
		return true
	}
	if !cur.open('{') {
		return false
	}
	for seen, more := 0, cur.first('}'); more; more = cur.more('}') {
		key := cur.key()
		bit, ok := 0, true
		switch string(key) {
		case "prompt_tokens":
			bit = seenA
			ok = cur.count(&c.Usage.Prompt)
		case "completion_tokens":
			bit = seenB
			ok = cur.count(&c.Usage.Completion)
		case "prompt_tokens_details":
			bit = seenC
			ok = cur.detail("cached_tokens", &c.Usage.Cached)
		case "completion_tokens_details":
			bit = seenD
			ok = cur.detail("reasoning_tokens", &c.Usage.Reasoning)
		default:
			ok = cur.skip(0)
		}
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
	}
	c.Counted = c.Usage.Prompt != Unknown || c.Usage.Completion != Unknown
	return !cur.bad
}

func (cur *cursor) detail(name string, dst *int) bool {
	if cur.null() {
		return true
	}
	if !cur.open('{') {
		return false
	}
	seen := false
	for more := cur.first('}'); more; more = cur.more('}') {
		ok := true
		if string(cur.key()) == name {
			ok = !seen && cur.count(dst)
			seen = true
		} else {
			ok = cur.skip(0)
		}
		if !ok {
			return false
		}
	}
	return !cur.bad
}
