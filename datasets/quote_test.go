package datasets_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
)

func TestKeepQuotes(t *testing.T) {
	answer := func(key uint64, tokens int) datasets.Span {
		return datasets.Span{Key: key, Tokens: tokens, Role: datasets.Assistant}
	}
	user := datasets.Span{Key: 9, Tokens: 7}
	quotes := func(keys ...uint64) []datasets.Quote {
		var out []datasets.Quote
		for _, k := range keys {
			out = append(out, datasets.Quote{Key: k, Tokens: 7, Text: []byte{byte(k)}})
		}
		return out
	}
	for _, c := range []struct {
		name  string
		have  []datasets.Quote
		spans []datasets.Span
		want  []datasets.Quote
	}{
		{"all of them", quotes(1, 2), []datasets.Span{user, answer(1, 7), user, answer(2, 7)}, quotes(1, 2)},
		{"a cut within the second", quotes(1, 2), []datasets.Span{user, answer(1, 7), user, answer(2, 3)}, quotes(1)},
		{"the first is gone", quotes(1, 2, 3), []datasets.Span{user, answer(2, 7), answer(3, 7)}, quotes(2, 3)},
		{"as the user's text, after a compaction", quotes(9), []datasets.Span{user}, nil},
		{"nothing is left", quotes(1), nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := datasets.KeepQuotes(c.have, c.spans)
			if diff := cmp.Diff(c.want, got); diff != "" && len(c.want)+len(got) > 0 {
				t.Error(diff)
			}
		})
	}
}
