package server

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/wire"
)

const testKey = 7

// sheet is an answer of one choice, laid out.
type sheet struct {
	chunks
	script
}

func newChunks(a api, n int) *sheet { return newSheet(a, request{logprobs: noLogprobs, maxTokens: n}) }

func newSheet(a api, r request) *sheet {
	var c sheet
	c.begin(a, []byte(`"cmpl-x"`), []byte(`"m\"odel"`), 1700000000, &r, 5)
	c.answer = newAnswer(testKey, r.maxTokens, r.shape, &r.stop)
	c.calls = r.calls
	c.lay(&c.script)
	return &c
}

// appendAll appends an event for each token, and for a chat one for the role.
func (c *sheet) appendAll(dst []byte, from, to int) []byte {
	if from == 0 && to > 0 && c.api == chat {
		dst = c.appendRole(dst, &c.script)
	}
	for i := from; i < to; i++ {
		dst = c.appendTokens(dst, &c.script, i, i+1)
	}
	return dst
}

// What vLLM's server sends for an answer of two tokens, in its order of fields.
func TestChunksGolden(t *testing.T) {
	u := &usage{prompt: 5, output: 2, cached: 4, factor: 1}
	tests := []struct {
		name string
		api  api
		want []string
	}{
		{"completions", completions, []string{
			`{"id":"cmpl-x","object":"text_completion","created":1700000000,"model":"m\"odel","choices":[{"index":0,"text":"WORD0","logprobs":null,"finish_reason":null,"stop_reason":null}],"usage":null}`,
			`{"id":"cmpl-x","object":"text_completion","created":1700000000,"model":"m\"odel","choices":[{"index":0,"text":"WORD1","logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":null}`,
			`{"id":"cmpl-x","object":"text_completion","created":1700000000,"model":"m\"odel","choices":[],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`,
			`[DONE]`,
		}},
		{"chat", chat, []string{
			`{"id":"cmpl-x","object":"chat.completion.chunk","created":1700000000,"model":"m\"odel","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`,
			`{"id":"cmpl-x","object":"chat.completion.chunk","created":1700000000,"model":"m\"odel","choices":[{"index":0,"delta":{"content":"WORD0"},"logprobs":null,"finish_reason":null}]}`,
			`{"id":"cmpl-x","object":"chat.completion.chunk","created":1700000000,"model":"m\"odel","choices":[{"index":0,"delta":{"content":"WORD1"},"logprobs":null,"finish_reason":"length","stop_reason":null}]}`,
			`{"id":"cmpl-x","object":"chat.completion.chunk","created":1700000000,"model":"m\"odel","choices":[],"usage":{"prompt_tokens":5,"total_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}`,
			`[DONE]`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newChunks(tt.api, 2)
			got := c.appendEnd(c.appendAll(nil, 0, 2), u)
			var want strings.Builder
			for _, event := range tt.want {
				for i, place := range []string{"WORD0", "WORD1"} {
					var word [wordLen]byte
					putWord(word[:], testKey, i)
					event = strings.Replace(event, place, string(word[:]), 1)
				}
				want.WriteString("data: " + event + "\n\n")
			}
			if string(got) != want.String() {
				t.Errorf("got\n%s\nwant\n%s", got, want.String())
			}
		})
	}
}

// However the tokens are split among writes, the bytes are the same, and the
// load generator reads them on its fast path.
func TestChunksSplit(t *testing.T) {
	for _, a := range []api{completions, chat} {
		const n = 6
		c := newChunks(a, n)
		whole := c.appendAll(nil, 0, n)
		for at := 0; at <= n; at++ {
			parts := c.appendAll(c.appendAll(nil, 0, at), at, n)
			if !bytes.Equal(whole, parts) {
				t.Errorf("%v: split at %d gives\n%s", a, at, parts)
			}
		}
		readBack(t, a, c.appendEnd(whole, &usage{prompt: 3, output: n, factor: 1}), n)
	}
}

