package wire

import "strings"

// event is Read for the responses API, whose payloads name their own type. Deltas of a
// known type take the fast path; the last event, which holds the whole answer once
// more, is decoded in full and is no fallback.
func (p *Probe) event(payload []byte, c *Chunk) {
	switch quickEvent(payload, c) {
	case eventDelta:
		return
	case eventOther:
		p.Fallbacks++
	}
	decodeEvent(payload, c)
}

// What quickEvent makes of a payload.
const (
	eventDelta = iota // c is filled
	eventLast         // decode it in full
	eventOther        // not expected: decode it in full
)

// quickEvent reads an event by its type and delta.
func quickEvent(payload []byte, c *Chunk) int {
	*c = blank
	cur := cursor{b: payload}
	if !cur.open('{') {
		return eventOther
	}
	content, typed, filled := None, false, false
	for seen, more := 0, cur.first('}'); more; more = cur.more('}') {
		bit, ok := 0, true
		switch string(cur.key()) {
		case "type":
			bit = seenA
			var name []byte
			if name, ok = cur.simple(); ok {
				typed = true
				if content = eventContent(name); content == None {
					return eventLast
				}
			}
		case "delta":
			bit = seenB
			var text []byte
			text, ok = cur.str()
			filled = len(text) > 0
		case "error":
			bit = seenC
			ok = cur.null()
		default:
			ok = cur.skip(0)
		}
		if !ok || seen&bit != 0 {
			return eventOther
		}
		seen |= bit
	}
	if !typed || !cur.end() {
		return eventOther
	}
	if c.Content = Role; filled {
		c.Content = content
	}
	return eventDelta
}

// eventContent is what the delta of an event of a type carries: Role if it has none or
// repeats others, None if the event ends the answer or tells of an error.
func eventContent(name []byte) Content {
	switch string(name) {
	case "response.output_text.delta", "response.refusal.delta":
		return Text
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		return Reasoning
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta", "response.mcp_call_arguments.delta":
		return Tool
	case "response.completed", "response.incomplete", "response.failed", "error":
		return None
	}
	return Role
}

// decodeEvent is the slow path, and the definition of what an event means.
func decodeEvent(payload []byte, c *Chunk) {
	*c = blank
	top, err := object(payload)
	if err != nil {
		c.Kind = Malformed
		c.Message = err.Error() + ": " + string(payload)
		return
	}
	name, _ := top["type"].(string)
	whole, _ := top["response"].(map[string]any)
	if msg, bad := errorMessage(top); bad {
		c.Kind, c.Message = Failed, msg
		return
	}
	switch name {
	case "error":
		c.Kind, c.Message = Failed, message(top)
	case "response.failed", "response.completed", "response.incomplete":
		decodeResponse(name, whole, c)
	default:
		c.Content = Role
		if text, ok := top["delta"].(string); ok && text != "" && strings.HasSuffix(name, ".delta") {
			c.Content = eventContent([]byte(name))
		}
	}
}

// decodeResponse reads a response that has ended as the name of its last event says.
func decodeResponse(name string, whole map[string]any, c *Chunk) {
	switch name {
	case "response.failed":
		c.Kind, c.Message = Failed, "the response failed"
		if msg, bad := errorMessage(whole); bad {
			c.Message = msg
		}
	case "response.completed":
		c.Last, c.Finish = true, "stop"
	case "response.incomplete":
		details, _ := whole["incomplete_details"].(map[string]any)
		reason, _ := details["reason"].(string)
		if reason == "" || reason == "max_output_tokens" {
			reason = "length"
		}
		c.Last, c.Finish = true, reason
	}
	if u, ok := whole["usage"].(map[string]any); ok && c.Last {
		c.Usage.Prompt, c.Usage.Completion = count(u["input_tokens"]), count(u["output_tokens"])
		details, _ := u["input_tokens_details"].(map[string]any)
		c.Usage.Cached = count(details["cached_tokens"])
		details, _ = u["output_tokens_details"].(map[string]any)
		c.Usage.Reasoning = count(details["reasoning_tokens"])
		c.Counted = c.Usage.Prompt != Unknown || c.Usage.Completion != Unknown
	}
}
