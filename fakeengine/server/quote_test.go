package server

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestQuotedAnswers: a turn that sends the message of an answer back finds all blocks of
// it that were computed, whatever its parts, and counts as many tokens as were made.
func TestQuotedAnswers(t *testing.T) {
	const block, out = 4, 30
	for _, shape := range []string{"", "reasoning=7", "tool=5,calls=2", "reasoning=3,tool=1", "reasoning=2,tool=9,calls=3"} {
		t.Run(shape, func(t *testing.T) {
			h := start(t, nil).Handler()
			ask := func(messages string, tokens int, header ...string) (message json.RawMessage, prompt, cached int) {
				t.Helper()
				w := post(h, "/v1/chat/completions", fmt.Sprintf(`{"messages":[%s],"max_tokens":%d}`, messages, tokens), header...)
				var answer struct {
					Choices []struct {
						Message json.RawMessage `json:"message"`
					} `json:"choices"`
					Usage struct {
						Prompt  int `json:"prompt_tokens"`
						Details struct {
							Cached int `json:"cached_tokens"`
						} `json:"prompt_tokens_details"`
					} `json:"usage"`
				}
				if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Choices) != 1 {
					t.Fatalf("%d %s: %v", w.Code, w.Body, err)
				}
				return answer.Choices[0].Message, answer.Usage.Prompt, answer.Usage.Details.Cached
			}
			question := `{"role":"system","content":"one two three four five"},{"role":"user","content":"six seven"}`
			header := []string{headerRequestID, "x"}
			if shape != "" {
				header = append(header, headerShape, shape)
			}
			said, in, _ := ask(question, out, header...)
			_, prompt, cached := ask(question+","+string(said)+`,{"role":"user","content":"eight nine"}`, 1)
			if prompt != in+out+2 {
				t.Errorf("%d tokens with the answer quoted, want %d: %s", prompt, in+out+2, said)
			}
			if want := (in + out - 1) / block * block; cached != want {
				t.Errorf("%d tokens found, want %d of %d", cached, want, prompt)
			}
			// The same text of somebody else is another prompt.
			var m map[string]any
			if err := json.Unmarshal(said, &m); err != nil {
				t.Fatal(err)
			}
			m["role"] = "user"
			other, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, cached := ask(question+","+string(other)+`,{"role":"user","content":"ten"}`, 1); cached > in/block*block {
				t.Errorf("a user's text found %d tokens of the answer's", cached)
			}
		})
	}
}
