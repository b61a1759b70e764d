package dispatch_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"goodput/datasets/agent"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/target"
)

// TestThousandLiveSessionsFitInMemory: 1,000 sessions of 100,000 tokens each, whose later
// steps quote the answers as they came, take less than 200 MB.
func TestThousandLiveSessionsFitInMemory(t *testing.T) {
	const sessions, tokens, most = 1000, 100_000, 200e6
	c, err := agent.Preset("coding-128k")
	if err != nil {
		t.Fatal(err)
	}
	c.Context.MaxTokens = 200_000
	c.Context.ResumeFraction, c.Context.Resume = 1, agent.Dist{Kind: agent.Fixed, Value: tokens}
	set, err := agent.New(c, sessions, 1)
	if err != nil {
		t.Fatal(err)
	}
	l := clock.NewVirtual()
	s := &talker{fake: newFake(l, always(script{First: time.Second, Tokens: 1}))}
	r := prepare(t, l, &steady{n: sessions}, s, func(c *dispatch.Config) {
		c.Set, c.Sessions, c.Drain, c.Live = nil, set, 1000*time.Hour, true
	})
	largest, quoted, live := uint64(0), 0, int64(0)
	for _, at := range []clock.Time{500 * ms, 20_000 * ms, 60_000 * ms, 200_000 * ms, 600_000 * ms} {
		l.At(at, clock.RankStep, do(func(clock.Time) {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			largest = max(largest, m.HeapAlloc)
			live = max(live, r.SessionCounts().Live)
			quoted = max(quoted, s.quoted)
		}))
	}
	r.play()
	if live < sessions || s.prompt < tokens || quoted == 0 {
		t.Fatalf("%d sessions live, prompts of %d tokens, %d bytes quoted: the test shows nothing", live, s.prompt, quoted)
	}
	t.Logf("%.1f MB, the longest history %d bytes of answers", float64(largest)/1e6, quoted)
	if float64(largest) > most {
		t.Errorf("%.1f MB of heap, want at most %.0f", float64(largest)/1e6, most/1e6)
	}
}

// talker is a fake target whose answers are as long as planned.
type talker struct {
	*fake
	prompt, quoted int // the longest prompt in tokens, the most bytes that one quotes
}

func (s *talker) Start(r *target.Request, sink target.Sink) {
	n := 0
	for _, q := range r.Quotes {
		n += len(q.Text)
	}
	s.prompt, s.quoted = max(s.prompt, r.In), max(s.quoted, n)
	s.fake.Start(r, talking{sink, r})
}

type talking struct {
	target.Sink
	r *target.Request
}

func (t talking) Event(e target.Event) {
	if e.Kind == target.End && t.r.Quoted {
		res := *e.Result
		res.Answer = &target.Quote{Key: t.r.OutKey, Tokens: t.r.Out, Text: bytes.Repeat([]byte(" word"), t.r.Out)}
		e.Result = &res
	}
	t.Sink.Event(e)
}
