package datasets

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"goodput/loadgen/rng"
)

// RAG are the parameters of a workload of retrieval-augmented generation: a prompt
// is a system prompt that all share, K different documents of a corpus, and a
// question of its own. Documents are drawn by popularity: document n of the corpus in
// proportion to n^-Zipf, again if the prompt has it already.
//
// A prefix cache holds a document only behind the documents before it, so the order
// decides what popularity is worth: in order of rank prompts begin with the same
// popular documents, in the order of relevance to the question, which is random
// here, they rarely do.
type RAG struct {
	// Documents is the size of the corpus, at least K.
	Documents int
	// K is the number of documents in a prompt, 1 to 100.
	K int
	// DocumentLen is the mean tokens of a document, at least 1. RangeRatio spreads
	// documents, questions and answers as that of Random does; a document has one
	// length in all prompts.
	DocumentLen int
	RangeRatio  float64
	// SystemLen is the tokens of the system prompt; 0 is none.
	SystemLen int
	// QuestionLen and OutputLen are the mean tokens of question and answer, at least
	// 1 each.
	QuestionLen, OutputLen int
	// Zipf is the exponent of popularity; 0: all documents are alike.
	Zipf float64
	// ByRank puts the documents of a prompt in order of popularity, the most popular
	// one first; otherwise their order is random.
	ByRank bool
	// NumPrompts is the number of requests, at least 1.
	NumPrompts int
	// Seed decides contents, lengths and what is drawn.
	Seed uint64
}

// maxDocuments is the largest K.
const maxDocuments = 100

func (p RAG) validate() error {
	switch {
	case p.K < 1 || p.K > maxDocuments:
		return fmt.Errorf("%d documents in a prompt: use 1 to %d", p.K, maxDocuments)
	case p.Documents < p.K || p.Documents > math.MaxInt32:
		return fmt.Errorf("a corpus of %d documents for prompts of %d: use %d to %d", p.Documents, p.K, p.K, math.MaxInt32)
	case p.NumPrompts < 1 || p.NumPrompts > math.MaxInt32:
		return fmt.Errorf("%d prompts: use 1 to %d", p.NumPrompts, math.MaxInt32)
	case !(p.RangeRatio >= 0 && p.RangeRatio < 1):
		return fmt.Errorf("the range ratio is %v: use at least 0 and less than 1", p.RangeRatio)
	}
	if err := cmp.Or(
		checkZipf(p.Zipf),
		checkTokens("the document", p.DocumentLen, 1),
		checkTokens("the system prompt", p.SystemLen, 0),
		checkTokens("the question", p.QuestionLen, 1),
		checkTokens("the answer", p.OutputLen, 1),
	); err != nil {
		return err
	}
	return checkTokens("the longest prompt", p.SystemLen+2*(p.K*p.DocumentLen+p.QuestionLen), 1)
}

// NewRAG returns the set, or an error that names the parameter that is out of range.
// Its size in memory depends neither on the corpus nor on the number of prompts.
func NewRAG(p RAG) (Set, error) {
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("dataset rag: %w", err)
	}
	return &rag{
		RAG: p, ranks: newRanks(p.Documents, p.Zipf),
		document: lengthsAround(p.DocumentLen, p.RangeRatio),
		question: lengthsAround(p.QuestionLen, p.RangeRatio), answer: lengthsAround(p.OutputLen, p.RangeRatio),
		own: rng.Of(p.Seed, "rag prompt"), corpus: rng.Of(p.Seed, "rag document"),
		system: first(rng.New(p.Seed, "rag system", 0)),
	}, nil
}

type rag struct {
	RAG
	ranks                      ranks
	document, question, answer lengths
	own, corpus                rng.Family
	system                     uint64
}

var _ Set = (*rag)(nil)

func (s *rag) Len() int { return s.NumPrompts }

func (s *rag) Timed() bool { return false }

func (s *rag) String() string {
	order := "random order"
	if s.ByRank {
		order = "by rank"
	}
	return fmt.Sprintf("rag(system %d, %d of %d documents of %d, zipf %v, %s, question %d, output %d, range ratio %v, prompts %d, seed %d)",
		s.SystemLen, s.K, s.Documents, s.DocumentLen, s.Zipf, order, s.QuestionLen, s.OutputLen, s.RangeRatio, s.NumPrompts, s.Seed)
}

func (s *rag) Item(i int, dst *Item) {
	own := s.own.Stream(uint64(i))
	*dst = Item{Prompt: dst.Prompt[:0], OutKey: own.Uint64()}
	question := Span{Key: own.Uint64(), Tokens: s.question.draw(&own), Private: true}
	dst.Out = s.answer.draw(&own)
	if s.SystemLen > 0 {
		dst.Prompt = append(dst.Prompt, Span{Key: s.system, Tokens: s.SystemLen})
		dst.Prefix = 1
	}
	var room [maxDocuments]int
	docs := s.retrieve(room[:0], &own)
	if dst.Prefix == 0 {
		dst.Prefix = uint64(docs[0]) + 1
	}
	for _, d := range docs {
		c := s.corpus.Stream(uint64(d))
		dst.Prompt = append(dst.Prompt, Span{Key: c.Uint64(), Tokens: s.document.draw(&c)})
	}
	dst.Prompt = append(dst.Prompt, question)
	for _, span := range dst.Prompt {
		dst.In += span.Tokens
	}
}

// tries bounds the draws for one place in a prompt. Where so many find only
// documents that the prompt has already, the rest of the corpus has next to no
// chance, and the most popular one that is left is taken.
const tries = 100

// retrieve appends the K documents of a prompt, by rank from 0.
func (s *rag) retrieve(dst []int, own *rng.Stream) []int {
	for len(dst) < s.K {
		d := s.ranks.draw(own)
		for n := 1; n < tries && slices.Contains(dst, d); n++ {
			d = s.ranks.draw(own)
		}
		if slices.Contains(dst, d) {
			for d = 0; slices.Contains(dst, d); d++ {
			}
		}
		dst = append(dst, d)
	}
	if s.ByRank {
		slices.Sort(dst)
	}
	return dst
}
