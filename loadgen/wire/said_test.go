package wire_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/wire"
)

func TestSaid(t *testing.T) {
	call := func(id, name, arguments string) wire.Call {
		return wire.Call{ID: []byte(id), Name: []byte(name), Arguments: []byte(arguments)}
	}
	for _, c := range []struct {
		name     string
		said     wire.Said
		payloads []string
		text     string
		thought  string
		calls    []wire.Call
		lost     bool
	}{
		{"a completion", wire.Said{}, []string{
			`{"choices":[{"index":0,"text":" tea"}]}`, `{"choices":[{"text":" \u00e9\n\"x\""}],"usage":null}`,
			`{"choices":[],"usage":{"prompt_tokens":3}}`,
		}, ` tea \u00e9\n\"x\"`, "", nil, false},
		{"half a pair of surrogates in each chunk", wire.Said{}, []string{
			`{"choices":[{"text":"\ud83d"}]}`, `{"choices":[{"text":"\ude00"}]}`,
		}, `\ud83d\ude00`, "", nil, false},
		{"a chat that reasons first", wire.Said{API: wire.Chat}, []string{
			`{"choices":[{"delta":{"role":"assistant","content":""}}]}`,
			`{"choices":[{"delta":{"reasoning":" h\"m"}}]}`, `{"choices":[{"delta":{"content":null,"reasoning":" so","reasoning_content":" so"}}]}`,
			`{"choices":[{"delta":{"content":" yes"},"finish_reason":"stop"},{"delta":{"content":" no"}}]}`,
		}, ` yes`, ` h\"m so`, nil, false},
		{"calls of tools", wire.Said{API: wire.Chat}, []string{
			`{"choices":[{"delta":{"content":" let us see"}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a1","type":"function","function":{"name":"find","arguments":""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":"}},{"index":1,"id":"a2","function":{"name":"run"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}`,
		}, ` let us see`, "", []wire.Call{call("a1", "find", `{\"q\":1}`), call("a2", "run", "")}, false},
		{"numbers of tokens", wire.Said{TokenIDs: true}, []string{
			`{"choices":[{"text":" a","token_ids":[ 12 , 3]}]}`, `{"choices":[{"text":"","token_ids":null}]}`, `{"choices":[{"text":"b","token_ids":[4567]}]}`,
		}, `12,3,4567`, "", nil, false},
		{"responses", wire.Said{API: wire.Responses}, []string{
			`{"type":"response.created","response":{}}`, `{"type":"response.output_text.delta","delta":" a\""}`,
			`{"delta":"b","type":"response.output_text.delta"}`, `{"type":"response.reasoning_text.delta","delta":"c"}`,
			`{"type":"response.completed","response":{"output":[{"text":"d"}]}}`,
		}, ` a\"b`, "", nil, false},
		{"content in parts", wire.Said{API: wire.Chat}, []string{`{"choices":[{"delta":{"content":[{"text":"a"}]}}]}`}, "", "", nil, true},
		{"a call that skips a number", wire.Said{API: wire.Chat}, []string{`{"choices":[{"delta":{"tool_calls":[{"index":1}]}}]}`}, "", "", nil, true},
		{"a call without an id to answer", wire.Said{API: wire.Chat}, []string{`{"choices":[{"delta":{"function_call":{"name":"a"}}}]}`}, "", "", nil, true},
		{"a key in disguise", wire.Said{}, []string{`{"choices":[{"t\u0065xt":"a"}]}`}, "", "", nil, true},
		{"too long", wire.Said{Limit: 10}, []string{`{"choices":[{"text":"0123456789"}]}`, `{"choices":[{"text":"a"}]}`}, "", "", nil, true},
		{"just not too long", wire.Said{Limit: 10}, []string{`{"choices":[{"text":"0123456789"}]}`, `{"choices":[]}`}, "0123456789", "", nil, false},
		{"cut short", wire.Said{}, []string{`{"choices":[{"text":"a"}`}, "", "", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.said
			if s.Limit == 0 {
				s.Limit = 1000
			}
			for _, p := range c.payloads {
				s.Read([]byte(p))
			}
			if string(s.Text) != c.text || string(s.Reasoning) != c.thought || s.Lost != c.lost {
				t.Errorf("text %q, reasoning %q, lost %v; want %q, %q, %v", s.Text, s.Reasoning, s.Lost, c.text, c.thought, c.lost)
			}
			if diff := cmp.Diff(c.calls, s.Calls, cmp.Comparer(func(a, b []byte) bool { return string(a) == string(b) })); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// What is gathered stands in a JSON string as it is, and says what a decoder reads.
func FuzzSaid(f *testing.F) {
	for _, s := range []string{
		`{"choices":[{"text":" a\u00e9"}]}`, `{"choices":[{"text":null,"delta":{"content":"x"}}]}`, `{"choices":[{"delta":{"tool_calls":[{"id":"a"}]}}]}`,
		`{"choices":null}`, `{"choices":[{"text":"a"}],"choices":[{"text":"b"}]}`, `null`, `{"choices":[null]}`, "{\"choices\":[{\"text\":\"\xff\"}]}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		s := wire.Said{API: wire.Chat, Limit: 1 << 20}
		s.Read(payload)
		if s.Lost {
			return
		}
		var said string
		if err := json.Unmarshal([]byte(`"`+string(s.Text)+`"`), &said); err != nil {
			t.Fatalf("%q of %q: %v", s.Text, payload, err)
		}
		var whole struct {
			Choices []struct {
				Text  *string
				Delta *struct {
					Content *string
				}
			}
		}
		if !strings.Contains(string(payload), `"choices"`) || json.Unmarshal(payload, &whole) != nil || len(whole.Choices) != 1 {
			return
		}
		// Names in other cases, and twice, mean other things to encoding/json.
		if n := strings.Count(strings.ToLower(string(payload)), "text") + strings.Count(strings.ToLower(string(payload)), "content"); n != 1 {
			return
		}
		want := ""
		if c := whole.Choices[0]; c.Text != nil {
			want = *c.Text
		} else if c.Delta != nil && c.Delta.Content != nil {
			want = *c.Delta.Content
		}
		if said != "" && said != want {
			t.Fatalf("%q of %q, which says %q", said, payload, want)
		}
	})
}

func ExampleSaid() {
	s := wire.Said{Limit: 1 << 20}
	s.Read([]byte(`{"choices":[{"text":" a \"good\""}]}`))
	s.Read([]byte(`{"choices":[{"text":" answer"}]}`))
	os.Stdout.Write(append(s.Text, '\n'))
	// Output: a \"good\" answer
}
