package wire_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/wire"
)

// words is a Prompt of fixed text.
type words string

func (w words) Len() int64        { return int64(len(w)) }
func (w words) Reader() io.Reader { return strings.NewReader(string(w)) }

func TestBody(t *testing.T) {
	options := map[string]any{"include_usage": true}
	tests := []struct {
		name   string
		api    wire.API
		model  string
		ignore bool
		prio   int
		want   map[string]any
	}{
		{
			name: "completions", api: wire.Completions, model: "llama",
			want: map[string]any{
				"model": "llama", "stream": true, "stream_options": options, "temperature": 0.0,
				"max_tokens": 128.0, "prompt": "one two three",
			},
		},
		{
			name: "completions of an exact length", api: wire.Completions, model: "llama", ignore: true,
			want: map[string]any{
				"model": "llama", "stream": true, "stream_options": options, "temperature": 0.0,
				"max_tokens": 128.0, "ignore_eos": true, "min_tokens": 128.0, "prompt": "one two three",
			},
		},
		{
			name: "completions with a priority", api: wire.Completions, prio: -3,
			want: map[string]any{
				"stream": true, "stream_options": options, "temperature": 0.0,
				"max_tokens": 128.0, "priority": -3.0, "prompt": "one two three",
			},
		},
		{
			name: "chat, model name that needs escaping", api: wire.Chat, model: "a\"b\\c\n<é>",
			want: map[string]any{
				"model": "a\"b\\c\n<é>", "stream": true, "stream_options": options, "temperature": 0.0,
				"max_tokens": 128.0,
				"messages":   []any{map[string]any{"role": "user", "content": "one two three"}},
			},
		},
		{
			name: "no model", api: wire.Completions,
			want: map[string]any{
				"stream": true, "stream_options": options, "temperature": 0.0,
				"max_tokens": 128.0, "prompt": "one two three",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := wire.NewFormat(tt.api, tt.model)
			if err != nil {
				t.Fatal(err)
			}
			body := f.Body(words("one two three"), wire.Ask{MaxTokens: 128, IgnoreEOS: tt.ignore, Priority: tt.prio})
			// Twice: a body can be read again from the start.
			for range 2 {
				raw, err := io.ReadAll(body.Reader())
				if err != nil {
					t.Fatal(err)
				}
				if int64(len(raw)) != body.Len() {
					t.Errorf("Len() = %d, read %d bytes", body.Len(), len(raw))
				}
				var got map[string]any
				if err := json.Unmarshal(raw, &got); err != nil {
					t.Fatalf("%v in %s", err, raw)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A structured prompt stands in the body as it is.
func TestStructuredBody(t *testing.T) {
	for api, tt := range map[wire.API]struct {
		key, prompt string
		want        any
	}{
		wire.Chat:        {"messages", `[{"role":"system","content":"a"}]`, []any{map[string]any{"role": "system", "content": "a"}}},
		wire.Completions: {"prompt", `[1000,1001]`, []any{1000.0, 1001.0}},
	} {
		f, err := wire.NewFormat(api, "m")
		if err != nil {
			t.Fatal(err)
		}
		f.Structured()
		body := f.Body(words(tt.prompt), wire.Ask{MaxTokens: 3})
		raw, err := io.ReadAll(body.Reader())
		if err != nil || int64(len(raw)) != body.Len() {
			t.Fatalf("%v: %d bytes of %d", err, len(raw), body.Len())
		}
		var got map[string]any
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		if diff := cmp.Diff(tt.want, got[tt.key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.key, diff)
		}
	}
}

func TestBodyOfAnAdapterAndASalt(t *testing.T) {
	for _, model := range []string{"llama", ""} {
		f, err := wire.NewFormat(wire.Completions, model)
		if err != nil {
			t.Fatal(err)
		}
		body := f.Body(words("x"), wire.Ask{MaxTokens: 1, Model: `s"ql`, CacheSalt: `a\b`})
		raw, _ := io.ReadAll(body.Reader())
		var got struct {
			Model string
			Salt  string `json:"cache_salt"`
		}
		if err := json.Unmarshal(raw, &got); err != nil || got.Model != `s"ql` || got.Salt != `a\b` || body.Len() != int64(len(raw)) {
			t.Errorf("%v, %+v of %d bytes in %s", err, got, body.Len(), raw)
		}
		if strings.Count(string(raw), `"model"`) != 1 {
			t.Errorf("not one model in %s", raw)
		}
	}
}

func TestFormatRefusesInvalidName(t *testing.T) {
	if _, err := wire.NewFormat(wire.Chat, "a\xff"); err == nil {
		t.Error("a model name of invalid UTF-8 was accepted")
	}
}

func FuzzFormat(f *testing.F) {
	f.Add("llama", 1, true)
	f.Add("\"\\\u2028", 0, false)
	f.Fuzz(func(t *testing.T, model string, n int, ignore bool) {
		for _, api := range []wire.API{wire.Completions, wire.Chat} {
			format, err := wire.NewFormat(api, model)
			if err != nil {
				if utf8.ValidString(model) {
					t.Fatal(err)
				}
				return
			}
			body := format.Body(words("x y"), wire.Ask{MaxTokens: n, IgnoreEOS: ignore, Priority: n})
			raw, _ := io.ReadAll(body.Reader())
			var got struct {
				Model     string
				MaxTokens int `json:"max_tokens"`
				Priority  int
			}
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatalf("%v in %s", err, raw)
			}
			if got.Model != model || got.MaxTokens != n || got.Priority != n || body.Len() != int64(len(raw)) {
				t.Fatalf("got %q and %d of %d bytes from %s", got.Model, got.MaxTokens, len(raw), raw)
			}
		}
	})
}

func ExampleFormat() {
	f, err := wire.NewFormat(wire.Completions, "llama")
	if err != nil {
		panic(err)
	}
	body := f.Body(words("alpha beta"), wire.Ask{MaxTokens: 16})
	raw, _ := io.ReadAll(body.Reader())
	fmt.Println(body.Len() == int64(len(raw)))
	fmt.Println(string(raw))
	// Output:
	// true
	// {"model":"llama","stream":true,"stream_options":{"include_usage":true},"temperature":0,"max_tokens":16,"prompt":"alpha beta"}
}

func TestExtraFields(t *testing.T) {
	extras := []wire.Extra{{Key: "top_p", Value: json.RawMessage("0.9")}, {Key: "a\"b", Value: json.RawMessage(`{"c":[1]}`)}}
	for _, c := range []struct {
		name   string
		extras []wire.Extra
		want   map[string]any
	}{
		{"with the usual temperature", extras, map[string]any{"temperature": 0.0}},
		{"with another", append(extras, wire.Extra{Key: "temperature", Value: json.RawMessage("1")}), map[string]any{"temperature": 1.0}},
	} {
		f, err := wire.NewFormat(wire.Chat, "m", c.extras...)
		if err != nil {
			t.Fatal(err)
		}
		body := f.Body(words("hi"), wire.Ask{MaxTokens: 3})
		raw, err := io.ReadAll(body.Reader())
		if err != nil || int64(len(raw)) != body.Len() {
			t.Fatalf("%d bytes of %d: %v", len(raw), body.Len(), err)
		}
		got := map[string]any{}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%s: %v in %s", c.name, err, raw)
		}
		if got["temperature"] != c.want["temperature"] || got["top_p"] != 0.9 || fmt.Sprint(got[`a"b`]) != "map[c:[1]]" || got["max_tokens"] != 3.0 {
			t.Errorf("%s: %s", c.name, raw)
		}
		if strings.Count(string(raw), "temperature") != 1 {
			t.Errorf("%s: more than one temperature in %s", c.name, raw)
		}
	}
	if _, err := wire.NewFormat(wire.Chat, "m", wire.Extra{Key: "x", Value: json.RawMessage("{")}); err == nil {
		t.Error("a broken value was accepted")
	}
}
