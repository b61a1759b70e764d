package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResponsesEvents(t *testing.T) {
	usage := Usage{Prompt: 12, Completion: 3, Cached: 8, Reasoning: 1}
	tests := []struct {
		name, payload string
		want          Chunk
		fallbacks     int
	}{
		{"text", `{"type":"response.output_text.delta","item_id":"m","delta":" hi","logprobs":[]}`, Chunk{Content: Text, Usage: blank.Usage}, 0},
		{"empty text", `{"type":"response.output_text.delta","delta":""}`, Chunk{Content: Role, Usage: blank.Usage}, 0},
		{"reasoning", `{"type":"response.reasoning_text.delta","delta":"so"}`, Chunk{Content: Reasoning, Usage: blank.Usage}, 0},
		{"summary", `{"type":"response.reasoning_summary_text.delta","delta":"so"}`, Chunk{Content: Reasoning, Usage: blank.Usage}, 0},
		{"tool", `{"delta":"{","type":"response.function_call_arguments.delta"}`, Chunk{Content: Tool, Usage: blank.Usage}, 0},
		{"created", `{"type":"response.created","response":{"status":"in_progress","error":null}}`, Chunk{Content: Role, Usage: blank.Usage}, 0},
		{"text done repeats", `{"type":"response.output_text.done","text":"hi"}`, Chunk{Content: Role, Usage: blank.Usage}, 0},
		{
			"completed", `{"type":"response.completed","response":{"status":"completed","error":null,"usage":{"input_tokens":12,"input_tokens_details":{"cached_tokens":8},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":1}}}}`,
			Chunk{Finish: "stop", Last: true, Counted: true, Usage: usage},
			0,
		},
		{"incomplete", `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`, Chunk{Finish: "length", Last: true, Usage: blank.Usage}, 0},
		{"filtered", `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`, Chunk{Finish: "content_filter", Last: true, Usage: blank.Usage}, 0},
		{"failed", `{"type":"response.failed","response":{"error":{"message":"no memory"}}}`, Chunk{Kind: Failed, Message: "no memory", Usage: blank.Usage}, 0},
		{"error event", `{"type":"error","message":"too many","code":"429"}`, Chunk{Kind: Failed, Message: "too many", Usage: blank.Usage}, 0},
		{"error object", `{"error":{"message":"gone"}}`, Chunk{Kind: Failed, Message: "gone", Usage: blank.Usage}, 1},
		{"unknown shape", `{"delta":3,"type":"response.output_text.delta"}`, Chunk{Content: Role, Usage: blank.Usage}, 1},
		{"escaped delta", `{"type":"response.output_text.delta","delta":"\n"}`, Chunk{Content: Text, Usage: blank.Usage}, 0},
		{"done", `[DONE]`, Chunk{Kind: Done, Usage: blank.Usage}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := Probe{API: Responses}
			var got Chunk
			p.Read([]byte(tt.payload), &got)
			if d := cmp.Diff(tt.want, got); d != "" || p.Fallbacks != tt.fallbacks {
				t.Errorf("%d fallbacks (-want +got):\n%s", p.Fallbacks, d)
			}
		})
	}
}

// FuzzEventAgrees: what the fast path takes means the same to the full decode.
func FuzzEventAgrees(f *testing.F) {
	for _, s := range []string{
		`{"type":"response.output_text.delta","delta":" hi"}`, `{"type":"response.created"}`, `{"type":"error","message":"m"}`,
		`{"delta":"","type":"response.reasoning_text.delta","x":[{}]}`, `{"type":"response.completed","response":{"usage":{"output_tokens":1}}}`, `{`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var fast, full Chunk
		if quickEvent(payload, &fast) != eventDelta {
			return
		}
		decodeEvent(payload, &full)
		if d := cmp.Diff(full, fast); d != "" {
			t.Errorf("%q (-full +fast):\n%s", payload, d)
		}
	})
}

func TestWhole(t *testing.T) {
	tests := []struct {
		name, body string
		want       Chunk
	}{
		{"vector", `{"object":"list","data":[{"embedding":[0.5]}],"usage":{"prompt_tokens":7,"total_tokens":7}}`, Chunk{Last: true, Counted: true, Usage: Usage{7, 0, Unknown, Unknown}}},
		{"no usage", `{"data":[{"embedding":[0.5]}]}`, Chunk{Last: true, Counted: true, Usage: Usage{Unknown, 0, Unknown, Unknown}}},
		{"no vector", `{"data":[]}`, Chunk{Usage: blank.Usage}},
		{"error in a 200", `{"error":{"message":"out of memory"}}`, Chunk{Kind: Failed, Message: "out of memory", Usage: blank.Usage}},
		{"null error", `{"error":null,"data":[1]}`, Chunk{Last: true, Counted: true, Usage: Usage{Unknown, 0, Unknown, Unknown}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got Chunk
			Whole(Embeddings, []byte(tt.body), &got)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	var cut Chunk
	if Whole(Embeddings, []byte(`{"data":[`), &cut); cut.Kind != Malformed {
		t.Errorf("%+v", cut)
	}
}

func TestEventsDoNotAllocate(t *testing.T) {
	p := Probe{API: Responses}
	payload := []byte(`{"type":"response.output_text.delta","item_id":"msg_0","output_index":0,"content_index":0,"delta":" word"}`)
	var c Chunk
	if n := testing.AllocsPerRun(100, func() { p.Read(payload, &c) }); n != 0 || c.Content != Text {
		t.Errorf("%v allocations, %+v", n, c)
	}
}
