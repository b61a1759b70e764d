package prompt_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
	"goodput/datasets/prompt"
)

// A quoted answer stands in the prompt byte for byte, in place of the planned one.
func TestQuotes(t *testing.T) {
	user := datasets.Span{Key: 0, Tokens: 1}
	answer := datasets.Span{Key: 7, Tokens: 3, Role: datasets.Assistant}
	results := datasets.Span{Key: 1, Tokens: 3, Role: datasets.Tool, Calls: 1}
	said := datasets.Quote{Key: 7, Tokens: 3, Text: []byte(` \"so\"`)}
	called := datasets.Quote{Key: 7, Tokens: 3, Calls: []datasets.Call{
		{ID: []byte("c1"), Name: []byte("find"), Arguments: []byte(`{\"q\":1}`)},
		{ID: []byte("c2"), Name: []byte("run"), Arguments: []byte(`{}`)},
	}}
	thought := datasets.Quote{Key: 7, Tokens: 3, Text: []byte(" yes"), Reasoning: []byte(" hm"), Field: "reasoning_content"}
	const saidByUser = `[{"role":"user","content":" hint"}`
	for _, c := range []struct {
		name   string
		spans  []datasets.Span
		quotes []datasets.Quote
		chat   string
		text   string
	}{
		{
			"text",
			[]datasets.Span{user, answer, user},
			[]datasets.Quote{said},
			saidByUser + `,{"role":"assistant","content":" \"so\""},{"role":"user","content":" hint"}]`, ` hint \"so\" hint`,
		},
		{
			"results that nothing has called for",
			[]datasets.Span{user, answer, results},
			[]datasets.Quote{said},
			saidByUser + `,{"role":"assistant","content":" \"so\""},{"role":"user","content":" they hire year"}]`, ` hint \"so\" they hire year`,
		},
		{
			"calls",
			[]datasets.Span{user, answer, results},
			[]datasets.Quote{called},
			saidByUser + `,{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"find","arguments":"{\"q\":1}"}},` +
				`{"id":"c2","type":"function","function":{"name":"run","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"c1","content":" they hire"},{"role":"tool","tool_call_id":"c2","content":" year"}]`, ` hint they hire year`,
		},
		{
			"reasoning",
			[]datasets.Span{user, answer},
			[]datasets.Quote{thought},
			saidByUser + `,{"role":"assistant","reasoning_content":" hm","content":" yes"}]`, ` hint yes`,
		},
		{
			"two answers in a row, one of them quoted",
			[]datasets.Span{user, answer, {Key: 0, Tokens: 1, Role: datasets.Assistant}},
			[]datasets.Quote{said},
			saidByUser + `,{"role":"assistant","content":" \"so\""},{"role":"assistant","content":" hint"}]`, ` hint \"so\" hint`,
		},
		{
			"a part of the answer is as planned",
			[]datasets.Span{user, {Key: 0, Tokens: 2, Role: datasets.Assistant}},
			[]datasets.Quote{{Key: 0, Tokens: 3, Text: []byte("x")}},
			saidByUser + `,{"role":"assistant","content":" hint part"}]`, ` hint hint part`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for kind, p := range map[string]interface {
				Len() int64
				Reader() io.Reader
			}{c.chat: prompt.NewChat(c.spans, c.quotes...), c.text: prompt.New(c.spans, c.quotes...)} {
				got, err := io.ReadAll(iotest.OneByteReader(p.Reader()))
				if diff := cmp.Diff(kind, string(got)); diff != "" || err != nil || p.Len() != int64(len(got)) {
					t.Errorf("%v, Len %d of %d (-want +got):\n%s", err, p.Len(), len(got), diff)
				}
			}
		})
	}
}

// Whatever is quoted, the length is known beforehand, and the prompts are JSON in which the
// quotes stand.
func TestQuotesWithinAnyPrompt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := genSpans(t)
		var texts, ids []datasets.Quote
		for i := range spans {
			if rapid.Bool().Draw(t, "answer") {
				spans[i].Key, spans[i].Role = uint64(100+i), datasets.Assistant
			}
			if spans[i].Role != datasets.Assistant || !rapid.Bool().Draw(t, "quoted") {
				continue
			}
			n := rapid.IntRange(0, 5).Draw(t, "said")
			q := datasets.Quote{Key: spans[i].Key, Tokens: spans[i].Tokens}
			q.Text = []byte(strings.Repeat(fmt.Sprintf(` answer%d\n`, i), n))
			texts = append(texts, q)
			q.Text = []byte(strings.TrimSuffix(strings.Repeat("77777,", n), ","))
			ids = append(ids, q)
		}
		read := func(p interface {
			Len() int64
			Reader() io.Reader
		}, open, shut string, into any,
		) string {
			raw, err := io.ReadAll(iotest.HalfReader(p.Reader()))
			if err != nil || int64(len(raw)) != p.Len() {
				t.Fatalf("%v: %d bytes, Len says %d", err, len(raw), p.Len())
			}
			if err := json.Unmarshal([]byte(open+string(raw)+shut), into); err != nil {
				t.Fatalf("%v in %s", err, raw)
			}
			return string(raw)
		}
		var text string
		var messages []any
		var numbers []int
		read(prompt.New(spans, texts...), `"`, `"`, &text)
		raw := read(prompt.NewChat(spans, texts...), "", "", &messages)
		read(prompt.NewIDs(spans, ids...), "", "", &numbers)
		at := 0
		for _, q := range texts {
			next := strings.Index(raw[at:], string(q.Text))
			if next < 0 {
				t.Fatalf("%q is not in %s after byte %d", q.Text, raw, at)
			}
			at += next + len(q.Text)
		}
		quoted := 0
		for _, n := range numbers {
			if n == 77777 {
				quoted++
			}
		}
		want := 0
		for _, q := range ids {
			want += (len(q.Text) + 1) / 6
		}
		if quoted != want {
			t.Fatalf("%d numbers are quoted, want %d", quoted, want)
		}
	})
}
