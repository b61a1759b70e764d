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
	// NumPrompts is the number of requests, at least NumPrefixes unless Zipf draws
	// among them.
	NumPrompts int
	// Zipf is the exponent of the popularity of prefixes: prefix n is drawn in
	// proportion to n^-Zipf. 0 gives each prefix an equal share instead of drawing.
	Zipf float64
	// Seed decides contents and order.
	Seed uint64
	// Shuffle puts the requests into random order; otherwise they come group by
	// group. Zipf draws them in random order either way.
	Shuffle bool
}

// validate says which parameter is out of range.
func (p PrefixRepetition) validate() error {
	switch {
	case p.PrefixLen == 0 && p.SuffixLen == 0:
		return errors.New("prefix and suffix are both empty: give at least one of them a token")
	case p.NumPrefixes < 1:
		return fmt.Errorf("%d prefixes: use at least 1", p.NumPrefixes)
	case p.NumPrefixes > math.MaxInt32:
		return fmt.Errorf("%d prefixes: use at most %d", p.NumPrefixes, math.MaxInt32)
	case p.Zipf == 0 && p.NumPrompts < p.NumPrefixes:
		return fmt.Errorf("%d prompts leave some of the %d prefixes unused: use at least %d prompts or fewer prefixes",
			p.NumPrompts, p.NumPrefixes, p.NumPrefixes)
	case p.NumPrompts < 1:
		return fmt.Errorf("%d prompts: use at least 1", p.NumPrompts)
	case p.NumPrompts > math.MaxInt32:
		return fmt.Errorf("%d prompts: use at most %d", p.NumPrompts, math.MaxInt32)
	}
	return cmp.Or(
		checkZipf(p.Zipf),
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
	return &prefixRepetition{
		PrefixRepetition: p, groups: p.groups(),
		own: rng.Of(p.Seed, "prefix_repetition prompt"), shared: rng.Of(p.Seed, "prefix_repetition prefix"),
	}, nil
}

func (p PrefixRepetition) groups() groups {
	return newGroups(p.NumPrompts, p.NumPrefixes, p.Zipf, p.Shuffle, p.Seed, "prefix_repetition")
}

// SuffixFor returns the SuffixLen with which the ideal hit rate of one endless cache
// with blocks of block tokens comes closest to hit, all else being equal. Each prompt
// but the first of its prefix finds the full blocks of the prefix, so the rate is
//
//	(prompts - prefixes) * blocks of the prefix / (prompts * (prefix + suffix))
//
// where only prefixes that are asked for count. The error tells the highest rate
// that can be had.
func (p PrefixRepetition) SuffixFor(hit float64, block int) (int, error) {
	p.SuffixLen = 1 // so that the prefix alone needs no token computed again
	if err := p.validate(); err != nil {
		return 0, fmt.Errorf("dataset prefix_repetition: %w", err)
	}
	if !(hit > 0 && hit < 1) {
		return 0, fmt.Errorf("a hit rate of %v: use more than 0 and less than 1", hit)
	}
	g := p.groups()
	found := float64(p.NumPrompts-g.used()) * float64(p.PrefixLen/block*block) / float64(p.NumPrompts) // tokens a prompt
	suffix := math.Round(found/hit) - float64(p.PrefixLen)
	if suffix < 1 {
		return 0, fmt.Errorf("prompts of a prefix of %d tokens and any suffix hit %.4g at most, %d prompts with %d prefixes and blocks of %d tokens: ask for less, for more prompts or for fewer prefixes",
			p.PrefixLen, found/float64(p.PrefixLen+1), p.NumPrompts, g.used(), block)
	}
	if suffix > MaxTokens {
		return 0, fmt.Errorf("a hit rate of %v needs suffixes of %.3g tokens, more than the limit of %d: ask for more", hit, suffix, MaxTokens)
	}
	return int(suffix), nil
}

type prefixRepetition struct {
	PrefixRepetition
	groups      groups
	own, shared rng.Family
}

var _ Set = (*prefixRepetition)(nil)

func (s *prefixRepetition) Len() int { return s.NumPrompts }

func (s *prefixRepetition) Timed() bool { return false }

func (s *prefixRepetition) String() string {
	return fmt.Sprintf("prefix_repetition(prefix %d, suffix %d, prefixes %d, output %d, prompts %d, seed %d, %s)",
		s.PrefixLen, s.SuffixLen, s.NumPrefixes, s.OutputLen, s.NumPrompts, s.Seed, &s.groups)
}

func (s *prefixRepetition) Item(i int, dst *Item) {
	i, group := s.groups.of(i)
	own := s.own.Stream(uint64(i))
	suffix, answer := own.Uint64(), own.Uint64()
	*dst = Item{
		Prompt: dst.Prompt[:0],
		In:     s.PrefixLen + s.SuffixLen,
		Out:    s.OutputLen,
		OutKey: answer,
	}
	if s.PrefixLen > 0 {
		dst.Prefix = uint64(group) + 1
		shared := s.shared.Stream(uint64(group))
		dst.Prompt = append(dst.Prompt, Span{Key: shared.Uint64(), Tokens: s.PrefixLen})
	}
	if s.SuffixLen > 0 {
		dst.Prompt = append(dst.Prompt, Span{Key: suffix, Tokens: s.SuffixLen, Private: true})
	}
}
