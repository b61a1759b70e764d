package pool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// partsOf sums the tokens of each kind, in order of appearance.
type partsOf struct {
	kinds  []target.Content
	counts map[target.Content]int
	usage  target.Usage
	reason string
}

func (p *partsOf) add(c target.Content, n int) {
	if p.counts == nil {
		p.counts = map[target.Content]int{}
	}
	if p.counts[c] == 0 {
		p.kinds = append(p.kinds, c)
	}
	p.counts[c] += n
}

func (p *partsOf) Event(e target.Event) {
	switch e.Kind {
	case target.Token:
		p.add(e.Content, e.N)
	case target.UsageSeen:
		p.usage = *e.Usage
	case target.Finished:
		p.reason = e.Reason
	}
}

// runsOf is partsOf that takes runs.
type runsOf struct{ partsOf }

func (p *runsOf) Run(at []clock.Time, c target.Content, n int) { p.add(c, n*len(at)) }

// An answer has the parts of its shape, whether its tokens are told in runs or not.
func TestAnswersHaveTheirShape(t *testing.T) {
	for _, c := range []struct {
		name   string
		shape  target.Shape
		kinds  []target.Content
		counts map[target.Content]int
		reason string
		usage  int
	}{
		{"text", target.Shape{}, []target.Content{target.Text}, map[target.Content]int{target.Text: 40}, "length", target.Unknown},
		{
			"reasoning, text and calls",
			target.Shape{Reasoning: 7, Tool: 10, Calls: 2},
			[]target.Content{target.Reasoning, target.Text, target.Tool},
			map[target.Content]int{target.Reasoning: 7, target.Text: 13, target.Tool: 20},
			"tool_calls", 7,
		},
		{"a call alone", target.Shape{Tool: 40, Calls: 1}, []target.Content{target.Tool}, map[target.Content]int{target.Tool: 40}, "tool_calls", 0},
		{
			"reasoning alone",
			target.Shape{Reasoning: 39},
			[]target.Content{target.Reasoning, target.Text},
			map[target.Content]int{target.Reasoning: 39, target.Text: 1},
			"length", 39,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, runs := range []bool{false, true} {
				loop := clock.NewVirtual()
				p := build(t, config(t, loop, 1, "round-robin"))
				got := &runsOf{}
				var sink target.Sink = &got.partsOf
				if runs {
					sink = got
				}
				p.Start(&target.Request{In: 20, Out: 40, Shape: c.shape, Prompt: []target.Span{{Key: 1, Tokens: 20}}}, sink)
				loop.Run()
				if diff := cmp.Diff(c.counts, got.counts); diff != "" {
					t.Errorf("runs %v: tokens (-want +got):\n%s", runs, diff)
				}
				if diff := cmp.Diff(c.kinds, got.kinds); diff != "" {
					t.Errorf("runs %v: order (-want +got):\n%s", runs, diff)
				}
				if got.reason != c.reason || got.usage.Reasoning != c.usage {
					t.Errorf("runs %v: finished by %q, %d tokens of reasoning; want %q, %d", runs, got.reason, got.usage.Reasoning, c.reason, c.usage)
				}
			}
		})
	}
}
