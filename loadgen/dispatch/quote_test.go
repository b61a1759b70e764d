package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/target"
)

// speaker is the fake target with text: each answer is the name of its step.
type speaker struct {
	*fake
	lose map[uint64]bool // by OutKey: the text is lost
	// quotes are what each request quoted, by its OutKey.
	quotes map[uint64][]string
}

func (s *speaker) Start(r *target.Request, sink target.Sink) {
	var all []string
	for _, q := range r.Quotes {
		all = append(all, string(q.Text))
	}
	s.quotes[r.OutKey] = all
	s.fake.Start(r, teller{sink, s, r})
}

// teller adds the answer to the End.
type teller struct {
	target.Sink
	s *speaker
	r *target.Request
}

func (t teller) Event(e target.Event) {
	if e.Kind == target.End && t.r.Quoted {
		res := *e.Result
		if t.s.lose[t.r.OutKey] {
			res.AnswerLost = true
		} else {
			res.Answer = &target.Quote{Key: t.r.OutKey, Tokens: t.r.Out, Text: fmt.Appendf(nil, "said %d", t.r.OutKey)}
		}
		e.Result = &res
	}
	t.Sink.Event(e)
}

func playSpeaker(t *testing.T, set datasets.SessionSet, lose map[uint64]bool, edit func(*dispatch.Config)) (*speaker, *run) {
	t.Helper()
	l := clock.NewVirtual()
	s := &speaker{fake: newFake(l, always(script{First: 10 * time.Millisecond, Tokens: 2})), lose: lose, quotes: map[uint64][]string{}}
	r := prepare(t, l, &steady{n: uint64(set.Sessions())}, s, func(c *dispatch.Config) {
		c.Set, c.Sessions, c.Drain, c.Live = nil, set, time.Hour, true
		if edit != nil {
			edit(c)
		}
	})
	r.play()
	return s, r
}

func TestAnswersAreQuotedAsTheyCame(t *testing.T) {
	forked := steps(0, 0, 0)
	child := datasets.Thread{Parent: 0, Spawn: 1, Join: -1, Steps: []datasets.Step{
		{Keep: 24, Append: []datasets.Span{{Key: 50, Tokens: 1}}, In: 25, Out: 2, OutKey: 201},
		{Keep: 27, Append: []datasets.Span{{Key: 51, Tokens: 1}}, In: 28, Out: 2, OutKey: 202},
	}}
	fresh := child
	fresh.Steps = []datasets.Step{{Append: []datasets.Span{{Key: 50, Tokens: 1}}, In: 1, Out: 2, OutKey: 201}}
	rewound := steps(0, 0, 0, 0)
	rewound.Steps[2].Keep, rewound.Steps[2].In = 12, 22 // the second step is forgotten
	rewound.Steps[3].Keep, rewound.Steps[3].In = 24, 34
	within := steps(0, 0, 0)
	within.Steps[2].Keep, within.Steps[2].In = 23, 33 // half of the second answer
	for _, c := range []struct {
		name     string
		threads  []datasets.Thread
		lose     map[uint64]bool
		want     map[uint64][]string
		unquoted int64
	}{
		{
			"each later step",
			[]datasets.Thread{steps(0, 0, 0)},
			nil,
			map[uint64][]string{101: nil, 102: {"said 101"}, 103: {"said 101", "said 102"}},
			0,
		},
		{
			"one was lost",
			[]datasets.Thread{steps(0, 0, 0)},
			map[uint64]bool{101: true},
			map[uint64][]string{101: nil, 102: nil, 103: {"said 102"}},
			1,
		},
		{
			"a fork has those of its parent",
			[]datasets.Thread{forked, child},
			nil,
			map[uint64][]string{
				101: nil, 102: {"said 101"}, 103: {"said 101", "said 102"},
				201: {"said 101", "said 102"}, 202: {"said 101", "said 102", "said 201"},
			},
			0,
		},
		{
			"a fresh sub-agent has none",
			[]datasets.Thread{forked, fresh},
			nil,
			map[uint64][]string{101: nil, 102: {"said 101"}, 103: {"said 101", "said 102"}, 201: nil},
			0,
		},
		{
			"what is forgotten is not quoted",
			[]datasets.Thread{rewound},
			nil,
			map[uint64][]string{101: nil, 102: {"said 101"}, 103: {"said 101"}, 104: {"said 101", "said 103"}},
			0,
		},
		{
			"no part of an answer is quoted",
			[]datasets.Thread{within},
			nil,
			map[uint64][]string{101: nil, 102: {"said 101"}, 103: {"said 101"}},
			0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := plans{{ID: 1, Threads: c.threads}}
			s, r := playSpeaker(t, set, c.lose, nil)
			if diff := cmp.Diff(c.want, s.quotes); diff != "" {
				t.Errorf("quotes (-want +got):\n%s", diff)
			}
			if n := r.Counters().Unquoted; n != c.unquoted {
				t.Errorf("%d answers lost, want %d", n, c.unquoted)
			}
		})
	}
}

// With the planned history nothing is told, and nothing is quoted.
func TestPlannedHistoryQuotesNothing(t *testing.T) {
	s, r := playSpeaker(t, plans{{ID: 1, Threads: []datasets.Thread{steps(0, 0, 0)}}}, nil, func(c *dispatch.Config) { c.Live = false })
	want := map[uint64][]string{101: nil, 102: nil, 103: nil}
	if diff := cmp.Diff(want, s.quotes); diff != "" || len(r.rows) != 3 {
		t.Errorf("%d rows, quotes (-want +got):\n%s", len(r.rows), diff)
	}
}
