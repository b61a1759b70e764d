package engine

import (
	"testing"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

func TestStaticBatchIsAdmittedWhenTheLastOneIsOver(t *testing.T) {
	cfg := small()
	cfg.Batching, cfg.MaxNumSeqs = Static, 2
	l := newLab(t, cfg)
	l.submit(0, 3, 1)
	l.submit(0, 3, 3)
	l.submit(0, 3, 1)
	l.submit(ms/2, 3, 2)
	l.submit(ms/2, 3, 1)
	// The place of 1 stays empty until 2 is done.
	l.wantSteps("1:3 2:3", "2:4", "2:5", "3:3 4:3", "4:4", "5:3")
}

func TestStaticBatchKnowsNoTokenBudget(t *testing.T) {
	cfg := small()
	cfg.Batching, cfg.ChunkedPrefill = Static, false
	l := newLab(t, cfg)
	l.submit(0, 40, 2)
	l.submit(0, 30, 1)
	l.wantSteps("1:40 2:30", "1:41")
}

// mode is one way to batch, and what it made of a workload.
type mode struct {
	name string
	cfg  Config
	// occupancy is the share of the places' time in which the sequence there gets on
	// with its own work: a place that is empty, or held up by another's prompt, is
	// idle. stall is the longest gap between two tokens of an answer, stalled the
	// number of gaps above 50 ms.
	occupancy float64
	stall     clock.Time
	stalled   int
	seqs      []*Seq
	end       clock.Time
}

// gapSink keeps the longest gap.
type gapSink struct {
	last map[*Seq]clock.Time
	m    *mode
}

func (g *gapSink) Tokens(s *Seq, now clock.Time, _ int) {
	if last, ok := g.last[s]; ok {
		g.m.stall = max(g.m.stall, now-last)
		if now-last > 50*ms {
			g.m.stalled++
		}
	}
	g.last[s] = now
}

func (g *gapSink) Finished(*Seq, clock.Time, Finish) {}

// load keeps the engine saturated: prompts and answers of very different length
// come faster than they can be served.
func (m *mode) load(t *testing.T) {
	t.Helper()
	a, _ := h100(t, m.cfg.MaxNumBatchedTokens)
	loop := clock.NewVirtual()
	e, err := New(m.cfg, a, loop)
	if err != nil {
		t.Fatal(err)
	}
	sink := &gapSink{last: map[*Seq]clock.Time{}, m: m}
	draws := rng.New(3, "lengths", 0)
	for i := range 400 {
		s := &Seq{ID: uint64(i), Prompt: 1 + int(draws.Exp()*1500)%8000, MaxTokens: 1 + int(draws.Exp()*200)%1500, Sink: sink}
		m.seqs = append(m.seqs, s)
		loop.At(clock.Time(i)*5*ms, clock.RankArrival, call{s.ID, func() {
			if err := e.Submit(s); err != nil {
				t.Error(err)
			}
		}})
	}
	loop.Run()
	m.end = loop.Now()
	var own float64
	for _, s := range m.seqs {
		own += float64(s.PrefillNS + s.DecodeNS)
	}
	m.occupancy = own / float64(m.end) / float64(m.cfg.MaxNumSeqs)
}

// Three ways to batch the same requests on the same GPU. A static batch leaves
// the places of short answers empty; continuous batching fills them, at the
// price that a whole prompt, computed at once, holds up everybody's next token;
// chunks bound that wait, at a few percent of the throughput: answers are computed
// more slowly beside a prompt.
func TestBatchingModes(t *testing.T) {
	base := serving(28156, 9216)
	base.MaxNumSeqs, base.MaxModelLen, base.PrefixCaching = 48, 9216, false
	static := mode{name: "static", cfg: base}
	static.cfg.Batching, static.cfg.ChunkedPrefill = Static, false
	continuous := mode{name: "continuous", cfg: base}
	continuous.cfg.ChunkedPrefill = false
	chunked := mode{name: "chunked", cfg: base}
	chunked.cfg.MaxNumBatchedTokens = 512
	for _, m := range []*mode{&static, &continuous, &chunked} {
		m.load(t)
		t.Logf("%-10s occupancy %.3f, longest gap %5.1f ms, %d gaps above 50 ms, end %v", m.name, m.occupancy, float64(m.stall)/1e6, m.stalled, m.end)
	}
	if !(static.occupancy < 0.5*continuous.occupancy && chunked.occupancy > 0.95*continuous.occupancy) {
		t.Errorf("occupancy %.3f, %.3f, %.3f: want static far below continuous, and chunked hardly below it", static.occupancy, continuous.occupancy, chunked.occupancy)
	}
	if !(static.stall < continuous.stall/10 && chunked.stall < continuous.stall/5) {
		t.Errorf("longest gaps %v, %v, %v: want continuous without chunks to be the worst", static.stall, continuous.stall, chunked.stall)
	}
	if static.stalled > 0 || chunked.stalled > 0 || continuous.stalled < 1000 {
		t.Errorf("%d, %d, %d gaps above 50 ms; want none, many, none", static.stalled, continuous.stalled, chunked.stalled)
	}
	if !(float64(chunked.end) < 1.05*float64(continuous.end) && float64(static.end) > 1.5*float64(continuous.end)) {
		t.Errorf("ends %v, %v, %v: want static last by far, and the others about together", static.end, continuous.end, chunked.end)
	}
}
