package server

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"pgregory.net/rapid"

	"goodput/fakeengine/engine"
	"goodput/loadgen/wire"
)

func userSays(text string) []openai.ChatCompletionMessageParamUnion {
	return []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}
}

// accumulate reads a stream to its end.
func accumulate(t *testing.T, client *openai.Client, p openai.ChatCompletionNewParams, opts ...option.RequestOption) openai.ChatCompletionAccumulator {
	t.Helper()
	var sum openai.ChatCompletionAccumulator
	stream := client.Chat.Completions.NewStreaming(t.Context(), p, opts...)
	for stream.Next() {
		if c := stream.Current(); !sum.AddChunk(c) {
			t.Errorf("chunk does not fit: %s", c.RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestSeveralChoices(t *testing.T) {
	g := start(t, nil)
	client := openaiClient(t, g)
	p := openai.ChatCompletionNewParams{Model: testModel, Messages: userSays("a b c d e f g h i"), N: openai.Int(3), MaxCompletionTokens: openai.Int(6)}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	id := option.WithHeader(headerRequestID, "x")
	whole, err := client.Chat.Completions.New(t.Context(), p, id)
	if err != nil {
		t.Fatal(err)
	}
	sum := accumulate(t, &client, p, id)
	if len(whole.Choices) != 3 || len(sum.Choices) != 3 {
		t.Fatalf("%d choices, %d in the stream", len(whole.Choices), len(sum.Choices))
	}
	seen := map[string]bool{}
	for i, c := range whole.Choices {
		if s := sum.Choices[i]; c.Index != int64(i) || s.Message.Content != c.Message.Content || c.FinishReason != "length" || s.FinishReason != "length" {
			t.Errorf("choice %d: %s, streamed %q", i, c.RawJSON(), s.Message.Content)
		}
		seen[c.Message.Content] = true
	}
	if len(seen) != 3 {
		t.Errorf("only %d different answers", len(seen))
	}
	// The prompt counts once. The first choice of the first request found nothing in
	// the cache, that of the second what is whole of it.
	for cached, u := range map[int64]openai.CompletionUsage{0: whole.Usage, 8: sum.Usage} {
		if u.PromptTokens != 9 || u.CompletionTokens != 18 || u.TotalTokens != 27 || u.PromptTokensDetails.CachedTokens != cached {
			t.Errorf("usage %+v, want %d cached", u, cached)
		}
	}
	if err := g.Close(t.Context()); err != nil { // every line is there
		t.Fatal(err)
	}
	facts := g.truth.facts(t)
	if len(facts) != 6 {
		t.Fatalf("%d lines of truth", len(facts))
	}
	for i, f := range facts {
		if *f.Choice != i%3 || *f.Output != 6 || f.Sent != 6 || f.RequestID != "x" {
			t.Errorf("truth %+v", f)
		}
	}
}

func TestStopOnTheWire(t *testing.T) {
	client := openaiClient(t, start(t, nil))
	p := openai.CompletionNewParams{Model: testModel, Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("a")}, MaxTokens: openai.Int(50)}
	id := option.WithHeader(headerRequestID, "x")
	ask := func() *openai.Completion {
		t.Helper()
		c, err := client.Completions.New(t.Context(), p, id)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	all := ask().Choices[0].Text
	word := strings.Fields(all)[10]
	p.Stop.OfString = openai.String(word[1:] + " ") // ends in the next word
	got := ask()
	want, _, _ := strings.Cut(all, word[1:]+" ")
	if c := got.Choices[0]; c.Text != want || c.FinishReason != "stop" || got.Usage.CompletionTokens != 12 {
		t.Errorf("stopped as %s, want the text %q", got.RawJSON(), want)
	}
	stream := client.Completions.NewStreaming(t.Context(), p, id)
	var text strings.Builder
	for stream.Next() {
		for _, c := range stream.Current().Choices {
			text.WriteString(c.Text)
		}
	}
	if stream.Err() != nil || text.String() != want {
		t.Errorf("streamed %q, want %q: %v", text.String(), want, stream.Err())
	}
}

// The naive reading of vLLM's rule: after each token, look at all of the text.
func TestStopRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Uint64().Draw(t, "key")
		const limit = 12
		full := newAnswer(key, limit, shape{}, &stopRule{})
		text := string(full.appendWords(nil, 0, limit))
		r := stopRule{min: rapid.IntRange(0, limit).Draw(t, "min"), include: rapid.Bool().Draw(t, "include")}
		for range rapid.IntRange(0, 3).Draw(t, "words") {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			n := rapid.IntRange(1, 12).Draw(t, "length")
			r.words = append(r.words, text[at:min(at+n, len(text))])
		}
		tokens, end, stopped := limit, len(text), false
	search:
		for i := r.min; i < limit; i++ {
			for _, s := range r.words {
				from := max(0, i*wordLen-len(s)+1)
				if at := strings.Index(text[from:(i+1)*wordLen], s); at >= 0 {
					tokens, end, stopped = i+1, from+at, true
					if r.include {
						end += len(s)
					}
					break search
				}
			}
		}
		a := newAnswer(key, limit, shape{}, &r)
		if a.tokens != tokens || a.text != end || (a.stopAt() != 0) != stopped || (a.finish() == "stop") != stopped {
			t.Fatalf("%q with %q: %d tokens and %d bytes, want %d and %d", text, r.words, a.tokens, a.text, tokens, end)
		}
		// What was shown is never taken back, and adds up.
		last := 0
		for n := range a.tokens + 1 {
			if s := a.shown(n); s < last || s > a.text {
				t.Fatalf("%d bytes shown after %d", s, last)
			} else {
				last = s
			}
		}
		if last != a.text {
			t.Fatalf("%d bytes shown of %d", last, a.text)
		}
	})
}

func TestStopTokens(t *testing.T) {
	full := newAnswer(testKey, 20, shape{}, &stopRule{})
	var word [wordLen]byte
	putWord(word[:], testKey, 7)
	for _, tt := range []struct {
		rule         stopRule
		tokens, text int
	}{
		{stopRule{ids: []uint32{1, wordID(&word)}}, 8, 7 * wordLen},
		{stopRule{ids: []uint32{wordID(&word)}, include: true}, 8, 8 * wordLen},
		{stopRule{ids: []uint32{wordID(&word)}, min: 8}, 20, 20 * wordLen},
	} {
		a := newAnswer(testKey, 20, shape{}, &tt.rule)
		if a.tokens != tt.tokens || a.text != tt.text {
			t.Errorf("%+v: %d tokens and %d bytes", tt.rule, a.tokens, a.text)
		}
	}
	// Numbers are those that the tokenizer gives to the text.
	k := tokenizer{keep: true}
	k.text(string(full.appendWords(nil, 0, 20)))
	if k.kept[7] != wordID(&word) {
		t.Errorf("the tokenizer calls token 7 %d, the answer %d", k.kept[7], wordID(&word))
	}
}

func TestLogprobs(t *testing.T) {
	client := openaiClient(t, start(t, nil))
	p := openai.ChatCompletionNewParams{Model: testModel, Messages: userSays("a"), Logprobs: openai.Bool(true), TopLogprobs: openai.Int(20), MaxCompletionTokens: openai.Int(5)}
	id := option.WithHeader(headerRequestID, "x")
	whole, err := client.Chat.Completions.New(t.Context(), p, id)
	if err != nil {
		t.Fatal(err)
	}
	sum := accumulate(t, &client, p, id)
	for _, c := range []openai.ChatCompletionChoice{whole.Choices[0], sum.Choices[0]} {
		text := ""
		for _, l := range c.Logprobs.Content {
			text += l.Token
			distinct := map[string]bool{}
			for _, top := range l.TopLogprobs {
				distinct[top.Token] = true
			}
			if len(distinct) != 20 || !distinct[l.Token] || math.Abs(l.Logprob+16*math.Ln2) > 1e-12 || len(l.Bytes) != wordLen || string(rune(l.Bytes[1])) != l.Token[1:2] {
				t.Errorf("logprobs %s", l.RawJSON())
			}
		}
		if text != c.Message.Content || len(c.Logprobs.Content) != 5 {
			t.Errorf("tokens of %q are %q", c.Message.Content, text)
		}
	}

	q := openai.CompletionNewParams{Model: testModel, Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("a")}, Logprobs: openai.Int(2), MaxTokens: openai.Int(4)}
	stream := client.Completions.NewStreaming(t.Context(), q, id)
	text, offsets := "", []int64{}
	for stream.Next() {
		for _, c := range stream.Current().Choices {
			l := c.Logprobs
			if len(l.Tokens) != 1 || l.Tokens[0] != c.Text || len(l.TopLogprobs) != 1 || len(l.TopLogprobs[0]) != 2 || len(l.TokenLogprobs) != 1 {
				t.Errorf("logprobs %s", l.RawJSON())
			}
			text += c.Text
			offsets = append(offsets, l.TextOffset...)
		}
	}
	if fmt.Sprint(offsets) != "[0 5 10 15]" || stream.Err() != nil {
		t.Errorf("offsets %v, %v", offsets, stream.Err())
	}
}