func readBack(t *testing.T, a api, stream []byte, n int) {
	t.Helper()
	s := wire.NewScanner(0)
	s.Reset(bytes.NewReader(stream))
	var p wire.Probe
	var c wire.Chunk
	count := map[wire.Content]int{}
	finish, done := "", false
	for !done {
		if _, err := s.Fill(); err != nil {
			t.Fatal(err)
		}
		for s.Next() {
			p.Read(s.Data(), &c)
			switch c.Kind {
			case wire.Done:
				done = true
			case wire.Delta:
				if json.Valid(s.Data()) {
					count[c.Content]++
				}
				if c.Finish != "" {
					finish += c.Finish
				}
			default:
				t.Fatalf("%v: %s", a, s.Data())
			}
		}
	}
	wantRole := 0
	if a == chat {
		wantRole = 1
	}
	if count[wire.Text] != n || count[wire.Role] != wantRole || count[wire.None] != 1 || finish != "length" {
		t.Errorf("%v: events by content %v, finish %q", a, count, finish)
	}
	if p.Fallbacks != 0 {
		t.Errorf("%v: %d events are off the fast path", a, p.Fallbacks)
	}
}

func TestChunksAllocateNothing(t *testing.T) {
	plain := request{logprobs: noLogprobs, maxTokens: 1 << 30}
	rich := request{logprobs: 5, continuousUsage: true, maxTokens: 1 << 30}
	parts := request{logprobs: noLogprobs, maxTokens: 1 << 30, shape: shape{reasoning: 500, tool: 1<<30 - 1000, calls: 1}, calls: []string{`"f"`}}
	for _, a := range []api{completions, chat} {
		for _, r := range []request{plain, rich, parts} {
			if a == completions && r.shape != (shape{}) {
				continue
			}
			c := newSheet(a, r)
			buf := make([]byte, 0, 1<<16)
			i := 0
			if n := testing.AllocsPerRun(1000, func() {
				buf = c.appendTokens(buf[:0], &c.script, i, i+2)
				i++
			}); n != 0 {
				t.Errorf("%v %+v: %v allocations per token", a, r, n)
			}
		}
	}
}

// The numbers of an answer's tokens are those that a prompt of its text has.
func TestTokenIDsOfAnAnswer(t *testing.T) {
	r := request{logprobs: noLogprobs, maxTokens: 3, tokenIDs: true}
	c := newSheet(completions, r)
	type answer struct {
		Choices []struct {
			Text string
			IDs  []uint32 `json:"token_ids"`
		}
	}
	var text string
	var ids []uint32
	for i := range r.maxTokens {
		raw := strings.TrimPrefix(string(c.appendTokens(nil, &c.script, i, i+1)), "data: ")
		var a answer
		if err := json.Unmarshal([]byte(raw), &a); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		text += a.Choices[0].Text
		ids = append(ids, a.Choices[0].IDs...)
	}
	var whole answer
	raw := appendWhole(nil, completions, []byte(`"i"`), []byte(`"m"`), 1, []choice{{script: c.script}}, &r, &usage{factor: 1})
	if err := json.Unmarshal(raw, &whole); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	k := tokenizer{keep: true}
	k.text(text)
	for _, got := range [][]uint32{ids, whole.Choices[0].IDs} {
		if diff := cmp.Diff(k.kept, got); diff != "" {
			t.Errorf("numbers of %q (-want +got):\n%s", text, diff)
		}
	}
}

func TestWholeAnswer(t *testing.T) {
	for _, a := range []api{completions, chat} {
		c := choice{script: newChunks(a, 3).script}
		raw := appendWhole(nil, a, []byte(`"i"`), []byte(`"m"`), 1, []choice{c}, &request{logprobs: noLogprobs}, &usage{prompt: 5, output: 3, cached: 4, factor: 1})
		var got struct {
			ID, Object, Model string
			Choices           []struct {
				Text         string
				Message      struct{ Role, Content string }
				FinishReason string `json:"finish_reason"`
			}
			Usage struct {
				Prompt     int `json:"prompt_tokens"`
				Completion int `json:"completion_tokens"`
				Total      int `json:"total_tokens"`
				Details    struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			}
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%v: %v in %s", a, err, raw)
		}
		text := got.Choices[0].Text + got.Choices[0].Message.Content
		if n := tokenize(1, text).n; n != 3 {
			t.Errorf("%v: text %q of %d tokens", a, text, n)
		}
		u := got.Usage
		if u.Prompt != 5 || u.Completion != 3 || u.Total != 8 || u.Details.Cached != 4 || got.Choices[0].FinishReason != "length" {
			t.Errorf("%v: %s", a, raw)
		}
	}
}

func BenchmarkChunks(b *testing.B) {
	for _, a := range []api{completions, chat} {
		b.Run(a.String(), func(b *testing.B) {
			c := newChunks(a, 1<<40)
			var buf []byte
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				buf = c.appendTokens(buf[:0], &c.script, i, i+1)
				i++
			}
		})
	}
}
