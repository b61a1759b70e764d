package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"goodput/loadgen/rng"
)

// SharedPrefix are the parameters of a workload of applications that each begin
// their prompts with a system prompt of their own, after SGLang's
// generated-shared-prefix and inference-perf's shared_prefix. A prompt is
//
//	global | tenant | system prompt of the group | question, answer, question, ...
//
// where each level is shared by fewer: the global prefix by all, a tenant's by its
// groups (group g is of tenant g modulo Tenants), and the questions and planned
// answers so far by the turns of one conversation.
//
// The first turns of all conversations come first, then the second turns, and so on.
// Turns are arrivals like any other: they do not wait for the answer before. A load
// that waits is one of sessions (package agent).
type SharedPrefix struct {
	// Groups is the number of system prompts, at least 1.
	Groups int
	// GlobalLen, TenantLen and SystemLen are the tokens of the three prefixes; 0
	// leaves one out. Tenants is the number of tenants, at most Groups; 0 is none.
	GlobalLen, TenantLen, SystemLen int
	Tenants                         int
	// QuestionLen and OutputLen are the mean tokens of a question and of an answer,
	// at least 1 each, which RangeRatio spreads as that of Random does.
	QuestionLen, OutputLen int
	RangeRatio             float64
	// Turns is the number of requests of a conversation, at least 1.
	Turns int
	// NumPrompts is the number of requests. If it is no multiple of Turns, some
	// conversations end one turn early.
	NumPrompts int
	// Zipf is the exponent of the popularity of groups, as that of PrefixRepetition:
	// 0 gives each group an equal share of conversations.
	Zipf float64
	// Seed decides contents, lengths and order.
	Seed uint64
	// Shuffle puts conversations into random order; otherwise they come group by
	// group.
	Shuffle bool
}

// maxTurns bounds what planning one request costs.
const maxTurns = 1000

func (p SharedPrefix) validate() error {
	switch {
	case p.Turns < 1 || p.Turns > maxTurns:
		return fmt.Errorf("%d turns: use 1 to %d", p.Turns, maxTurns)
	case p.NumPrompts < 1 || p.NumPrompts > math.MaxInt32:
		return fmt.Errorf("%d prompts: use 1 to %d", p.NumPrompts, math.MaxInt32)
	case p.Groups < 1 || p.Groups > math.MaxInt32:
		return fmt.Errorf("%d groups: use 1 to %d", p.Groups, math.MaxInt32)
	case p.Zipf == 0 && p.conversations() < p.Groups:
		return fmt.Errorf("%d conversations leave some of the %d groups unused: use more prompts or fewer groups", p.conversations(), p.Groups)
	case p.Tenants < 0 || p.Tenants > p.Groups:
		return fmt.Errorf("%d tenants for %d groups: use 0 to %d, since a group has one tenant", p.Tenants, p.Groups, p.Groups)
	case p.TenantLen > 0 && p.Tenants == 0:
		return errors.New("the tenants' prefix has a length but there are no tenants: give their number or leave out the length")
	case !(p.RangeRatio >= 0 && p.RangeRatio < 1):
		return fmt.Errorf("the range ratio is %v: use at least 0 and less than 1", p.RangeRatio)
	}
	if err := cmp.Or(
		checkZipf(p.Zipf),
		checkTokens("the global prefix", p.GlobalLen, 0),
		checkTokens("the tenant's prefix", p.TenantLen, 0),
		checkTokens("the system prompt", p.SystemLen, 0),
		checkTokens("the question", p.QuestionLen, 1),
		checkTokens("the answer", p.OutputLen, 1),
	); err != nil {
		return err
	}
	return checkTokens("the longest prompt", p.GlobalLen+p.TenantLen+p.SystemLen+p.Turns*(2*p.QuestionLen+2*p.OutputLen), 1)
}

