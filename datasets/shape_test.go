package datasets_test

import (
	"testing"

	"goodput/datasets"
)

func TestShapeOfAnAnswer(t *testing.T) {
	results := func(calls ...uint8) []datasets.Span {
		var out []datasets.Span
		for i, n := range calls {
			out = append(out, datasets.Span{Key: uint64(i), Tokens: 5, Role: datasets.Tool, Calls: n})
		}
		return out
	}
	step := func(out, reasoning int) datasets.Step { return datasets.Step{In: 10, Out: out, Reasoning: reasoning} }
	for _, c := range []struct {
		name  string
		first datasets.Step
		next  []datasets.Span
		keep  int
		want  string
	}{
		{"the user goes on", step(20, 0), []datasets.Span{{Key: 1, Tokens: 3}}, 30, ""},
		{"reasoning", step(20, 8), []datasets.Span{{Key: 1, Tokens: 3}}, 30, "reasoning=8"},
		{"one call", step(20, 0), results(1), 30, "tool=20,calls=1"},
		{"three calls, and text before them", step(20, 3), results(3), 30, "reasoning=3,tool=5,calls=3"},
		{"results in two parts", step(20, 0), results(2, 0), 30, "tool=10,calls=2"},
		{"more calls than tokens", step(2, 0), results(4), 12, "tool=1,calls=2"},
		{"all of it is reasoning", step(2, 9), results(1), 12, "reasoning=2"},
		{"the answer is not sent back", step(20, 0), results(1), 10, ""},
		{"the last step", step(20, 4), nil, 0, "reasoning=4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			thread := datasets.Thread{Steps: []datasets.Step{c.first}}
			if c.next != nil {
				thread.Steps = append(thread.Steps, datasets.Step{Keep: c.keep, Append: c.next})
			}
			got := thread.Shape(0)
			if got.String() != c.want || got.Reasoning+got.Tool*got.Calls > c.first.Out {
				t.Errorf("%+v %q, want %q", got, got, c.want)
			}
		})
	}
}
