package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"goodput/loadgen/rng"
)

// PrefixRepetition are the parameters of a workload in which groups of requests
// share a prefix and each request has a suffix of its own, after the
// prefix_repetition dataset of vLLM's benchmark. Unlike some versions of it,
// prompts that do not divide evenly among the prefixes are not dropped: the first
// groups get one more.
type PrefixRepetition struct {
	// PrefixLen and SuffixLen are tokens; either may be 0, not both.
	PrefixLen, SuffixLen int
	// NumPrefixes is the number of groups, at least 1.
	NumPrefixes int
	// OutputLen is the tokens of each answer, at least 1.
	OutputLen int
	// NumPrompts is the number of requests, at least NumPrefixes.
	NumPrompts int
	// Seed decides contents and order.
	Seed uint64
	// Shuffle puts the requests into random order; otherwise they come group by
	// group.
	Shuffle bool
}

// validate says which parameter is out of range.
func (p PrefixRepetition) validate() error {
	switch {
	case p.PrefixLen == 0 && p.SuffixLen == 0:
		return errors.New("prefix and suffix are both empty: give at least one of them a token")
	case p.NumPrefixes < 1:
		return fmt.Errorf("%d prefixes: use at least 1", p.NumPrefixes)
	case p.NumPrompts < p.NumPrefixes:
		return fmt.Errorf("%d prompts leave some of the %d prefixes unused: use at least %d prompts or fewer prefixes",
			p.NumPrompts, p.NumPrefixes, p.NumPrefixes)
	case p.NumPrompts > math.MaxInt32:
		return fmt.Errorf("%d prompts: use at most %d", p.NumPrompts, math.MaxInt32)
	}
	return cmp.Or(
		checkTokens("the prefix", p.PrefixLen, 0),
		checkTokens("the suffix", p.SuffixLen, 0),
		checkTokens("the answer", p.OutputLen, 1),
	)
}

// NewPrefixRepetition returns the set, or an error that names the parameter that
// is out of range. A shuffled set holds four bytes per prompt.
func NewPrefixRepetition(p PrefixRepetition) (Set, error) {
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("dataset prefix_repetition: %w", err)
	}
	s := &prefixRepetition{PrefixRepetition: p}
	if p.Shuffle {
		s.order = make([]int32, p.NumPrompts)
		for i := range s.order {
			s.order[i] = int32(i)
		}
		r := rng.New(p.Seed, "prefix_repetition order", 0)
		r.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
	}
	return s, nil
}

type prefixRepetition struct {
	PrefixRepetition
	order []int32 // item i is prompt order[i] of the unshuffled set; nil: i itself
}

var _ Set = (*prefixRepetition)(nil)

func (s *prefixRepetition) Len() int { return s.NumPrompts }

func (s *prefixRepetition) Timed() bool { return false }

func (s *prefixRepetition) String() string {
	order := "group by group"
	if s.Shuffle {
		order = "shuffled"
	}
	return fmt.Sprintf("prefix_repetition(prefix %d, suffix %d, prefixes %d, output %d, prompts %d, seed %d, %s)",
		s.PrefixLen, s.SuffixLen, s.NumPrefixes, s.OutputLen, s.NumPrompts, s.Seed, order)
}

func (s *prefixRepetition) Item(i int, dst *Item) {
	if s.order != nil {
		i = int(s.order[i])
	}
	own := rng.New(s.Seed, "prefix_repetition prompt", uint64(i))
	suffix, answer := own.Uint64(), own.Uint64()
	*dst = Item{
		Prompt: dst.Prompt[:0],
		In:     s.PrefixLen + s.SuffixLen,
		Out:    s.OutputLen,
		OutKey: answer,
	}
	if s.PrefixLen > 0 {
		group := s.group(i)
		dst.Prefix = group + 1
		shared := rng.New(s.Seed, "prefix_repetition prefix", group)
		dst.Prompt = append(dst.Prompt, Span{Key: shared.Uint64(), Tokens: s.PrefixLen})
	}
	if s.SuffixLen > 0 {
		dst.Prompt = append(dst.Prompt, Span{Key: suffix, Tokens: s.SuffixLen, Private: true})
	}
}

// group is the group of prompt i of the unshuffled set: the first
// NumPrompts%NumPrefixes groups have one prompt more than the others.
func (s *prefixRepetition) group(i int) uint64 {
	size, larger := s.NumPrompts/s.NumPrefixes, s.NumPrompts%s.NumPrefixes
	if i < larger*(size+1) {
		return uint64(i / (size + 1))
	}
	return uint64((i - larger) / size)
}
