package prompt_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

func read(t interface{ Fatal(...any) }, spans ...datasets.Span) string {
	b, err := io.ReadAll(prompt.New(spans).Reader())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// These values are a promise: a change of any of them makes the prompts of two
// releases differ, and with them what a server has cached.
func TestGolden(t *testing.T) {
	for _, c := range []struct {
		key  uint64
		want string
	}{
		{0, goldenKey0},
		{1, goldenKey1},
		{1<<64 - 1, goldenKeyMax},
	} {
		if diff := cmp.Diff(c.want, read(t, datasets.Span{Key: c.key, Tokens: 10})); diff != "" {
			t.Errorf("key %#x (-want +got):\n%s", c.key, diff)
		}
	}
	h := sha256.New()
	spans := []datasets.Span{{Key: 7, Tokens: 100_000}, {Key: 8, Tokens: 3}, {Key: 7, Tokens: 1}, {Key: 9, Tokens: 5000}}
	if _, err := io.Copy(h, prompt.New(spans).Reader()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(goldenSum, hex.EncodeToString(h.Sum(nil))); diff != "" {
		t.Errorf("sum (-want +got):\n%s", diff)
	}
}

const (
	goldenKey0   = " hint part boot boat ever mode once mark rice coin"
	goldenKey1   = " they hire year lean move cell mass coin whom rule"
	goldenKeyMax = " seat sets lead deck page gets goes tips gain very"
	goldenSum    = "4aceacb780f88f35890bdc51198446e163f89f091edeb28efb10c40e36851ead"
)

func genSpans(t *rapid.T) []datasets.Span {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) datasets.Span {
		return datasets.Span{Key: rapid.Uint64Range(0, 5).Draw(t, "key"), Tokens: rapid.IntRange(1, 60).Draw(t, "tokens")}
	}), 0, 8).Draw(t, "spans")
}

func TestLenIsWhatIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := genSpans(t)
		tokens := 0
		for _, s := range spans {
			tokens += s.Tokens
		}
		text := prompt.New(spans)
		got := read(t, spans...)
		if int64(len(got)) != text.Len() || text.Len() != int64(5*tokens) {
			t.Fatalf("%d tokens: Len is %d, %d bytes were read", tokens, text.Len(), len(got))
		}
		if n := len(strings.Fields(got)); n != tokens {
			t.Fatalf("%d words for %d tokens", n, tokens)
		}
	})
}

// TestAnyBuffers reads one text through buffers of drawn sizes: how it is read
// must not change a byte.
func TestAnyBuffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := genSpans(t)
		want := read(t, spans...)
		sizes := rapid.SliceOfN(rapid.IntRange(0, 70), 1, 20).Draw(t, "sizes")
		r := prompt.New(spans).Reader()
		var got []byte
		for i := 0; len(got) < len(want) || i == 0; i++ {
			size := sizes[i%len(sizes)] + i/len(sizes)
			buf := bytes.Repeat([]byte{'!'}, size+8)
			n, err := r.Read(buf[:size])
			if err != nil && len(want) > 0 {
				t.Fatalf("after %d bytes of %d: %v", len(got), len(want), err)
			}
			if string(buf[size:]) != "!!!!!!!!" {
				t.Fatalf("wrote past the buffer: %q", buf)
			}
			got = append(got, buf[:n]...)
		}
		if string(got) != want {
			t.Fatalf("read %q, want %q", got, want)
		}
		if n, err := r.Read(make([]byte, 4)); n != 0 || err != io.EOF {
			t.Fatalf("at the end: %d, %v", n, err)
		}
	})
}

func TestReaderKeepsTheContract(t *testing.T) {
	spans := []datasets.Span{{Key: 1, Tokens: 37}, {Key: 2, Tokens: 1}, {Key: 1, Tokens: 200}}
	if err := iotest.TestReader(prompt.New(spans).Reader(), []byte(read(t, spans...))); err != nil {
		t.Error(err)
	}
}

func TestEqualKeysAgreeOnCommonTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Uint64().Draw(t, "key")
		a, b := rapid.IntRange(1, 200).Draw(t, "a"), rapid.IntRange(1, 200).Draw(t, "b")
		before := genSpans(t)
		lead := len(read(t, before...))
		x := read(t, append(before[:len(before):len(before)], datasets.Span{Key: key, Tokens: a})...)[lead:]
		y := read(t, datasets.Span{Key: key, Tokens: b})
		if n := min(len(x), len(y)); x[:n] != y[:n] {
			t.Fatalf("lengths %d and %d of key %#x differ:\n%s\n%s", a, b, key, x, y)
		}
	})
}

func TestDistinctKeysDiffer(t *testing.T) {
	seen := map[string]uint64{}
	for key := range uint64(20_000) {
		text := read(t, datasets.Span{Key: key, Tokens: 16})
		if other, ok := seen[text]; ok {
			t.Fatalf("keys %d and %d have the same 16 tokens", key, other)
		}
		seen[text] = key
	}
}

// TestWordsAreEquallyLikely compares counts with the chi-squared distribution of
// 511 degrees of freedom, which 640 exceeds with probability 1e-4.
func TestWordsAreEquallyLikely(t *testing.T) {
	const tokens = 512 * 400
	count := map[string]float64{}
	for _, w := range strings.Fields(read(t, datasets.Span{Key: 3, Tokens: tokens})) {
		count[w]++
	}
	if len(count) != 512 {
		t.Fatalf("%d different words", len(count))
	}
	chi2 := 0.0
	for _, c := range count {
		chi2 += (c - 400) * (c - 400) / 400
	}
	if chi2 > 640 {
		t.Errorf("chi-squared is %.1f", chi2)
	}
}

func TestNeedsNoEscaping(t *testing.T) {
	text := read(t, datasets.Span{Key: 1, Tokens: 5000})
	b, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != `"`+text+`"` {
		t.Error("JSON has escapes")
	}
}

func TestReadAllocatesNothing(t *testing.T) {
	text := prompt.New([]datasets.Span{{Key: 1, Tokens: 1000}, {Key: 2, Tokens: 1 << 30}})
	r := text.Reader()
	buf := make([]byte, 777)
	if n := testing.AllocsPerRun(100, func() { r.Read(buf) }); n != 0 {
		t.Errorf("%v allocations per Read", n)
	}
}

func ExampleNew() {
	system := datasets.Span{Key: 1, Tokens: 4}
	a := prompt.New([]datasets.Span{system, {Key: 100, Tokens: 2}})
	b := prompt.New([]datasets.Span{system, {Key: 200, Tokens: 3}})
	for _, t := range []prompt.Text{a, b} {
		text, _ := io.ReadAll(t.Reader())
		fmt.Printf("%d %q\n", t.Len(), text)
	}
	// Output:
	// 30 " they hire year lean open snow"
	// 35 " they hire year lean seat date view"
}

func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name   string
		tokens int
	}{{"span 16", 16}, {"span 512", 512}, {"span 1M", 1 << 20}} {
		b.Run(c.name, func(b *testing.B) {
			spans := make([]datasets.Span, 1<<20/c.tokens)
			for i := range spans {
				spans[i] = datasets.Span{Key: uint64(i), Tokens: c.tokens}
			}
			text := prompt.New(spans)
			buf := make([]byte, 32<<10)
			b.SetBytes(text.Len())
			b.ReportAllocs()
			for b.Loop() {
				r := text.Reader()
				for {
					if _, err := r.Read(buf); err != nil {
						break
					}
				}
			}
		})
	}
}
