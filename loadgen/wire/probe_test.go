package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"goodput/loadgen/wire"
)

func chatChunk(i int) string {
	return fmt.Sprintf(`{"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk",`+
		`"created":1750000000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,`+
		`"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`, i)
}

func none() wire.Usage {
	return wire.Usage{Prompt: wire.Unknown, Completion: wire.Unknown, Cached: wire.Unknown, Reasoning: wire.Unknown}
}

func TestProbe(t *testing.T) {
	usage := func(p, c, cached, reasoning int) wire.Usage {
		return wire.Usage{Prompt: p, Completion: c, Cached: cached, Reasoning: reasoning}
	}
	tests := []struct {
		name, payload string
		fallbacks     int
		want          wire.Chunk
	}{
		{"done", "[DONE]", 0, wire.Chunk{Kind: wire.Done}},
		{"done with space", " [DONE] ", 0, wire.Chunk{Kind: wire.Done}},
		{"chat", chatChunk(1), 0, wire.Chunk{Content: wire.Text}},
		{"white space", " { \"choices\" : [ { \"delta\" : { \"content\" : \"a\" } , \"index\" : 0 } ] }\n", 0, wire.Chunk{Content: wire.Text}},
		{"role only", `{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}`, 0, wire.Chunk{Content: wire.Role}},
		{"null content", `{"choices":[{"delta":{"role":"assistant","content":null}}]}`, 0, wire.Chunk{Content: wire.Role}},
		{"empty delta", `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, 0, wire.Chunk{Content: wire.Role, Finish: "stop"}},
		{"null delta", `{"choices":[{"delta":null}]}`, 0, wire.Chunk{Content: wire.Role}},
		{"reasoning_content", `{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}`, 0, wire.Chunk{Content: wire.Reasoning}},
		{"reasoning", `{"choices":[{"delta":{"content":"","reasoning":"hm"}}]}`, 0, wire.Chunk{Content: wire.Reasoning}},
		{"content beats reasoning", `{"choices":[{"delta":{"content":"a","reasoning":"hm"}}]}`, 0, wire.Chunk{Content: wire.Text}},
		{"tool call", `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":""}}]}}]}`, 0, wire.Chunk{Content: wire.Tool}},
		{"no tool calls", `{"choices":[{"delta":{"tool_calls":[ ],"content":null}}]}`, 0, wire.Chunk{Content: wire.Role}},
		{"function call", `{"choices":[{"delta":{"function_call":{"name":"f"}}}]}`, 0, wire.Chunk{Content: wire.Tool}},
		{"refusal", `{"choices":[{"delta":{"refusal":"no"}}]}`, 0, wire.Chunk{Content: wire.Text}},
		{"completion", `{"choices":[{"index":0,"text":" a","finish_reason":"length"}]}`, 0, wire.Chunk{Content: wire.Text, Finish: "length"}},
		{"completion without text", `{"choices":[{"index":0,"text":"","finish_reason":null}]}`, 0, wire.Chunk{Content: wire.Role}},
		{"empty finish_reason is none", `{"choices":[{"text":"a","finish_reason":""}]}`, 0, wire.Chunk{Content: wire.Text}},
		{"unusual finish_reason", `{"choices":[{"text":"a","finish_reason":"repetition"}]}`, 0, wire.Chunk{Content: wire.Text, Finish: "repetition"}},
		{"any choice counts", `{"choices":[{"delta":{}},{"delta":{"content":"a"},"finish_reason":"stop"},{"finish_reason":"length"}]}`, 0, wire.Chunk{Content: wire.Text, Finish: "stop"}},
		{
			"usage", `{"choices":[],"usage":{"prompt_tokens":12,"total_tokens":15,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":2,"x":[]}}}`, 0,
			wire.Chunk{Counted: true, Usage: usage(12, 3, 8, 2)},
		},
		{"usage with null details", `{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":0,"prompt_tokens_details":null}}`, 0, wire.Chunk{Counted: true, Usage: usage(12, 0, -1, -1)}},
		{"null usage", `{"choices":[{"text":"a"}],"usage":null}`, 0, wire.Chunk{Content: wire.Text}},
		{"usage without totals", `{"choices":[],"usage":{}}`, 0, wire.Chunk{}},
		{"odd numbers in usage", `{"choices":[],"usage":{"prompt_tokens":1.5e1,"completion_tokens":-3}}`, 1, wire.Chunk{Counted: true, Usage: usage(15, -1, -1, -1)}},
		{"text that looks like JSON", `{"choices":[{"delta":{"content":"\"content\":\"x\",\"finish_reason\":\"stop\"}]} [DONE] {\"error\":1}"}}]}`, 0, wire.Chunk{Content: wire.Text}},
		{"known keys elsewhere", `{"x":{"choices":[{"text":"a"}],"error":{"message":"b"}},"choices":[{"x":{"content":"a"},"logprobs":{"text":"a"},"delta":{"x":{"content":"a"}}}]}`, 0, wire.Chunk{Content: wire.Role}},
		{"error object", `{"error":{"message":"out of\nmemory","code":500}}`, 1, wire.Chunk{Kind: wire.Failed, Message: "out of\nmemory"}},
		{"error beside choices", `{"choices":[{"text":"a"}],"error":{"message":"boom"}}`, 1, wire.Chunk{Kind: wire.Failed, Message: "boom"}},
		{"error text", `{"error":"boom"}`, 1, wire.Chunk{Kind: wire.Failed, Message: "boom"}},
		{"error without message", `{"error":{"code":500}}`, 1, wire.Chunk{Kind: wire.Failed, Message: `{"code":500}`}},
		{"older error object", `{"object":"error","message":"boom","code":400}`, 1, wire.Chunk{Kind: wire.Failed, Message: "boom"}},
		{"null error", `{"error":null,"choices":[{"text":"a"}]}`, 0, wire.Chunk{Content: wire.Text}},
		{"empty error", `{"error":"","choices":[{"text":"a"}]}`, 1, wire.Chunk{Content: wire.Text}},
		{"error message in content", `{"choices":[{"text":"{\"error\":{\"message\":\"boom\"}}"}]}`, 0, wire.Chunk{Content: wire.Text}},
		{"unknown object", `{"ping":1}`, 1, wire.Chunk{}},
		{"content in parts", `{"choices":[{"delta":{"content":[{"type":"text"}]}}]}`, 1, wire.Chunk{Content: wire.Text}},
		{"key in disguise", `{"choices":[{"delta":{"\u0063ontent":"a"}}]}`, 1, wire.Chunk{Content: wire.Text}},
		{"key twice, the last counts", `{"choices":[{"text":"a"}],"choices":[]}`, 1, wire.Chunk{}},
		{"case matters", `{"choices":[{"delta":{"Content":"a"}}]}`, 0, wire.Chunk{Content: wire.Role}},
		{"escaped finish_reason", `{"choices":[{"text":"","finish_reason":"st\u006fp"}]}`, 1, wire.Chunk{Content: wire.Role, Finish: "stop"}},
		{"very deep", `{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `,"choices":[{"text":"a"}]}`, 1, wire.Chunk{Content: wire.Text}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p wire.Probe
			// Read must overwrite whatever was there.
			got := wire.Chunk{Kind: wire.Failed, Content: wire.Tool, Finish: "x", Counted: true, Message: "x"}
			p.Read([]byte(tt.payload), &got)
			if !tt.want.Counted {
				tt.want.Usage = none()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("chunk (-want +got):\n%s", diff)
			}
			if p.Fallbacks != tt.fallbacks {
				t.Errorf("%d fallbacks, want %d", p.Fallbacks, tt.fallbacks)
			}
		})
	}
}

func TestProbeMalformed(t *testing.T) {
	for _, payload := range []string{
		"", "null", "1", `"a"`, "[]", "{", `{"choices":[{"text":"a"}]`, `{"choices":[{"text":"a"}]}}`,
		`{"choices":[{"text":"a",}]}`, `{"choices":[{"text":"a"},]}`, `{"choices":[{"text":"\x"}]}`,
		`{"choices":[],"n":01}`, `{"choices":[],"n":1.}`, `{"choices":[],"n":-}`, `{"choices":[],"n":1e}`,
		"{\"choices\":[{\"text\":\"a\nb\"}]}", `{"choices":[],"x":tru}`, `{"choices":[] "x":1}`, `{'choices':[]}`,
		`{"choices":[],"usage":{"prompt_tokens":07}}`, `{"choices":[{"text":"\u12g4"}]}`, "{\"choices\":[]}\x00",
	} {
		var p wire.Probe
		var c wire.Chunk
		p.Read([]byte(payload), &c)
		want := wire.Chunk{Kind: wire.Malformed, Usage: none()}
		if diff := cmp.Diff(want, c, cmpopts.IgnoreFields(wire.Chunk{}, "Message")); diff != "" || c.Message == "" {
			t.Errorf("%q: %q (-want +got):\n%s", payload, c.Message, diff)
		}
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"OpenAI", `{"error":{"message":"model not found","code":404}}`, "model not found"},
		{"detail", `{"detail":"Not Found"}`, "Not Found"},
		{"message", `{"message":"no\tway"}`, "no way"},
		{"no text", `{"detail":[1]}`, `{"detail":[1]}`},
		{"HTML", "<html>\n  <b>502</b>\r\n</html>", "<html> <b>502</b> </html>"},
		{"long", strings.Repeat("x", 1000), strings.Repeat("x", 300) + "..."},
		{"binary", "a\xff\x00b", "a? b"},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := wire.Clip(wire.ErrorText([]byte(tt.body))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