func TestShape(t *testing.T) {
	client := openaiClient(t, start(t, nil))
	p := openai.ChatCompletionNewParams{
		Model: testModel, Messages: userSays("a"), MaxCompletionTokens: openai.Int(20),
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "look", Description: param.NewOpt("x")})},
	}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	for _, tt := range []struct {
		shape                   string
		reasoning, text, calls  int
		words                   int // in each call's arguments
		finish                  string
		wantReasoning, wantText bool
	}{
		{"reasoning=7", 7, 13, 0, 0, "length", true, true},
		{"reasoning=4,tool=5,calls=2", 4, 6, 2, 4, "tool_calls", true, true},
		{"tool=1", 0, 19, 1, 0, "tool_calls", false, true},
		{"tool=2,calls=10", 0, 0, 10, 1, "tool_calls", false, false},
	} {
		t.Run(tt.shape, func(t *testing.T) {
			opts := []option.RequestOption{option.WithHeader(headerRequestID, "x"), option.WithHeader(headerShape, tt.shape)}
			whole, err := client.Chat.Completions.New(t.Context(), p, opts...)
			if err != nil {
				t.Fatal(err)
			}
			sum := accumulate(t, &client, p, opts...)
			for _, c := range []openai.ChatCompletionChoice{whole.Choices[0], sum.Choices[0]} {
				if n := len(strings.Fields(c.Message.Content)); n != tt.text || c.FinishReason != tt.finish || len(c.Message.ToolCalls) != tt.calls {
					t.Errorf("%d tokens of text and %d calls: %s", n, len(c.Message.ToolCalls), c.RawJSON())
				}
				for i, call := range c.Message.ToolCalls {
					var args struct{ Text string }
					if err := json.Unmarshal([]byte(call.Function.Arguments), &args); err != nil || len(strings.Fields(args.Text)) != tt.words {
						t.Errorf("arguments %q: %v", call.Function.Arguments, err)
					}
					if call.Function.Name != "look" || call.ID != whole.Choices[0].Message.ToolCalls[i].ID {
						t.Errorf("call %+v", call)
					}
				}
			}
			var message struct{ Reasoning string }
			if err := json.Unmarshal([]byte(whole.Choices[0].Message.RawJSON()), &message); err != nil || len(strings.Fields(message.Reasoning)) != tt.reasoning {
				t.Errorf("reasoning %q: %v", message.Reasoning, err)
			}
			if u := sum.Usage; u.CompletionTokens != 20 || u.CompletionTokensDetails.ReasoningTokens != int64(tt.reasoning) {
				t.Errorf("usage %+v", u)
			}
		})
	}
}

