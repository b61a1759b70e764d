package prompt_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
	"goodput/datasets/prompt"
)

func readChat(t interface{ Fatal(...any) }, spans ...datasets.Span) string {
	b, err := io.ReadAll(prompt.NewChat(spans).Reader())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// These bytes are a promise, as those of TestGolden are: a change of any of them makes the
// chats of two releases differ.
func TestGoldenChat(t *testing.T) {
	const (
		system = `{"role":"system","content":" hint part they hire year"}`
		user   = `{"role":"user","content":" seat sets"}`
	)
	spans := func(s ...datasets.Span) []datasets.Span {
		return append([]datasets.Span{
			{Key: 0, Tokens: 2, Role: datasets.System}, {Key: 1, Tokens: 3, Role: datasets.System}, {Key: 1<<64 - 1, Tokens: 2},
		}, s...)
	}
	tests := map[string]struct {
		spans []datasets.Span
		want  string
	}{
		"nothing":       {nil, `[]`},
		"one text":      {[]datasets.Span{{Key: 0, Tokens: 2}, {Key: 1, Tokens: 1}}, `[{"role":"user","content":" hint part they"}]`},
		"system, user":  {spans(), `[` + system + `,` + user + `]`},
		"quoted answer": {spans(datasets.Span{Key: 0, Tokens: 1, Role: datasets.Assistant}, datasets.Span{Key: 1, Tokens: 1}), `[` + system + `,` + user + `,{"role":"assistant","content":" hint"},{"role":"user","content":" they"}]`},
		"one call": {
			spans(datasets.Span{Key: 0, Tokens: 3, Role: datasets.Assistant}, datasets.Span{Key: 1, Tokens: 2, Role: datasets.Tool, Calls: 1}),
			`[` + system + `,` + user + `,{"role":"assistant","content":null,"tool_calls":[{"id":"` + goldenCall0 + `","type":"function","function":{"name":"goodput","arguments":"{\"text\":\" part boot\"}"}}]},` +
				`{"role":"tool","tool_call_id":"` + goldenCall0 + `","content":" they hire"}]`,
		},
		"two calls and a rest": {
			spans(datasets.Span{Key: 0, Tokens: 5, Role: datasets.Assistant}, datasets.Span{Key: 1, Tokens: 3, Role: datasets.Tool, Calls: 2}),
			`[` + system + `,` + user + `,{"role":"assistant","content":" hint","tool_calls":[{"id":"` + goldenCall0 + `","type":"function","function":{"name":"goodput","arguments":"{\"text\":\" boot\"}"}}` +
				`,{"id":"` + goldenCall1 + `","type":"function","function":{"name":"goodput","arguments":"{\"text\":\" ever\"}"}}]},` +
				`{"role":"tool","tool_call_id":"` + goldenCall0 + `","content":" they hire"},{"role":"tool","tool_call_id":"` + goldenCall1 + `","content":" year"}]`,
		},
		"more calls than tokens": {
			spans(datasets.Span{Key: 0, Tokens: 1, Role: datasets.Assistant}, datasets.Span{Key: 1, Tokens: 1, Role: datasets.Tool, Calls: 3}),
			`[` + system + `,` + user + `,{"role":"assistant","content":null,"tool_calls":[{"id":"` + goldenCall0 + `","type":"function","function":{"name":"goodput","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"` + goldenCall0 + `","content":" they"}]`,
		},
		"results that nothing called for": {
			[]datasets.Span{{Key: 0, Tokens: 1}, {Key: 1, Tokens: 1, Role: datasets.Tool, Calls: 1}, {Key: 1, Tokens: 1}},
			`[{"role":"user","content":" hint they they"}]`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := readChat(t, tt.spans...)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !json.Valid([]byte(got)) {
				t.Error("not JSON")
			}
		})
	}
}

const (
	goldenCall0 = "7iycgpkta"
	goldenCall1 = "0lc535g26"
)

type call struct {
	ID       string
	Function struct{ Name, Arguments string }
}

type said struct {
	Role      string
	Content   *string
	CallID    string `json:"tool_call_id"`
	ToolCalls []call `json:"tool_calls"`
}

func genRoles(t *rapid.T) []datasets.Span {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) datasets.Span {
		s := datasets.Span{
			Key: rapid.Uint64Range(0, 5).Draw(t, "key"), Tokens: rapid.IntRange(1, 30).Draw(t, "tokens"),
			Role: datasets.Role(rapid.IntRange(0, 3).Draw(t, "role")),
		}
		if s.Role == datasets.Tool {
			s.Calls = rapid.Uint8Range(0, 4).Draw(t, "calls")
		}
		return s
	}), 0, 12).Draw(t, "spans")
}

