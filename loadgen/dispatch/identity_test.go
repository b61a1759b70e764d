package dispatch

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTraceIDs(t *testing.T) {
	type arg struct {
		salt, seq uint64
		attempt   uint8
	}
	type id struct {
		trace [16]byte
		span  [8]byte
	}
	seen := map[[16]byte]arg{}
	spans := map[[8]byte]arg{}
	rapid.Check(t, func(t *rapid.T) {
		a := arg{
			rapid.Uint64Range(0, 3).Draw(t, "salt"),
			rapid.OneOf(rapid.Uint64Range(0, 50), rapid.Uint64Range(0, 1<<56-1)).Draw(t, "seq"),
			uint8(rapid.IntRange(0, 255).Draw(t, "attempt")),
		}
		var x, y id
		ids := traceFamily(a.salt)
		x.trace, x.span = traceIDs(ids, a.seq, int(a.attempt))
		y.trace, y.span = traceIDs(ids, a.seq, int(a.attempt))
		if x != y {
			t.Fatalf("%v has two ids", a)
		}
		if x.trace == ([16]byte{}) || x.span == ([8]byte{}) {
			t.Fatalf("%v has an id of zeros", a)
		}
		if b, dup := seen[x.trace]; dup && b != a {
			t.Fatalf("%v and %v share a trace id", a, b)
		}
		if b, dup := spans[x.span]; dup && b != a {
			t.Fatalf("%v and %v share a span id", a, b)
		}
		seen[x.trace], spans[x.span] = a, a
	})
}

// TestTextsStayValid makes more strings than a block holds.
func TestTextsStayValid(t *testing.T) {
	var x texts
	var got []string
	const n = 3 * textBlock / 32
	for i := range n {
		got = append(got, x.hex([16]byte{byte(i >> 8), byte(i)}), x.number(uint64(i)))
	}
	for i := range n {
		if want := strings.ToLower(hex4(i)) + strings.Repeat("0", 28); got[2*i] != want {
			t.Fatalf("string %d is %q, want %q", i, got[2*i], want)
		}
	}
	if got[1] != "" || got[3] != "1" || got[2*255+1] != "255" {
		t.Errorf("numbers are %q, %q, %q", got[1], got[3], got[2*255+1])
	}
}

func hex4(i int) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[i>>12&15], digits[i>>8&15], digits[i>>4&15], digits[i&15]})
}
