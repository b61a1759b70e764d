package datasets_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
)

func TestTriggerNames(t *testing.T) {
	for want := datasets.ByUser; want <= datasets.BySpawn; want++ {
		if got, ok := datasets.ParseTrigger(want.String()); !ok || got != want {
			t.Errorf("%q is read as %v, %v", want, got, ok)
		}
	}
	if got, ok := datasets.ParseTrigger(datasets.Trigger(99).String()); ok {
		t.Errorf("an unknown trigger is read as %v", got)
	}
}

// Cut keeps the content and its order up to the limit.
func TestCut(t *testing.T) {
	span := rapid.Custom(func(t *rapid.T) datasets.Span {
		return datasets.Span{Key: rapid.Uint64Range(0, 3).Draw(t, "key"), Tokens: rapid.IntRange(1, 9).Draw(t, "tokens")}
	})
	rapid.Check(t, func(t *rapid.T) {
		spans := rapid.SliceOfN(span, 0, 6).Draw(t, "spans")
		limit := rapid.IntRange(-1, 60).Draw(t, "limit")
		all, cut := tokens(spans), tokens(datasets.Cut(nil, spans, limit))
		if diff := cmp.Diff(all[:max(0, min(limit, len(all)))], cut); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// tokens writes spans out, one name for each token.
func tokens(spans []datasets.Span) []string {
	names := []string{}
	for _, s := range spans {
		for i := range s.Tokens {
			names = append(names, fmt.Sprint(s.Key, ":", i))
		}
	}
	return names
}

func ExampleStep_Context() {
	first := datasets.Step{Append: []datasets.Span{{Key: 1, Tokens: 100}}, In: 100, Out: 20, OutKey: 7}
	// The second step rewinds into the answer.
	second := datasets.Step{Keep: 110, Append: []datasets.Span{{Key: 2, Tokens: 5}}, In: 115, Out: 1, OutKey: 8}
	context := first.Context(nil, nil)
	for _, s := range second.Prompt(nil, context) {
		fmt.Printf("%v %d: %d tokens\n", s.Role, s.Key, s.Tokens)
	}
	// Output:
	// user 1: 100 tokens
	// assistant 7: 10 tokens
	// user 2: 5 tokens
}
