package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// These tests go over sockets, with clients that others wrote.

func listen(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnContext = ConnContext
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func openaiClient(t *testing.T, g *rig) openai.Client {
	t.Helper()
	s := listen(t, g.Handler())
	return openai.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
}

func TestOpenAIChat(t *testing.T) {
	g := start(t, nil)
	client := openaiClient(t, g)
	params := openai.ChatCompletionNewParams{
		Model:               testModel,
		Messages:            []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("a b c d"), openai.UserMessage("e f")},
		MaxCompletionTokens: openai.Int(7),
	}
	whole, err := client.Chat.Completions.New(t.Context(), params, option.WithHeader(headerRequestID, "one"))
	if err != nil {
		t.Fatal(err)
	}
	choice := whole.Choices[0]
	if whole.ID != "chatcmpl-one" || choice.FinishReason != "length" || choice.Message.Role != "assistant" {
		t.Errorf("answer %s", whole.RawJSON())
	}
	if u := whole.Usage; u.PromptTokens != 6 || u.CompletionTokens != 7 || u.TotalTokens != 13 || u.PromptTokensDetails.CachedTokens != 0 {
		t.Errorf("usage %s", u.RawJSON())
	}

	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), params, option.WithHeader(headerRequestID, "one"))
	var sum openai.ChatCompletionAccumulator
	chunks := 0
	for stream.Next() {
		chunks++
		if c := stream.Current(); !sum.AddChunk(c) {
			t.Errorf("chunk does not fit: %s", c.RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if chunks != 1+7+1 { // role, tokens, usage
		t.Errorf("%d chunks", chunks)
	}
	if got := sum.Choices[0]; got.Message.Content != choice.Message.Content || got.FinishReason != "length" {
		t.Errorf("the stream says %q, the whole answer %q", got.Message.Content, choice.Message.Content)
	}
	if u := sum.Usage; u.PromptTokens != 6 || u.CompletionTokens != 7 || u.PromptTokensDetails.CachedTokens != 4 {
		t.Errorf("usage %+v", u)
	}
}

func TestOpenAICompletions(t *testing.T) {
	client := openaiClient(t, start(t, nil))
	params := openai.CompletionNewParams{
		Model:  testModel,
		Prompt: openai.CompletionNewParamsPromptUnion{OfArrayOfTokens: []int64{1, 2, 3}},
	}
	whole, err := client.Completions.New(t.Context(), params, option.WithHeader(headerRequestID, "x"))
	if err != nil {
		t.Fatal(err)
	}
	if u := whole.Usage; u.PromptTokens != 3 || u.CompletionTokens != 16 || whole.Choices[0].FinishReason != "length" {
		t.Errorf("answer %s", whole.RawJSON())
	}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Completions.NewStreaming(t.Context(), params, option.WithHeader(headerRequestID, "x"))
	var text strings.Builder
	var usage openai.CompletionUsage
	for stream.Next() {
		c := stream.Current()
		for _, choice := range c.Choices {
			text.WriteString(choice.Text)
		}
		usage = c.Usage
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if text.String() != whole.Choices[0].Text || usage.CompletionTokens != 16 {
		t.Errorf("the stream says %q with %+v, the whole answer %q", text.String(), usage, whole.Choices[0].Text)
	}
}

func TestOpenAIErrors(t *testing.T) {
	client := openaiClient(t, start(t, nil))
	_, err := client.Completions.New(t.Context(), openai.CompletionNewParams{
		Model:  "other",
		Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("a")},
	})
	var api *openai.Error
	if !errors.As(err, &api) || api.StatusCode != http.StatusNotFound || !strings.Contains(api.Message, testModel) {
		t.Errorf("other model: %v", err)
	}
	_, err = client.Completions.New(t.Context(), openai.CompletionNewParams{
		Model:     testModel,
		Prompt:    openai.CompletionNewParamsPromptUnion{OfString: openai.String("a")},
		MaxTokens: openai.Int(5000),
	})
	if !errors.As(err, &api) || api.StatusCode != http.StatusBadRequest || !strings.Contains(api.Message, "1024") || !strings.Contains(api.Message, "5000") {
		t.Errorf("context overflow: %v", err)
	}
	page, err := client.Models.List(t.Context())
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != testModel {
		t.Errorf("models: %v, %v", page, err)
	}
}

// The status is there before the first token, and every token is a chunk on the
// wire of its own while the client keeps up.
func TestStreamOnTheWire(t *testing.T) {
	g := start(t, func(c *Config) { c.Step = evenSteps(20 * time.Millisecond) })
	s := listen(t, g.Handler())
	resp := send(t.Context(), t, s.URL, `{"prompt":"a","max_tokens":5,"stream":true}`)
	defer resp.Body.Close()
	if got := g.state(0).GenerationTokens; got != 0 {
		t.Skipf("the machine is too busy: %d tokens were made before the status was seen", got)
	}
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", ct)
	}
	if resp.Header.Get(headerReplica) != "0" || resp.Header.Get(headerRequestID) == "" {
		t.Errorf("headers %v", resp.Header)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := events(t, string(body)); len(got) != 6 || got[5] != "[DONE]" {
		t.Errorf("events %q", got)
	}
}

func asking(ctx context.Context, t testing.TB, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(headerTraceparent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	return r
}

// send sends a request that must get an answer.
func send(ctx context.Context, t testing.TB, url, body string) *http.Response {
	t.Helper()
	resp, err := http.DefaultClient.Do(asking(ctx, t, url, body))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// A client that hangs up takes its request out of the engine.
func TestHangUp(t *testing.T) {
	g := start(t, func(c *Config) { c.Step = evenSteps(time.Millisecond) })
	s := listen(t, g.Handler())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resp := send(ctx, t, s.URL, `{"prompt":"a","max_tokens":1000,"stream":true}`)
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for range 3 {
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	s.Close() // returns when no handler runs any more
	if st := g.state(0); st.Running != 0 || st.KVUsed != 0 || st.Aborted != 1 {
		t.Errorf("after the client hung up: %+v", st)
	}
	f := g.truth.facts(t)[0]
	if *f.Finish != "abort" || *f.Output >= 1000 || f.Traceparent == nil || !strings.HasPrefix(*f.Traceparent, "00-0af7") {
		t.Errorf("truth %+v", f)
	}
}

// A request that is cut must not look whole to its client.
func TestCutIsNoEnd(t *testing.T) {
	g := start(t, func(c *Config) { c.Step = evenSteps(time.Millisecond) })
	s := listen(t, g.Handler())
	resp := send(t.Context(), t, s.URL, `{"prompt":"a","max_tokens":1000,"stream":true}`)
	defer resp.Body.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Close(ended); err == nil {
		t.Error("Close says nothing of the request that it cut")
	}
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the client sees %v, want an unexpected end", err)
	}
}

// A client that does not read cannot hold up the end, and costs no more memory
// the further it falls behind.
func TestCloseBreaksStuckWriters(t *testing.T) {
	const n = 200_000 // about 35 MB of chunks, more than sockets hold
	g := start(t, func(c *Config) {
		c.Step, c.Engine.MaxModelLen, c.Engine.NumGPUBlocks = evenSteps(time.Microsecond), 2*n, n
	})
	s := listen(t, g.Handler())
	resp := send(t.Context(), t, s.URL, fmt.Sprintf(`{"prompt":"a","max_tokens":%d,"stream":true}`, n))
	defer resp.Body.Close()
	for g.state(0).Finished == 0 {
		runtime.Gosched()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Close(ended); err == nil || !strings.Contains(err.Error(), "1 requests") {
		t.Errorf("Close: %v", err)
	}
	if f := g.truth.facts(t)[0]; *f.Output != n || f.Sent >= n || f.LastSent != nil {
		t.Errorf("truth %+v", f)
	}
}

func TestBodyLimitOnTheWire(t *testing.T) {
	g := start(t, nil)
	g.maxBody = testBody
	s := listen(t, g.Handler())
	resp := send(t.Context(), t, s.URL, `{"prompt":"`+strings.Repeat("abcdefg ", testBody/8)+`"}`)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// sink is a connection that takes everything, and counts the pieces.
type sink struct {
	header http.Header
	reads  int64
}

func (s *sink) Header() http.Header { return s.header }
func (s *sink) WriteHeader(int)     {}
func (s *sink) FlushError() error   { return nil }
func (s *sink) Write(p []byte) (int, error) {
	s.reads++
	return len(p), nil
}

const benchTokens = 500

// BenchmarkStreams sends answers of 500 tokens to 64 clients at a time. With steps
// of 1 us handlers cannot keep up and send many tokens in a write, which is what
// the server can carry at most; with steps of 1 ms, 64000 tokens/s are asked
// for, and each should be a write of its own.
func BenchmarkStreams(b *testing.B) {
	for _, step := range []time.Duration{time.Microsecond, time.Millisecond} {
		b.Run("step="+step.String(), func(b *testing.B) {
			rigOf := func(b *testing.B) *rig {
				return start(b, func(c *Config) { c.Step, c.Truth = evenSteps(step), nil })
			}
			b.Run("memory", func(b *testing.B) {
				h := rigOf(b).Handler()
				benchmarkStreams(b, func(body io.Reader) (int64, error) {
					s := &sink{header: http.Header{}}
					h.ServeHTTP(s, httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/completions", body))
					return s.reads, nil
				})
			})
			b.Run("loopback", func(b *testing.B) {
				s := listen(b, rigOf(b).Handler())
				client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
				benchmarkStreams(b, func(body io.Reader) (int64, error) {
					resp, err := client.Post(s.URL+"/v1/completions", "application/json", body)
					if err != nil {
						return 0, err
					}
					defer resp.Body.Close()
					var out sink
					_, err = io.CopyBuffer(struct{ io.Writer }{&out}, resp.Body, make([]byte, 16<<10))
					return out.reads, err
				})
			})
		})
	}
}

// benchmarkStreams sends requests from 64 goroutines. one returns how many pieces
// the answer came in.
func benchmarkStreams(b *testing.B, one func(body io.Reader) (int64, error)) {
	body := fmt.Sprintf(`{"prompt":"a b c d","max_tokens":%d,"stream":true}`, benchTokens)
	var pieces atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n, err := one(strings.NewReader(body))
			if err != nil {
				b.Error(err)
			}
			pieces.Add(n)
		}
	})
	tokens := float64(b.N) * benchTokens
	b.ReportMetric(tokens/b.Elapsed().Seconds(), "tokens/s")
	b.ReportMetric(tokens/float64(pieces.Load()), "tokens/piece")
}