// The load generator sees the parts for what they are, an event per token.
func TestShapeAsTheGeneratorReadsIt(t *testing.T) {
	c := newSheet(chat, request{logprobs: noLogprobs, maxTokens: 12, shape: shape{reasoning: 3, tool: 2, calls: 2}, calls: []string{`"f"`}})
	count := map[wire.Content]int{}
	var p wire.Probe
	var got wire.Chunk
	for _, event := range events(t, string(c.appendAll(nil, 0, 12))) {
		p.Read([]byte(event), &got)
		if !json.Valid([]byte(event)) || got.Kind != wire.Delta {
			t.Errorf("event %s", event)
		}
		count[got.Content]++
	}
	if count[wire.Role] != 1 || count[wire.Reasoning] != 3 || count[wire.Text] != 5 || count[wire.Tool] != 4 || got.Finish != "tool_calls" {
		t.Errorf("events by content %v, finish %q", count, got.Finish)
	}
}

// Tokens of one step are one event, split only where the parts meet.
func TestBurstIsOneEvent(t *testing.T) {
	for _, a := range []api{completions, chat} {
		c := newChunks(a, 7)
		var one, text strings.Builder
		for _, event := range events(t, string(c.appendTokens(c.appendTokens(nil, &c.script, 0, 3), &c.script, 3, 7))) {
			var got struct {
				Choices []struct {
					Text  string
					Delta struct{ Content string }
				}
			}
			if err := json.Unmarshal([]byte(event), &got); err != nil {
				t.Fatal(err)
			}
			text.WriteString(got.Choices[0].Text + got.Choices[0].Delta.Content)
			fmt.Fprint(&one, strings.Count(event, " "), " ")
		}
		if one.String() != "3 4 " || text.String() != string(c.appendWords(nil, 0, 7)) {
			t.Errorf("%v: events of %s tokens: %q", a, one.String(), text.String())
		}
	}
	c := newSheet(chat, request{logprobs: noLogprobs, maxTokens: 8, shape: shape{reasoning: 2, tool: 2, calls: 2}, calls: []string{`"f"`}})
	if n := len(events(t, string(c.appendTokens(nil, &c.script, 0, 8)))); n != 4 {
		t.Errorf("%d events of one step with 4 parts", n)
	}
}

