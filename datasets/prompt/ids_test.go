package prompt_test

import (
	"encoding/json"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
	"goodput/datasets/prompt"
)

// These bytes are a promise, as those of TestGolden are.
func TestGoldenIDs(t *testing.T) {
	for want, spans := range map[string][]datasets.Span{
		`[]`:      nil,
		goldenIDs: {{Key: 0, Tokens: 5}, {Key: 1, Tokens: 1}},
	} {
		got, err := io.ReadAll(prompt.NewIDs(spans).Reader())
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

const goldenIDs = `[6311,8996,1550,3081,8791,6560]`

// As many numbers of four digits as there are tokens, of which equal keys have the same.
func TestIDsAreTheTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := genSpans(t)
		p := prompt.NewIDs(spans)
		raw, err := io.ReadAll(iotest.OneByteReader(p.Reader()))
		if err != nil || int64(len(raw)) != p.Len() {
			t.Fatalf("%v: Len is %d, %d bytes were read", err, p.Len(), len(raw))
		}
		var ids []int
		if err := json.Unmarshal(raw, &ids); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		known := map[[2]uint64]int{}
		for _, s := range spans {
			for i := range s.Tokens {
				id := ids[0]
				ids = ids[1:]
				at := [2]uint64{s.Key, uint64(i)}
				if before, ok := known[at]; ok && before != id || id < 1000 || id > 9191 {
					t.Fatalf("token %d of key %d is %d, was %d", i, s.Key, id, before)
				}
				known[at] = id
			}
		}
		if len(ids) > 0 {
			t.Fatalf("%d numbers too many", len(ids))
		}
	})
}

func TestIDsAllocateNothing(t *testing.T) {
	buf := make([]byte, 4096)
	p := prompt.NewIDs([]datasets.Span{{Key: 1, Tokens: 10_000}})
	if n := testing.AllocsPerRun(20, func() {
		r := p.Reader()
		for {
			if _, err := r.Read(buf); err == io.EOF {
				return
			}
		}
	}); n > 1 {
		t.Errorf("%v allocations, want that of the reader alone", n)
	}
}

func BenchmarkIDs(b *testing.B) {
	p := prompt.NewIDs([]datasets.Span{{Key: 1, Tokens: 100_000}})
	b.SetBytes(p.Len())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.Copy(io.Discard, p.Reader()); err != nil {
			b.Fatal(err)
		}
	}
}
