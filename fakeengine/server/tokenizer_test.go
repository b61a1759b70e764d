package server

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func tokenize(block int, parts ...string) *tokenizer {
	var t tokenizer
	t.reset(block, 1<<30)
	for _, p := range parts {
		t.text(p)
	}
	return &t
}

func TestTokenizerCounts(t *testing.T) {
	tests := []struct {
		name, text string
		want       int
	}{
		{"empty", "", 0},
		{"white space", " \t\r\n ", 0},
		{"word", "abcd", 1},
		{"words", "abcd efgh  ijkl", 3},
		{"space around", " abcd\n", 1},
		{"lines", "ab\ncd\tef\r\ngh", 4},
		{"eight bytes", "abcdefgh", 1},
		{"nine bytes", "abcdefghi", 2},
		{"seventeen bytes", "abcdefghijklmnopq", 3},
		{"not ASCII", "déjà vu", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, block := range []int{0, 4} {
				if got := tokenize(block, tt.text).n; got != tt.want {
					t.Errorf("%q has %d tokens with blocks of %d, want %d", tt.text, got, block, tt.want)
				}
			}
		})
	}
}

func TestTokenizerTellsPromptsApart(t *testing.T) {
	chatOf := func(role string, text string) []uint64 {
		var k tokenizer
		k.reset(1, 100)
		k.role(role)
		k.text(text)
		return k.names
	}
	ids := func(ids ...uint32) []uint64 {
		var k tokenizer
		k.reset(1, 100)
		k.ids(ids)
		return k.names
	}
	names := map[string][]uint64{
		"two words":       tokenize(1, "abcdefgh ij").names,
		"one long word":   tokenize(1, "abcdefghij").names,
		"other order":     tokenize(1, "ij abcdefgh").names,
		"a null byte":     tokenize(1, "abcdefgh ij\x00").names,
		"a chat":          chatOf("user", "abcdefgh ij"),
		"another speaker": chatOf("system", "abcdefgh ij"),
		"numbers":         ids(1, 2),
		"other numbers":   ids(2, 1),
	}
	for a, x := range names {
		for b, y := range names {
			if a != b && x[1] == y[1] {
				t.Errorf("%s and %s have the same name", a, b)
			}
		}
	}
	if x, y := names["two words"], names["a chat"]; x[0] == y[0] {
		t.Error("a role does not change the first token of its message")
	}
	if x, y := tokenize(1, "ab  cd\n").names, tokenize(1, "ab", "cd").names; !slices.Equal(x, y) {
		t.Error("the kind of white space changes the tokens")
	}
}

func TestTokenizerNamesNothingBeyondTheLimit(t *testing.T) {
	var k tokenizer
	k.reset(2, 5)
	k.text(strings.Repeat("x ", 1000))
	if k.n != 1000 || len(k.names) != 2 {
		t.Errorf("%d tokens and %d names, want 1000 and 2", k.n, len(k.names))
	}
}

// A block's name is a function of all tokens up to its end and of nothing else.
func TestTokenizerNamesPrefixes(t *testing.T) {
	words := rapid.SliceOfN(rapid.StringMatching(`[a-c]{1,8}`), 0, 60)
	rapid.Check(t, func(t *rapid.T) {
		block := rapid.IntRange(1, 8).Draw(t, "block")
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		common := rapid.IntRange(0, len(a)).Draw(t, "common")
		b = append(slices.Clone(a[:common]), b...)
		for common < len(a) && common < len(b) && a[common] == b[common] {
			common++
		}

		x, y := tokenize(block, strings.Join(a, " ")), tokenize(block, strings.Join(b, "\n"))
		if x.n != len(a) || len(x.names) != len(a)/block {
			t.Fatalf("%d words are %d tokens and %d names", len(a), x.n, len(x.names))
		}
		for i := range min(len(x.names), len(y.names)) {
			if same := (i+1)*block <= common; same != (x.names[i] == y.names[i]) {
				t.Fatalf("block %d: same content %v, names %x and %x", i, same, x.names[i], y.names[i])
			}
		}
	})
}

// An answer that comes back in a prompt has as many tokens as were generated.
func TestAnswerReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key, n := rapid.Uint64().Draw(t, "key"), rapid.IntRange(1, 50).Draw(t, "n")
		text := make([]byte, n*wordLen)
		for i := range n {
			putWord(text[i*wordLen:], key, i)
		}
		if got := tokenize(4, string(text)).n; got != n {
			t.Fatalf("%q is %d tokens, want %d", text, got, n)
		}
	})
}

func BenchmarkTokenizer(b *testing.B) {
	text := strings.Repeat("abcd ", 1000)
	for _, bb := range []struct {
		name  string
		block int
	}{{"count", 0}, {"names", 16}} {
		b.Run(bb.name, func(b *testing.B) {
			var k tokenizer
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				k.reset(bb.block, 1<<20)
				k.text(text)
			}
		})
	}
}