func TestShapeRefused(t *testing.T) {
	h := start(t, nil).Handler()
	const body = `{"messages":[{"role":"user","content":"a"}],"max_tokens":8}`
	for shape, says := range map[string]string{
		"reason=3": `no part \"reason\"`, "reasoning": "whole number", "reasoning=0": "whole number", "tool=-1": "whole number", "tool=1,tool=1": "once",
		"calls=2": "tool", "tool=1,calls=129": "128", "reasoning=9": "9 tokens", "tool=3,calls=3": "9 tokens", "reasoning=99999999999999999999": "whole number",
	} {
		if w := post(h, "/v1/chat/completions", body, headerShape, shape); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s: %d %s", shape, w.Code, w.Body)
		}
	}
	if w := post(h, "/v1/completions", `{"prompt":"a"}`, headerShape, "reasoning=1"); w.Code != http.StatusBadRequest {
		t.Errorf("a completion: %d", w.Code)
	}
	if w := post(h, "/v1/chat/completions", strings.Replace(body, `{`, `{"stop":"x",`, 1), headerShape, "reasoning=1"); w.Code != http.StatusBadRequest {
		t.Errorf("with a stop: %d", w.Code)
	}
}

func FuzzShape(f *testing.F) {
	for _, s := range []string{"reasoning=32,tool=16,calls=2", "tool=1", " reasoning=1 ", "=", ",", "tool=1=1"} {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		got, err := parseShape(s)
		if err != nil {
			answerTo(t, err)
			return
		}
		if n < got.least() || n > 1<<16 {
			return
		}
		// The parts follow each other without a gap.
		for i := 0; i < n; {
			_, end := got.part(i, n)
			if end <= i || end > n {
				t.Fatalf("part from %d to %d of %d in %q", i, end, n, s)
			}
			i = end
		}
	})
}

