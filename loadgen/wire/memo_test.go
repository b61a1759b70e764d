package wire

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// after reads b behind a, and compares with b read by itself.
func after(t *testing.T, a, b []byte) {
	t.Helper()
	var p, fresh Probe
	var got, want Chunk
	p.Read(a, &got)
	p.Read(b, &got)
	fresh.Read(b, &want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s\nbehind %s (-by itself +behind it):\n%s", b, a, diff)
	}
}

// What a payload says does not depend on the one before, however little they differ.
func TestMemo(t *testing.T) {
	const first = `{"id":"x","choices":[{"index":0,"delta":{"content":" a"},"finish_reason":null}]}`
	tests := []struct {
		name, payload string
		held          bool
	}{
		{"the same", first, true},
		{"another text", `{"id":"x","choices":[{"index":0,"delta":{"content":" and some more"},"finish_reason":null}]}`, true},
		{"other letters", `{"id":"x","choices":[{"index":0,"delta":{"content":"ü"},"finish_reason":null}]}`, true},
		{"no text", `{"id":"x","choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}`, false},
		{"an escape", `{"id":"x","choices":[{"index":0,"delta":{"content":"a\"b"},"finish_reason":null}]}`, false},
		{"a field within", `{"id":"x","choices":[{"index":0,"delta":{"content":"","content":"b"},"finish_reason":null}]}`, false},
		{"a text that looks like what is behind", `{"id":"x","choices":[{"index":0,"delta":{"content":"},"finish_reason":null}]}`, false},
		{"a line feed", "{\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\nb\"},\"finish_reason\":null}]}", false},
		{"another id", `{"id":"y","choices":[{"index":0,"delta":{"content":" a"},"finish_reason":null}]}`, false},
		{"the finish", `{"id":"x","choices":[{"index":0,"delta":{"content":" a"},"finish_reason":"stop"}]}`, false},
		{"cut", `{"id":"x","choices":[{"index":0,"delta":{"content":" a"},"finish_reason":null}]`, false},
		{"shorter than what is around", `{}`, false},
		{"nothing", ``, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Probe
			var c Chunk
			p.Read([]byte(first), &c)
			if got := p.memo.holds([]byte(tt.payload)); got != tt.held {
				t.Errorf("holds = %v, want %v", got, tt.held)
			}
			after(t, []byte(first), []byte(tt.payload))
		})
	}
}

// A stream whose chunks all differ is not compared for ever.
func TestMemoGivesUp(t *testing.T) {
	var p Probe
	var c Chunk
	for i := range 2 * mostMisses {
		p.Read(fmt.Appendf(nil, `{"n":%d,"choices":[{"delta":{"content":"a"}}]}`, i), &c)
		if c.Content != Text {
			t.Fatalf("chunk %d is %+v", i, c)
		}
	}
	if len(p.memo.payload) != 0 {
		t.Errorf("still compares with %s", p.memo.payload)
	}
}

// FuzzMemo changes a part of a payload, and reads both in either order.
func FuzzMemo(f *testing.F) {
	const chunk = `{"choices":[{"index":0,"delta":{"content":" a","reasoning":null},"finish_reason":null}],"usage":null}`
	f.Add([]byte(chunk), uint16(40), uint16(2), []byte("b"))
	f.Add([]byte(chunk), uint16(40), uint16(2), []byte(`","content":"b`))
	f.Add([]byte(chunk), uint16(40), uint16(2), []byte(`\"`))
	f.Add([]byte(chunk), uint16(0), uint16(200), []byte(`{"choices":[{"text":"a"},{"text":"b"}]}`))
	f.Fuzz(func(t *testing.T, a []byte, at, n uint16, text []byte) {
		from := min(int(at), len(a))
		to := min(from+int(n), len(a))
		b := append(append(append([]byte{}, a[:from]...), text...), a[to:]...)
		after(t, a, b)
		after(t, b, a)
	})
}
