package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

// countedTok is a chunk with text and the counts so far.
func countedTok(text string, n int) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q}}],"usage":{"prompt_tokens":12,"completion_tokens":%d}}`, text, n)
}

// Chunks of several tokens are counted by what the server says, never by their length.
func TestContinuousUsageCountsTheTokensOfChunks(t *testing.T) {
	p := listen(t, func(c *conn) {
		if req, _ := c.request(); req == nil {
			return
		}
		c.say(head, data(role), data(countedTok(" a", 1)), data(countedTok(" b c d", 4)), data(tok), data(countedTok(" e", 6)),
			data(countedTok(" f", 6)), data(finish), data(done), last)
	})
	rec := newRig(t, p.url()).one(t)
	var got []int
	for _, e := range rec.events {
		if e.Kind == target.Token && e.Content != target.Role {
			got = append(got, e.N)
		}
	}
	// A chunk without counts is unknown; the next one that has them counts for both.
	if d := cmp.Diff([]int{1, 3, 0, 2, 0}, got); d != "" {
		t.Error(d)
	}
}

func TestResponsesStream(t *testing.T) {
	p := listen(t, func(c *conn) {
		if req, _ := c.request(); req == nil {
			return
		}
		c.say(head, data(`{"type":"response.created","response":{}}`), data(`{"type":"response.reasoning_text.delta","delta":"hm"}`),
			data(`{"type":"response.output_text.delta","delta":" a"}`),
			data(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":12,"output_tokens":2}}}`), last)
	})
	rec := newRig(t, p.url(), func(c *Config) { c.API = wire.Responses }).one(t)
	if !sameStory(rec.story(), "role reasoning text finish:length usage:12/2/-1/-1 done") || rec.result.Cause != target.CauseEOF {
		t.Errorf("%s, %+v", rec.story(), rec.result)
	}
}

func TestEmbeddings(t *testing.T) {
	tests := []struct {
		name, kind, body string
		cause            target.Cause
		story            string
	}{
		{"vector", "application/json", `{"data":[{"embedding":[1]}],"usage":{"prompt_tokens":12}}`, target.CauseEOF, "finish: +usage:12/0/-1/-1 +done"},
		{"error in a 200", "application/json", `{"error":{"message":"no"}}`, target.CauseStreamError, ""},
		{"no vector", "application/json", `{"data":[]}`, target.CauseTruncated, ""},
		{"not JSON", "application/json", `{"data":[`, target.CauseStreamError, ""},
		{"a stream", "text/event-stream", "data: [DONE]\n\n", target.CauseStreamError, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := listen(t, func(c *conn) {
				if req, _ := c.request(); req != nil {
					c.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", tt.kind, len(tt.body), tt.body))
				}
			})
			rec := newRig(t, p.url(), func(c *Config) { c.API = wire.Embeddings }).one(t)
			if rec.story() != tt.story || rec.result.Cause != tt.cause {
				t.Errorf("%q, %+v", rec.story(), rec.result)
			}
		})
	}
}

// TestAnswersInOnePiece: without a stream an answer has counts and an end, and no token of
// it has a time.
func TestAnswersInOnePiece(t *testing.T) {
	const chat = `{"choices":[{"index":0,"message":{"role":"assistant","content":"a b"},"finish_reason":"length"}],"usage":{"prompt_tokens":12,"completion_tokens":2}}`
	tests := []struct {
		name  string
		api   wire.API
		body  string
		cause target.Cause
		story string
	}{
		{"chat", wire.Chat, chat, target.CauseEOF, "finish:length +usage:12/2/-1/-1 +done"},
		{"completion", wire.Completions, `{"choices":[{"text":"a","finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, target.CauseEOF, "finish:stop +usage:1/1/-1/-1 +done"},
		{"response", wire.Responses, `{"status":"completed","error":null,"usage":{"input_tokens":3,"output_tokens":4}}`, target.CauseEOF, "finish:stop +usage:3/4/-1/-1 +done"},
		{"response cut at its length", wire.Responses, `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":3,"output_tokens":4}}`, target.CauseEOF, "finish:length +usage:3/4/-1/-1 +done"},
		{"failed response", wire.Responses, `{"status":"failed","error":{"message":"no"}}`, target.CauseStreamError, ""},
		{"response under way", wire.Responses, `{"status":"in_progress"}`, target.CauseTruncated, ""},
		{"error in a 200", wire.Chat, `{"error":{"message":"no"}}`, target.CauseStreamError, ""},
		{"no reason", wire.Chat, `{"choices":[{"message":{"content":"a"},"finish_reason":null}]}`, target.CauseTruncated, ""},
		{"not JSON", wire.Completions, `{"choices":[`, target.CauseStreamError, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := make(chan string, 1)
			p := listen(t, func(c *conn) {
				if req, body := c.request(); req != nil {
					asked <- req.Header.Get("Accept") + " " + body
					c.say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(tt.body), tt.body))
				}
			})
			rec := newRig(t, p.url(), func(c *Config) { c.API, c.Whole = tt.api, true }).one(t)
			if rec.story() != tt.story || rec.result.Cause != tt.cause || rec.count(target.Token) != 0 {
				t.Errorf("%q, %+v", rec.story(), rec.result)
			}
			if text := <-asked; strings.Contains(text, "stream") || !strings.HasPrefix(text, "application/json {") {
				t.Errorf("asked by %s", text)
			}
		})
	}
}