func TestContinuousUsage(t *testing.T) {
	h := start(t, nil).Handler()
	for path, prompt := range map[string]string{"/v1/completions": `"prompt":"a b"`, "/v1/chat/completions": `"messages":[{"role":"user","content":"a b"}]`} {
		w := post(h, path, `{`+prompt+`,"max_tokens":4,"n":2,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`)
		seen := map[int]int{}
		all := events(t, w.Body.String())
		for _, event := range all[:len(all)-2] {
			var got struct {
				Choices []struct{ Index int }
				Usage   answerUsage
			}
			if err := json.Unmarshal([]byte(event), &got); err != nil {
				t.Fatal(err)
			}
			i := got.Choices[0].Index
			if !strings.Contains(event, `"role"`) {
				seen[i]++
			}
			if got.Usage.Prompt != 2 || got.Usage.Completion != seen[i] || got.Usage.Total != 2+seen[i] {
				t.Errorf("%s: event %s", path, event)
			}
		}
		if seen[0] != 4 || seen[1] != 4 || !strings.Contains(all[len(all)-2], `"completion_tokens":8`) {
			t.Errorf("%s: %v events, then %s", path, seen, all[len(all)-2])
		}
	}
}

// A smaller priority is served first, and refused where there is no such thing.
func TestPriority(t *testing.T) {
	g := start(t, func(c *Config) {
		c.Engine.MaxNumSeqs, c.Engine.Policy, c.Step = 1, engine.Priority, evenSteps(time.Millisecond)
	})
	h := g.Handler()
	var all sync.WaitGroup
	ask := func(id string, priority, waiting int) {
		all.Go(func() {
			body := fmt.Sprintf(`{"prompt":"a","max_tokens":100,"priority":%d}`, priority)
			if w := post(h, "/v1/completions", body, headerRequestID, id); w.Code != http.StatusOK {
				t.Errorf("%s: status %d", id, w.Code)
			}
		})
		for s := g.state(0); s.Waiting != waiting; s = g.state(0) {
		}
	}
	ask("running", 0, 0)
	for s := g.state(0); s.Running < 1; s = g.state(0) {
	}
	ask("second", 2, 1)
	ask("first", -1, 2)
	all.Wait()
	var order []string
	for _, f := range g.truth.facts(t) {
		order = append(order, f.RequestID)
	}
	if diff := cmp.Diff([]string{"running", "first", "second"}, order); diff != "" {
		t.Errorf("order of ends (-want +got):\n%s", diff)
	}

	h = start(t, nil).Handler()
	for body, want := range map[string]int{
		`{"prompt":"a","priority":0}`: http.StatusOK,
		`{"prompt":"a","priority":1}`: http.StatusBadRequest,
	} {
		if w := post(h, "/v1/completions", body); w.Code != want {
			t.Errorf("%s: status %d, want %d: %s", body, w.Code, want, w.Body)
		}
	}
}

func TestQueueCap(t *testing.T) {
	g := start(t, func(c *Config) {
		c.Engine.MaxNumSeqs, c.MaxQueue, c.Step = 1, 2, evenSteps(time.Millisecond)
	})
	h := g.Handler()
	var all sync.WaitGroup
	for range 3 { // one runs, two wait
		all.Go(func() { post(h, "/v1/completions", `{"prompt":"a","max_tokens":300}`) })
	}
	for s := g.state(0); s.Running+s.Waiting+s.Arriving < 3; s = g.state(0) {
	}
	w := post(h, "/v1/completions", `{"prompt":"a"}`, headerRequestID, "late")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" || w.Header().Get(headerReplica) != "0" {
		t.Errorf("status %d, headers %v", w.Code, w.Header())
	}
	all.Wait()
	if w := post(h, "/v1/completions", `{"prompt":"a"}`); w.Code != http.StatusOK {
		t.Errorf("status %d when the queue is empty again", w.Code)
	}
	if f := g.truth.facts(t)[0]; f.RequestID != "late" || *f.Status != 429 || f.Finish != nil {
		t.Errorf("truth %+v", f)
	}
}