// conversations is their number: the last turn of some may be missing.
func (p SharedPrefix) conversations() int { return (p.NumPrompts + p.Turns - 1) / p.Turns }

// NewSharedPrefix returns the set, or an error that names the parameter that is out
// of range. A shuffled set holds four bytes per conversation.
func NewSharedPrefix(p SharedPrefix) (Set, error) {
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("dataset shared_prefix: %w", err)
	}
	return &sharedPrefix{
		SharedPrefix: p,
		groups:       newGroups(p.conversations(), p.Groups, p.Zipf, p.Shuffle, p.Seed, "shared_prefix"),
		question:     lengthsAround(p.QuestionLen, p.RangeRatio), answer: lengthsAround(p.OutputLen, p.RangeRatio),
		own: rng.Of(p.Seed, "shared_prefix conversation"), system: rng.Of(p.Seed, "shared_prefix system"), tenant: rng.Of(p.Seed, "shared_prefix tenant"),
		global: first(rng.New(p.Seed, "shared_prefix global", 0)),
	}, nil
}

// first is the first number of a stream.
func first(s rng.Stream) uint64 { return s.Uint64() }

type sharedPrefix struct {
	SharedPrefix
	groups              groups
	question, answer    lengths
	own, system, tenant rng.Family
	global              uint64
}

var _ Set = (*sharedPrefix)(nil)

func (s *sharedPrefix) Len() int { return s.NumPrompts }

func (s *sharedPrefix) Timed() bool { return false }

func (s *sharedPrefix) String() string {
	above := ""
	if s.GlobalLen > 0 {
		above += fmt.Sprintf("global %d, ", s.GlobalLen)
	}
	if s.Tenants > 0 {
		above += fmt.Sprintf("tenants %d of %d, ", s.Tenants, s.TenantLen)
	}
	return fmt.Sprintf("shared_prefix(%sgroups %d, system %d, question %d, output %d, range ratio %v, turns %d, prompts %d, seed %d, %s)",
		above, s.Groups, s.SystemLen, s.QuestionLen, s.OutputLen, s.RangeRatio, s.Turns, s.NumPrompts, s.Seed, &s.groups)
}

func (s *sharedPrefix) Item(i int, dst *Item) {
	n := s.groups.n
	turn := i / n
	talk, group := s.groups.of(i % n)
	*dst = Item{Prompt: s.prefix(dst.Prompt[:0], group)}
	if s.Turns > 1 {
		dst.Session, dst.Turn = uint64(talk)+1, uint16(turn)
	}
	if dst.Prefix = dst.Session; len(dst.Prompt) > 0 {
		dst.Prefix = uint64(group) + 1
	}
	own := s.own.Stream(uint64(talk))
	for t := range turn + 1 {
		question, key := own.Uint64(), own.Uint64()
		asked, out := s.question.draw(&own), s.answer.draw(&own)
		// The question of a later turn is in this conversation alone: the last one is
		// sent only once.
		dst.Prompt = append(dst.Prompt, Span{Key: question, Tokens: asked, Private: t == s.Turns-1})
		if t < turn {
			dst.Prompt = append(dst.Prompt, Span{Key: key, Tokens: out, Role: Assistant})
		}
		dst.Out, dst.OutKey = out, key
	}
	for _, span := range dst.Prompt {
		dst.In += span.Tokens
	}
}

// prefix appends what comes before the first question of a group.
func (s *sharedPrefix) prefix(dst []Span, group int) []Span {
	if s.GlobalLen > 0 {
		dst = append(dst, Span{Key: s.global, Tokens: s.GlobalLen})
	}
	if s.TenantLen > 0 {
		dst = append(dst, Span{Key: first(s.tenant.Stream(uint64(group % s.Tenants))), Tokens: s.TenantLen})
	}
	if s.SystemLen > 0 {
		dst = append(dst, Span{Key: first(s.system.Stream(uint64(group))), Tokens: s.SystemLen})
	}
	return dst
}
