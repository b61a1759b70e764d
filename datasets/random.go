package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"goodput/loadgen/rng"
)

// Random are the parameters of a workload of unrelated requests with random
// lengths, after the random dataset of vLLM's benchmark: a length is uniform over
// the whole numbers from floor(len*(1-r)) to ceil(len*(1+r)), but never less
// than 1.
type Random struct {
	// InputLen is the mean tokens of a prompt without the prefix. 0 is none,
	// which needs a prefix.
	InputLen int
	// OutputLen is the mean tokens of an answer, at least 1.
	OutputLen int
	// PrefixLen is the tokens of one prefix that all prompts begin with; 0 is
	// none. It comes on top of InputLen.
	PrefixLen int
	// RangeRatio is r, 0 <= r < 1. 0 makes all lengths equal. OutputRatio is that of the
	// answers; nil: it is the same.
	RangeRatio  float64
	OutputRatio *float64
	// NumPrompts is the number of requests, at least 1.
	NumPrompts int
	// Seed decides contents and lengths.
	Seed uint64
}

func (p Random) outputRatio() float64 {
	if p.OutputRatio == nil {
		return p.RangeRatio
	}
	return *p.OutputRatio
}

func (p Random) validate() error {
	switch {
	case p.InputLen == 0 && p.PrefixLen == 0:
		return errors.New("input and prefix are both empty: give at least one of them a token")
	case !(p.RangeRatio >= 0 && p.RangeRatio < 1):
		return fmt.Errorf("the range ratio is %v: use at least 0 and less than 1", p.RangeRatio)
	case !(p.outputRatio() >= 0 && p.outputRatio() < 1):
		return fmt.Errorf("the range ratio of answers is %v: use at least 0 and less than 1", p.outputRatio())
	case p.NumPrompts < 1:
		return fmt.Errorf("%d prompts: use at least 1", p.NumPrompts)
	}
	return cmp.Or(
		checkTokens("the input", p.InputLen, 0),
		checkTokens("the answer", p.OutputLen, 1),
		checkTokens("the prefix", p.PrefixLen, 0),
	)
}

// NewRandom returns the set, or an error that names the parameter that is out of
// range. Its size in memory does not depend on the number of prompts.
func NewRandom(p Random) (Set, error) {
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("dataset random: %w", err)
	}
	s := &random{Random: p, own: rng.Of(p.Seed, "random prompt"), in: lengthsAround(p.InputLen, p.RangeRatio), out: lengthsAround(p.OutputLen, p.outputRatio())}
	prefix := rng.New(p.Seed, "random prefix", 0)
	s.prefix = prefix.Uint64()
	return s, nil
}

type random struct {
	Random
	in, out lengths
	own     rng.Family // of each prompt
	prefix  uint64     // key of the shared prefix
}

var _ Set = (*random)(nil)

func (s *random) Len() int { return s.NumPrompts }

func (s *random) Timed() bool { return false }

func (s *random) String() string {
	ratio := fmt.Sprint(s.RangeRatio)
	if out := s.outputRatio(); out != s.RangeRatio {
		ratio += fmt.Sprintf(" and %v", out)
	}
	return fmt.Sprintf("random(input %d, output %d, prefix %d, range ratio %s, prompts %d, seed %d)",
		s.InputLen, s.OutputLen, s.PrefixLen, ratio, s.NumPrompts, s.Seed)
}

func (s *random) Item(i int, dst *Item) {
	own := s.own.Stream(uint64(i))
	input, answer := own.Uint64(), own.Uint64()
	in, out := s.in.draw(&own), s.out.draw(&own)
	*dst = Item{Prompt: dst.Prompt[:0], In: s.PrefixLen + in, Out: out, OutKey: answer}
	if s.PrefixLen > 0 {
		dst.Prefix = 1
		dst.Prompt = append(dst.Prompt, Span{Key: s.prefix, Tokens: s.PrefixLen})
	}
	if in > 0 {
		dst.Prompt = append(dst.Prompt, Span{Key: input, Tokens: in, Private: true})
	}
}

// lengths is a uniform distribution over low, low+1, ... high.
type lengths struct{ low, high int }

// lengthsAround spreads a mean by the ratio r. A mean of 0 stays 0.
func lengthsAround(mean int, r float64) lengths {
	if mean == 0 {
		return lengths{}
	}
	low := math.Floor(float64(mean) * (1 - r))
	high := math.Ceil(float64(mean) * (1 + r))
	return lengths{low: max(1, int(low)), high: int(high)}
}

func (l lengths) draw(s *rng.Stream) int { return l.low + s.IntN(l.high-l.low+1) }
