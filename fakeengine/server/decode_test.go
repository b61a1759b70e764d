package server

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	testModel = "fake/llama-3"
	testLen   = 100 // of the model in decode's tests
)

func decodeTest(a api, body string) (request, *tokenizer, *apiError) {
	var t tokenizer
	t.reset(4, testLen)
	d := decoder{modelLen: testLen, ranked: true, model: func(name string) (servedModel, *apiError) {
		switch name {
		case "", testModel:
			return servedModel{}, nil
		case "lora":
			return servedModel{adapter: 1, adapterName: "lora"}, nil
		}
		return servedModel{}, unknownModel(name, testModel)
	}}
	r, err := d.decode(a, []byte(body), &t)
	return r, &t, err
}

func TestDecode(t *testing.T) {
	tests := []struct {
		name   string
		api    api
		body   string
		want   request
		prompt int // tokens
	}{
		{"string", completions, `{"prompt":"ab cd ef"}`, request{maxTokens: 16}, 3},
		{"escapes", completions, `{"prompt":"ab\ncd\u0020ef"}`, request{maxTokens: 16}, 3},
		{"array of one string", completions, `{"prompt":[ "ab cd"]}`, request{maxTokens: 16}, 2},
		{"token numbers", completions, `{"prompt": [ 1, 2 ,3]}`, request{maxTokens: 16}, 3},
		{"array of one array of token numbers", completions, `{"prompt":[[1,2]]}`, request{maxTokens: 16}, 2},
		{"max_tokens", completions, `{"model":"fake/llama-3","prompt":"a","max_tokens":7}`, request{maxTokens: 7}, 1},
		{"max_tokens fills the context", completions, `{"prompt":"a","max_tokens":99}`, request{maxTokens: 99}, 1},
		{"completions know no max_completion_tokens", completions, `{"prompt":"a","max_completion_tokens":7}`, request{maxTokens: 16}, 1},
		{
			"as the load generator asks", completions,
			`{"model":"fake/llama-3","stream":true,"stream_options":{"include_usage":true},"temperature":0,"max_tokens":12,"ignore_eos":true,"min_tokens":12,"prompt":"a b"}`,
			request{maxTokens: 12, stream: true, includeUsage: true, stop: stopRule{min: 12}},
			2,
		},
		{"no usage without a stream", completions, `{"prompt":"a","stream_options":{"include_usage":true,"continuous_usage_stats":true}}`, request{maxTokens: 16}, 1},
		{"usage all along", completions, `{"prompt":"a","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`, request{maxTokens: 16, stream: true, includeUsage: true, continuousUsage: true}, 1},
		{"numbers of the answer's tokens", completions, `{"prompt":"a","return_token_ids":true}`, request{maxTokens: 16, tokenIDs: true}, 1},
		{"a chat has none", chat, `{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"return_token_ids":true}`, request{maxTokens: 1}, 1},
		{"usage all along needs usage", completions, `{"prompt":"a","stream":true,"stream_options":{"continuous_usage_stats":true}}`, request{maxTokens: 16, stream: true}, 1},
		{"n", completions, `{"prompt":"a","n":3,"best_of":3}`, request{maxTokens: 16, choices: 3}, 1},
		{"adapter", completions, `{"model":"lora","prompt":"a"}`, request{model: servedModel{adapter: 1, adapterName: "lora"}, maxTokens: 16}, 1},
		{"logprobs of the token alone", completions, `{"prompt":"a","logprobs":0}`, request{maxTokens: 16}, 1},
		{"logprobs of a chat", chat, `{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"logprobs":true}`, request{maxTokens: 1}, 1},
		{"stop", completions, `{"prompt":"a","stop":"x","stop_token_ids":[7],"include_stop_str_in_output":true}`, request{maxTokens: 16, stop: stopRule{words: []string{"x"}, ids: []uint32{7}, include: true}}, 1},
		{"stops", completions, `{"prompt":"a","stop":["x","y"]}`, request{maxTokens: 16, stop: stopRule{words: []string{"x", "y"}}}, 1},
		{"no stops", completions, `{"prompt":"a","stop":[],"min_tokens":2}`, request{maxTokens: 16, stop: stopRule{words: []string{}, min: 2}}, 1},
		{"nulls", completions, `{"model":null,"prompt":"a","max_tokens":null,"n":null,"stream":null,"stream_options":null,"logprobs":null}`, request{maxTokens: 16}, 1},
		{"priority", completions, `{"prompt":"a","priority":-7}`, request{maxTokens: 16, priority: -7}, 1},
		{"no priority", completions, `{"prompt":"a","priority":null}`, request{maxTokens: 16}, 1},
		{"chat fills the context", chat, `{"messages":[{"role":"user","content":"a b c"}]}`, request{maxTokens: 97}, 3},
		{"chat prefers max_completion_tokens", chat, `{"messages":[{"role":"user","content":"a"}],"max_tokens":3,"max_completion_tokens":5}`, request{maxTokens: 5}, 1},
		{"chat takes max_tokens", chat, `{"messages":[{"role":"user","content":"a"}],"max_tokens":3,"logprobs":false}`, request{maxTokens: 3}, 1},
		{
			"chat of several turns", chat,
			`{"messages":[{"role":"system","content":"a b"},{"role":"user","content":[{"type":"text","text":"c"},{"type":"text","text":"d e"}]},{"role":"assistant","content":null},{"role":"tool","content":"f"}],"max_tokens":1}`,
			request{maxTokens: 1},
			6,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, k, err := decodeTest(tt.api, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			tt.want.choices = max(1, tt.want.choices)
			if !strings.Contains(tt.body, `"logprobs":0`) && !strings.Contains(tt.body, `"logprobs":true`) {
				tt.want.logprobs = noLogprobs // none of the others asks for any
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(request{}, servedModel{}, shape{}, stopRule{})); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if k.n != tt.prompt {
				t.Errorf("prompt of %d tokens, want %d", k.n, tt.prompt)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	long := strings.Repeat("a ", testLen)
	tests := []struct {
		name   string
		api    api
		body   string
		status int
		param  string
		says   []string
	}{
		{"nothing", completions, ``, 400, "", []string{"not JSON"}},
		{"bad JSON", completions, `{"prompt":`, 400, "", []string{"not JSON"}},
		{"more than JSON", completions, `{"prompt":"a"} x`, 400, "", []string{"not JSON"}},
		{"no object", completions, `[1]`, 400, "", []string{"array", "object"}},
		{"wrong type", completions, `{"prompt":"a","max_tokens":"7"}`, 400, "max_tokens", []string{"string", "whole number"}},
		{"fraction", completions, `{"prompt":"a","max_tokens":1.5}`, 400, "max_tokens", []string{"number 1.5", "whole number"}},
		{"stream is text", completions, `{"prompt":"a","stream":"yes"}`, 400, "stream", []string{"true or false"}},
		{"other model", completions, `{"model":"gpt-5","prompt":"a"}`, 404, "model", []string{"gpt-5", testModel}},
		{"no prompt", completions, `{}`, 400, "prompt", []string{"missing"}},
		{"null prompt", completions, `{"prompt":null}`, 400, "prompt", []string{"missing"}},
		{"number for a prompt", completions, `{"prompt":5}`, 400, "prompt", []string{"string"}},
		{"empty prompt", completions, `{"prompt":""}`, 400, "prompt", []string{"no tokens"}},
		{"empty array", completions, `{"prompt":[]}`, 400, "prompt", []string{"no tokens"}},
		{"blank prompt", completions, `{"prompt":" \n"}`, 400, "prompt", []string{"no tokens"}},
		{"several prompts", completions, `{"prompt":["a","b"]}`, 400, "prompt", []string{"2 prompts", "one"}},
		{"several arrays", completions, `{"prompt":[[1],[2],[3]]}`, 400, "prompt", []string{"3 prompts"}},
		{"mixed array", completions, `{"prompt":[1,"a"]}`, 400, "prompt", []string{"token numbers"}},
		{"negative token", completions, `{"prompt":[-1]}`, 400, "prompt", []string{"token numbers"}},
		{"object inside", completions, `{"prompt":[{}]}`, 400, "prompt", []string{"token numbers"}},
		{"no choices", completions, `{"prompt":"a","n":0}`, 400, "n", []string{"n is 0", "1 to 128"}},
		{"many choices", completions, `{"prompt":"a","n":129}`, 400, "n", []string{"n is 129"}},
		{"stop is a number", completions, `{"prompt":"a","stop":5}`, 400, "stop", []string{"string"}},
		{"stops are numbers", completions, `{"prompt":"a","stop":[5]}`, 400, "stop", []string{"strings"}},
		{"empty stop", completions, `{"prompt":"a","stop":["a",""]}`, 400, "stop", []string{"empty"}},
		{"logprobs true", completions, `{"prompt":"a","logprobs":true}`, 400, "logprobs", []string{"number"}},
		{"negative logprobs", completions, `{"prompt":"a","logprobs":-1}`, 400, "logprobs", []string{"-1"}},
		{"logprobs of a chat by number", chat, `{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"logprobs":5}`, 400, "logprobs", []string{"true or false"}},
		{"many top_logprobs", chat, `{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"logprobs":true,"top_logprobs":21}`, 400, "top_logprobs", []string{"21", "20"}},
		{"top_logprobs alone", chat, `{"messages":[{"role":"user","content":"a"}],"max_tokens":1,"top_logprobs":2}`, 400, "top_logprobs", []string{"logprobs"}},
		{"best_of", completions, `{"prompt":"a","best_of":3}`, 400, "best_of", []string{"3"}},
		{"echo", completions, `{"prompt":"a","echo":true}`, 400, "echo", []string{"not supported"}},
		{"many logprobs", completions, `{"prompt":"a","logprobs":21}`, 400, "logprobs", []string{"21", "20"}},
		{"zero max_tokens", completions, `{"prompt":"a","max_tokens":0}`, 400, "max_tokens", []string{"at least 1"}},
		{"min over max", completions, `{"prompt":"a","max_tokens":3,"min_tokens":4}`, 400, "min_tokens", []string{"4", "3"}},
		{"overflow", completions, `{"prompt":"a b","max_tokens":99}`, 400, "max_tokens", []string{"100", "2", "99"}},
		{"huge max_tokens", completions, `{"prompt":"a","max_tokens":9223372036854775807}`, 400, "max_tokens", []string{"9223372036854775807"}},
		{"prompt too long", completions, `{"prompt":"` + long + `"}`, 400, "prompt", []string{"100"}},
		{"default does not fit", completions, `{"prompt":"` + long[:2*90] + `"}`, 400, "max_tokens", []string{"90", "16"}},
		{"no messages", chat, `{"prompt":"a"}`, 400, "messages", []string{"missing"}},
		{"empty messages", chat, `{"messages":[]}`, 400, "messages", []string{"missing"}},
		{"messages are text", chat, `{"messages":"a"}`, 400, "messages", []string{"array"}},
		{"no role", chat, `{"messages":[{"content":"a"}]}`, 400, "messages", []string{"message 0", "role"}},
		{"content is a number", chat, `{"messages":[{"role":"user","content":1}]}`, 400, "messages", []string{"message 0"}},
		{"image", chat, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}`, 400, "messages", []string{"image_url"}},
		{"bad part", chat, `{"messages":[{"role":"user","content":["a"]}]}`, 400, "messages", []string{"message 0"}},
		{"no content", chat, `{"messages":[{"role":"user"}]}`, 400, "messages", []string{"no tokens"}},
		{"chat overflow", chat, `{"messages":[{"role":"user","content":"a"}],"max_completion_tokens":100}`, 400, "max_completion_tokens", []string{"100", "1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := decodeTest(tt.api, tt.body)
			if err == nil {
				t.Fatal("accepted")
			}
			if err.status != tt.status || err.param != tt.param {
				t.Errorf("status %d and param %q, want %d and %q", err.status, err.param, tt.status, tt.param)
			}
			for _, want := range tt.says {
				if !strings.Contains(err.message, want) {
					t.Errorf("message %q does not say %q", err.message, want)
				}
			}
		})
	}
}

// answerTo is what a client would get for a refused request.
func answerTo(t testing.TB, e *apiError) {
	t.Helper()
	w := httptest.NewRecorder()
	e.write(w)
	var got struct {
		Error *struct {
			Message, Type string
			Param         *string
			Code          int
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Error == nil {
		t.Fatalf("answer %s: %v", w.Body, err)
	}
	if got.Error.Message == "" || got.Error.Type == "" || got.Error.Code != w.Code || w.Code != e.status {
		t.Errorf("answer %s with status %d", w.Body, w.Code)
	}
}

func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		`{"prompt":"ab cd","max_tokens":4,"stream":true,"stream_options":{"include_usage":true}}`,
		`{"prompt":[1,2,3],"model":"fake/llama-3"}`,
		`{"prompt":[["a"]],"n":3}`,
		`{"prompt":"a","stop":["b","\u0000"],"stop_token_ids":[1],"logprobs":3,"best_of":2}`,
		`{"messages":[{"role":"user","content":"a"}],"logprobs":true,"top_logprobs":-1,"tools":[{}]}`,
		`{"prompt":[ ["x"], [1]]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"max_completion_tokens":5}`,
		`{"messages":[{"role":"a\u0000","content":null}],"min_tokens":-1}`,
		`{"prompt":"a","max_tokens":-9223372036854775808}`,
		`{"model":"\ud800","prompt":{}}`,
		`[`, `null`, `"`, "\xff",
	} {
		f.Add(false, []byte(body))
		f.Add(true, []byte(body))
	}
	f.Fuzz(func(t *testing.T, isChat bool, body []byte) {
		a := completions
		if isChat {
			a = chat
		}
		r, k, err := decodeTest(a, string(body))
		if err != nil {
			answerTo(t, err)
			if err.status != 400 && err.status != 404 {
				t.Errorf("status %d", err.status)
			}
			return
		}
		if k.n < 1 || r.maxTokens < 1 || k.n+r.maxTokens > testLen || len(k.names) != k.n/4 {
			t.Errorf("accepted %d tokens and %d names, asked for %d", k.n, len(k.names), r.maxTokens)
		}
	})
}
