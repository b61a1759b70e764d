package openai

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets/prompt"
	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

// TestAnswerIsTold: what a stream said comes back with its end, if it was asked for and
// the answer was completed.
func TestAnswerIsTold(t *testing.T) {
	const escaped = `{"choices":[{"index":0,"delta":{"content":" \"b\" \u00e9"},"finish_reason":null}]}`
	called := `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c9","function":{"name":"f","arguments":"{}"}}]}}]}`
	text := func(s string) *target.Quote { return &target.Quote{Key: 11, Tokens: 3, Text: []byte(s)} }
	withCall := text("")
	withCall.Calls = append(withCall.Calls, struct{ ID, Name, Arguments []byte }{[]byte("c9"), []byte("f"), []byte("{}")})
	thought := text(" a")
	thought.Reasoning, thought.Field = []byte(" hm"), "reasoning_content"
	for _, c := range []struct {
		name   string
		quoted bool
		say    []string
		want   *target.Quote
		lost   bool
	}{
		{"not asked for", false, []string{head, data(role, tok, finish, done), last}, nil, false},
		{"text", true, []string{head, data(role, tok), data(escaped, finish, usage, done), last}, text(` a \"b\" \u00e9`), false},
		{"reasoning", true, []string{head, data(think, tok, finish, done), last}, thought, false},
		{"a call", true, []string{head, data(role, called, finish, done), last}, withCall, false},
		{"cut short", true, []string{head, data(role, tok)}, nil, false},
		{"refused", true, []string{"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"}, nil, false},
		{"not to be gathered", true, []string{head, data(role, `{"choices":[{"delta":{"content":[{"text":"a"}]}}]}`, finish, done), last}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := listen(t, func(n *conn) {
				n.request()
				n.say(c.say...)
			})
			r := newRig(t, p.url())
			rec, req := newRecorder(t), r.request()
			req.Quoted, req.OutKey = c.quoted, 11
			r.Start(req, rec)
			r.loop.await(rec)
			same := cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })
			if diff := cmp.Diff(c.want, rec.result.Answer, same); diff != "" || rec.result.AnswerLost != c.lost {
				t.Errorf("lost: %v, answer (-want +got):\n%s", rec.result.AnswerLost, diff)
			}
		})
	}
}

// TestQuotesAreSent: the body of a request holds the answers that it quotes.
func TestQuotesAreSent(t *testing.T) {
	bodies := make(chan string, 1)
	p := listen(t, func(c *conn) {
		_, body := c.request()
		bodies <- body
		c.say(head, data(role, tok, finish, done), last)
	})
	r := newRig(t, p.url(), func(c *Config) {
		c.Structured = true
		c.Prompt = func(s []target.Span, q ...target.Quote) wire.Prompt { return prompt.NewChat(s, q...) }
	})
	rec, req := newRecorder(t), r.request()
	req.Prompt = []target.Span{{Key: 1, Tokens: 2}, {Key: 2, Tokens: 5, Role: 2}, {Key: 3, Tokens: 1}}
	req.Quotes = []target.Quote{{Key: 2, Tokens: 5, Text: []byte(` as \"it\" was`)}}
	r.Start(req, rec)
	r.loop.await(rec)
	body := <-bodies
	var got struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(io.LimitReader(strings.NewReader(body), 1<<20)).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Messages) != 3 || got.Messages[1].Role != "assistant" || got.Messages[1].Content != ` as "it" was` {
		t.Errorf("sent %s", body)
	}
}
