package wire

import (
	"bytes"
	"encoding/json"
)

// Whole reads an answer that is no stream: Last if it is complete, which one of tokens
// is with a finish_reason, or the status of a response.
func Whole(api API, body []byte, c *Chunk) {
	*c = blank
	if api == Embeddings {
		embedding(body, c)
		return
	}
	top, err := object(body)
	if err != nil {
		c.Kind, c.Message = Malformed, err.Error()+": "+string(body)
		return
	}
	if msg, bad := errorMessage(top); bad {
		c.Kind, c.Message = Failed, msg
		return
	}
	if api == Responses {
		status, _ := top["status"].(string)
		decodeResponse("response."+status, top, c)
		return
	}
	choices, _ := top["choices"].([]any)
	for _, v := range choices {
		// What a stream says in deltas is one message here.
		if choice, ok := v.(map[string]any); ok {
			choice["delta"] = choice["message"]
		}
	}
	decodeObject(top, c)
	c.Last = c.Finish != ""
}

// embedding reads the answer of an embeddings request: Last if it holds a vector. It has
// no tokens, so of the usage only the prompt's count is known, and the answer's is 0.
func embedding(body []byte, c *Chunk) {
	var answer struct {
		Data  []json.RawMessage `json:"data"`
		Usage struct {
			Prompt *json.Number `json:"prompt_tokens"`
		} `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		c.Kind, c.Message = Malformed, err.Error()
		return
	}
	if text := bytes.TrimSpace(answer.Error); len(text) > 0 && string(text) != "null" {
		c.Kind, c.Message = Failed, ErrorText(body)
		return
	}
	if c.Last = len(answer.Data) > 0; c.Last {
		c.Usage.Completion, c.Counted = 0, true
	}
	if answer.Usage.Prompt != nil {
		c.Usage.Prompt, c.Counted = count(*answer.Usage.Prompt), true
	}
}
