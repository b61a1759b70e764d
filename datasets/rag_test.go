package datasets_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"goodput/datasets"
)

func TestDocumentsOfAPrompt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := genRAG(t)
		s, err := datasets.NewRAG(p)
		lengths := map[uint64]int{} // of documents, by key
		for i, it := range items(must(t, s, err)) {
			docs := it.Prompt[:len(it.Prompt)-1]
			if p.SystemLen > 0 {
				docs = docs[1:]
			}
			if len(docs) != p.K {
				t.Fatalf("item %d has %d documents", i, len(docs))
			}
			seen := map[uint64]bool{}
			for _, d := range docs {
				if seen[d.Key] {
					t.Fatalf("item %d has a document twice", i)
				}
				seen[d.Key] = true
				if n, ok := lengths[d.Key]; ok && n != d.Tokens {
					t.Fatalf("document %#x has %d and %d tokens", d.Key, n, d.Tokens)
				}
				lengths[d.Key] = d.Tokens
			}
		}
		if len(lengths) > p.Documents {
			t.Fatalf("%d documents of %d", len(lengths), p.Documents)
		}
	})
}

// TestDocumentsFollowZipf compares the first documents of prompts in random order,
// which are drawn by popularity alone, with their chances.
func TestDocumentsFollowZipf(t *testing.T) {
	const n, corpus, zipf = 40_000, 30, 0.8
	s, err := datasets.NewRAG(datasets.RAG{Documents: corpus, K: 3, DocumentLen: 10, QuestionLen: 5, OutputLen: 5, Zipf: zipf, NumPrompts: n})
	must(t, s, err)
	count := make([]float64, corpus)
	var it datasets.Item
	for i := range n {
		s.Item(i, &it)
		count[it.Prefix-1]++
	}
	sum := 0.0
	for k := range corpus {
		sum += math.Pow(float64(k+1), -zipf)
	}
	for k, f := range count {
		p := math.Pow(float64(k+1), -zipf) / sum
		if sd := math.Sqrt(n * p * (1 - p)); math.Abs(f-n*p) > 5*sd {
			t.Errorf("document %d comes first %v times of %d, want %.0f", k+1, f, n, n*p)
		}
	}
}

// TestOrderOfDocumentsDecidesReuse: the same popularity is worth more when the most
// popular documents come first.
func TestOrderOfDocumentsDecidesReuse(t *testing.T) {
	rate := func(byRank bool) float64 {
		s, err := datasets.NewRAG(datasets.RAG{
			Documents: 200, K: 4, DocumentLen: 160, SystemLen: 160, QuestionLen: 16, OutputLen: 5, Zipf: 1.2, ByRank: byRank, NumPrompts: 3000,
		})
		r, _ := datasets.Ideal(must(t, s, err), 3000, 16, nil).Rate()
		return r
	}
	// The question and the last token of each prompt aside, the system prompt is found
	// at the least: 160 of 816 tokens.
	random, ranked := rate(false), rate(true)
	if !(random > 160./816 && ranked > random+0.05 && ranked < 800./816) {
		t.Errorf("by rank %.3f, at random %.3f", ranked, random)
	}
}

func TestRAGErrors(t *testing.T) {
	good := datasets.RAG{Documents: 5, K: 5, DocumentLen: 8, QuestionLen: 8, OutputLen: 1, NumPrompts: 4, Zipf: 10}
	if _, err := datasets.NewRAG(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want   string
		change func(p *datasets.RAG)
	}{
		{"0 documents in a prompt", func(p *datasets.RAG) { p.K = 0 }},
		{"corpus of 4 documents for prompts of 5", func(p *datasets.RAG) { p.Documents = 4 }},
		{"0 prompts", func(p *datasets.RAG) { p.NumPrompts = 0 }},
		{"the range ratio is -1", func(p *datasets.RAG) { p.RangeRatio = -1 }},
		{"exponent is NaN", func(p *datasets.RAG) { p.Zipf = math.NaN() }},
		{"the document is 0 tokens", func(p *datasets.RAG) { p.DocumentLen = 0 }},
		{"the longest prompt is", func(p *datasets.RAG) { p.DocumentLen = 1 << 27 }},
	} {
		t.Run(c.want, func(t *testing.T) {
			p := good
			c.change(&p)
			if s, err := datasets.NewRAG(p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v, want an error with %q", s, err, c.want)
			}
		})
	}
}

func ExampleNewRAG() {
	for _, byRank := range []bool{true, false} {
		set, err := datasets.NewRAG(datasets.RAG{
			Documents: 1000, K: 5, DocumentLen: 512, SystemLen: 256, QuestionLen: 64, OutputLen: 128, Zipf: 1, ByRank: byRank, NumPrompts: 2000,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		rate, _ := datasets.Ideal(set, set.Len(), 16, nil).Rate()
		fmt.Printf("by rank %v: ideal hit rate %.2f\n", byRank, rate)
	}
	// Output:
	// by rank true: ideal hit rate 0.45
	// by rank false: ideal hit rate 0.26
}
