package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// agree fails if the fast path accepts a payload and reads it otherwise than the
// full decode, or accepts text that is no JSON.
func agree(t interface{ Fatalf(string, ...any) }, payload []byte) bool {
	var fast, full Chunk
	if !(&cursor{b: payload}).chunk(&fast) {
		return false
	}
	if !json.Valid(payload) {
		t.Fatalf("the probe accepted %q", payload)
	}
	decode(payload, &full)
	if diff := cmp.Diff(full, fast); diff != "" {
		t.Fatalf("%s (-full decode +probe):\n%s", payload, diff)
	}
	return true
}

func FuzzProbe(f *testing.F) {
	for _, s := range []string{
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":"a\"b","reasoning":null,"tool_calls":[{}]},"finish_reason":"stop"}],"usage":null}`,
		`{"object":"x","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":4}}}`,
		`{"error":{"message":"x"},"choices":[{"text":"","text":"b"}]}`,
		`{"choices":[{"delta":{"refusal":"\u00e9","function_call":{}}}],"x":[-0.5e+3,true,false,null,"\\"]}`,
		`[DONE]`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		agree(t, payload)
		var p Probe
		var c Chunk
		p.Read(payload, &c)
		if c.Content > Text || c.Usage.Prompt < Unknown {
			t.Fatalf("%q: %+v", payload, c)
		}
	})
}

// genJSON draws JSON text that is dense in the known keys, in any order, at any
// depth, twice, with values of any type.
func genJSON(t *rapid.T, depth int) string {
	keys := []string{
		"choices", "delta", "content", "text", "finish_reason", "usage", "prompt_tokens", "completion_tokens",
		"prompt_tokens_details", "completion_tokens_details", "cached_tokens", "reasoning_tokens", "error", "object",
		"reasoning", "reasoning_content", "tool_calls", "function_call", "refusal", "Content", `c\u006fntent`, "x", "",
	}
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t"})
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	if depth == 0 {
		kind %= 6
	}
	ws := space.Draw(t, "ws")
	switch kind {
	case 0:
		return ws + "null"
	case 1, 2:
		return ws + rapid.SampledFrom([]string{`""`, `"a"`, `"stop"`, `"\"content\":\"a\""`, `"error"`, `"\u0000"`, `"é\\"`}).Draw(t, "s")
	case 3, 4:
		return ws + rapid.SampledFrom([]string{"0", "7", "-1", "1.5", "2e3", "1.0", "123456789012345678901", "007", "1e999"}).Draw(t, "n")
	case 5:
		return ws + rapid.SampledFrom([]string{"true", "false", "[]", "{}", "[ ]", "{ }"}).Draw(t, "b")
	case 6, 7:
		n := rapid.IntRange(0, 3).Draw(t, "len")
		parts := make([]string, n)
		for i := range parts {
			parts[i] = genJSON(t, depth-1)
		}
		return ws + "[" + strings.Join(parts, ",") + ws + "]"
	}
	n := rapid.IntRange(0, 5).Draw(t, "len")
	parts := make([]string, n)
	for i := range parts {
		key := rapid.SampledFrom(keys).Draw(t, "key")
		parts[i] = fmt.Sprintf(`%s"%s"%s:%s`, ws, key, ws, genJSON(t, depth-1))
	}
	return ws + "{" + strings.Join(parts, ",") + ws + "}"
}

func TestProbeEqualsFullDecode(t *testing.T) {
	accepted, tried := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		delta, choice, top := genJSON(t, 1), genJSON(t, 2), genJSON(t, 3)
		for _, payload := range []string{
			top,
			`{"choices":` + top + `}`,
			`{"choices":[` + choice + `]}`,
			`{"choices":[{"finish_reason":null,"delta":` + delta + `}],"usage":` + choice + `}`,
			`{"choices":[{"delta":{"content":` + delta + `,"reasoning":` + delta + `}}]}`,
		} {
			tried++
			if agree(t, []byte(payload)) {
				accepted++
			}
		}
	})
	if accepted < tried/20 {
		t.Errorf("the probe accepted only %d of %d payloads: the comparison is empty", accepted, tried)
	}
}

// A chunk cut anywhere is never taken for a whole one.
func TestProbeRefusesCutChunks(t *testing.T) {
	whole := `{"choices":[{"index":0,"delta":{"content":"a\u00e9\"b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12}}`
	var c Chunk
	if !(&cursor{b: []byte(whole)}).chunk(&c) {
		t.Fatal("the whole chunk was refused")
	}
	for i := range whole {
		if (&cursor{b: []byte(whole[:i])}).chunk(&c) {
			t.Errorf("accepted %q", whole[:i])
		}
	}
}