// Whatever the spans: the messages are JSON of the length foretold, hold each planned token
// once (the name of a function in place of one), and pair each call with one result.
func TestChatHoldsTheTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := genRoles(t)
		tokens := 0
		for _, s := range spans {
			tokens += s.Tokens
		}
		got := readChat(t, spans...)
		if n := prompt.NewChat(spans).Len(); n != int64(len(got)) {
			t.Fatalf("Len is %d, %d bytes were read", n, len(got))
		}
		var messages []said
		if err := json.Unmarshal([]byte(got), &messages); err != nil {
			t.Fatalf("%v in %s", err, got)
		}
		n := 0
		var open []string // calls without a result
		for i, m := range messages {
			if m.Content != nil {
				n += len(strings.Fields(*m.Content))
			}
			if m.Role == "tool" {
				if len(open) == 0 || open[0] != m.CallID {
					t.Fatalf("message %d answers call %q of %q", i, m.CallID, open)
				}
				open = open[1:]
				continue
			}
			if len(open) > 0 {
				t.Fatalf("message %d comes before results of %q", i, open)
			}
			if i > 0 && messages[i-1].Role == m.Role {
				t.Fatalf("messages %d and %d are both of the %s", i-1, i, m.Role)
			}
			for _, c := range m.ToolCalls {
				var with struct{ Text string }
				if err := json.Unmarshal([]byte(c.Function.Arguments), &with); err != nil {
					t.Fatalf("%v in %q", err, c.Function.Arguments)
				}
				n += 1 + len(strings.Fields(with.Text))
				open = append(open, c.ID)
			}
		}
		if len(open) > 0 || n != tokens {
			t.Fatalf("%d tokens of %d, calls without result: %q", n, tokens, open)
		}
	})
}

// A chat goes on from the one before: equal prefixes of content give equal bytes, up to
// the end of the array, as caches need it.
func TestChatGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := genRoles(t)
		// An answer is not known to be a call until the results are there.
		n := rapid.IntRange(0, len(spans)).Draw(t, "first")
		for n > 0 && (spans[n-1].Role == datasets.Assistant || spans[n-1].Role == datasets.Tool) {
			n--
		}
		if n == 0 {
			return
		}
		first := strings.TrimSuffix(readChat(t, spans[:n]...), `"}]`)
		if all := readChat(t, spans...); !strings.HasPrefix(all, first) {
			t.Fatalf("%s\ndoes not begin\n%s", first, all)
		}
	})
}

func TestChatByAnyBuffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := genRoles(t)
		want := readChat(t, spans...)
		r := iotest.OneByteReader(prompt.NewChat(spans).Reader())
		if rapid.Bool().Draw(t, "half") {
			r = iotest.HalfReader(prompt.NewChat(spans).Reader())
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != want {
			t.Fatalf("%v: got %s, want %s", err, got, want)
		}
	})
}

// Reading costs memory by messages, never by tokens.
func TestChatAllocations(t *testing.T) {
	buf := make([]byte, 4096)
	count := func(tokens int) float64 {
		c := prompt.NewChat([]datasets.Span{
			{Key: 1, Tokens: tokens, Role: datasets.System},
			{Key: 2, Tokens: tokens},
			{Key: 3, Tokens: tokens, Role: datasets.Assistant},
			{Key: 4, Tokens: tokens, Role: datasets.Tool, Calls: 2},
		})
		return testing.AllocsPerRun(20, func() {
			r := c.Reader()
			for {
				if _, err := r.Read(buf); err == io.EOF {
					return
				}
			}
		})
	}
	if few, many := count(10), count(10_000); many > few {
		t.Errorf("%v allocations for 40 tokens, %v for 40,000", few, many)
	}
}

func BenchmarkChat(b *testing.B) {
	c := prompt.NewChat([]datasets.Span{
		{Key: 1, Tokens: 15_000, Role: datasets.System},
		{Key: 2, Tokens: 250},
		{Key: 3, Tokens: 230, Role: datasets.Assistant},
		{Key: 4, Tokens: 340, Role: datasets.Tool, Calls: 2},
	})
	b.SetBytes(c.Len())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.Copy(io.Discard, c.Reader()); err != nil {
			b.Fatal(err)
		}
	}
}
