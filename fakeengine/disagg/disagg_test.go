package disagg

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/router"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// flat is a model in which each step takes as long.
type flat time.Duration

var _ steptime.Model = flat(0)

func (f flat) Step(*steptime.Batch) int64 { return int64(f) * 1000 }

const ms = clock.Time(1_000_000)

// rig is prefill and decode replicas, with steps of 1 ms.
type rig struct {
	tb      testing.TB
	loop    *clock.Virtual
	p       *Prefill
	engines []*engine.Engine
	log     []string
	ways    []*way
}

// way is one request: the owner of its handoff, and the sink of its answer.
type way struct {
	rig    *rig
	h      Handoff
	answer engine.Seq
	why    engine.Finish
	ended  bool
	tokens int
	// prefilled is how often it was said to be.
	prefilled    int
	first, start clock.Time
}

// newRig has a link that carries a token in a millisecond.
func newRig(tb testing.TB, prefill, decode, blocks int, latency time.Duration) *rig {
	tb.Helper()
	r := &rig{tb: tb, loop: clock.NewVirtual()}
	policy, err := router.New("round-robin", 1)
	if err != nil {
		tb.Fatal(err)
	}
	r.p, err = New(Config{
		Replicas: prefill, Policy: policy, Link: Link{BytesPerToken: 1000, Bandwidth: 1_000_000, Latency: latency},
	}, decode, r.loop, func(i int) *engine.Engine { return r.engines[i] })
	if err != nil {
		tb.Fatal(err)
	}
	for i := range prefill + decode {
		e, err := engine.New(engine.Config{
			ID: i, MaxNumSeqs: 8, MaxNumBatchedTokens: 64, MaxModelLen: 256, BlockSize: 4, NumGPUBlocks: blocks,
			PrefixCaching: true, ChunkedPrefill: true, ReserveFullISL: true,
		}, flat(time.Millisecond), r.loop)
		if err != nil {
			tb.Fatal(err)
		}
		r.engines = append(r.engines, e)
	}
	return r
}

// call is an event that runs a function.
type call struct {
	id uint64
	f  func()
}

func (c call) Fire(clock.Time) { c.f() }
func (c call) Entity() uint64  { return c.id }

// send starts a request at an instant.
func (r *rig) send(at clock.Time, from, to, prompt, out int) *way {
	w := &way{rig: r, start: at}
	r.ways = append(r.ways, w)
	w.answer = engine.Seq{ID: uint64(len(r.ways)), Prompt: prompt, MaxTokens: out, Sink: w}
	r.loop.At(at, clock.RankArrival, call{w.answer.ID, func() {
		if err := r.p.Start(&w.h, &w.answer, from, to, w); err != nil {
			r.tb.Error(err)
		}
	}})
	return w
}

// abort gives a request up at an instant, after all else.
func (r *rig) abort(at clock.Time, w *way) {
	r.loop.At(at, clock.RankDeadline, call{w.answer.ID, func() { w.h.Abort() }})
}

func (w *way) Prefilled(_ *Handoff, now clock.Time) {
	w.prefilled++
	w.rig.note(now, "%d prefilled", w.answer.ID)
}

func (w *way) Tokens(s *engine.Seq, now clock.Time, n int) {
	if w.tokens += n; w.tokens == 1 {
		w.first = now
		w.rig.note(now, "%d first token", s.ID)
	}
	if w.h.Prefilling() {
		w.rig.tb.Errorf("%v: request %d has a token, and its KV is not there", now, s.ID)
	}
}

func (w *way) Finished(_ *engine.Seq, now clock.Time, why engine.Finish) {
	if w.ended {
		w.rig.tb.Errorf("request %d ended twice", w.answer.ID)
	}
	w.ended, w.why = true, why
	s := w.h.Spent()
	sum := s.FrontEndNS + s.QueueNS + s.PrefillNS + s.DecodeNS + s.InterferenceNS + s.PreemptedNS + s.TransferNS
	if whole := int64(now - w.start); sum != whole {
		w.rig.tb.Errorf("request %d took %d ns, its parts sum to %d: %+v", w.answer.ID, whole, sum, s)
	}
}

func (r *rig) note(now clock.Time, format string, args ...any) {
	r.log = append(r.log, fmt.Sprintf("%v: %s", float64(now)/1e6, fmt.Sprintf(format, args...)))
}

// checkIdle: nothing is left anywhere.
func (r *rig) checkIdle() {
	r.tb.Helper()
	for i, e := range r.engines {
		if s := e.Stats(); s.Arriving+s.Waiting+s.Running != 0 || s.KVUsed != 0 {
			r.tb.Errorf("replica %d is not idle: %+v", i, s)
		}
	}
	n := r.p.net
	for i := range n.out {
		if n.out[i].sending != nil || n.in[i] {
			r.tb.Errorf("the link of replica %d is not idle", i)
		}
	}
	if n.posted.head != nil || n.line.head != nil {
		r.tb.Error("transfers are left")
	}
}

// TestLinksAreTakenInTurn: a link sends one transfer at a time, and one that could
// begin passes those that could not.
func TestLinksAreTakenInTurn(t *testing.T) {
	r := newRig(t, 2, 2, 65, 2*time.Millisecond)
	r.send(0, 0, 2, 10, 1) // on the wire from 3 to 13 ms
	r.send(0, 0, 3, 10, 1) // its source is busy until then
	r.send(0, 1, 2, 5, 1)  // its destination is, too
	r.send(0, 1, 3, 6, 1)  // is last in line, and begins at once
	r.loop.Run()
	want := []string{
		"1: 1 prefilled", "1: 2 prefilled", "1: 3 prefilled", "1: 4 prefilled",
		"10: 4 first token", // 3 + 6 + 1
		"14: 1 first token",
		"19: 3 first token", // 13 + 5 + 1
		"24: 2 first token",
	}
	if diff := cmp.Diff(want, r.log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := r.p.Moved(), (Moved{Transfers: 4, Tokens: 31, Bytes: 31_000}); got != want {
		t.Errorf("%+v was moved, want %+v", got, want)
	}
	r.checkIdle()
}

// TestWithdrawnTransferFreesTheLink, and what it has left on the loop ends no
// other transfer.
func TestWithdrawnTransferFreesTheLink(t *testing.T) {
	for name, c := range map[string]struct {
		at    clock.Time
		first string
	}{
		"before its latency is over": {2 * ms, "14: 2 first token"},
		"on the wire":                {8 * ms, "19: 2 first token"},
		"there":                      {13 * ms, "24: 2 first token"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1, 2, 65, 2*time.Millisecond)
			w := r.send(0, 0, 1, 10, 1)
			r.send(0, 0, 2, 10, 1)
			r.abort(c.at, w)
			r.loop.Run()
			if diff := cmp.Diff([]string{"1: 1 prefilled", "1: 2 prefilled", c.first}, r.log); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !w.ended || w.why != engine.Aborted {
				t.Error("the aborted one did not end so")
			}
			r.checkIdle()
		})
	}
}

// TestSourceHoldsItsBlocks: a prefill replica that is full of blocks which nobody
// has fetched takes no new prompt, and goes on when they are fetched.
func TestSourceHoldsItsBlocks(t *testing.T) {
	r := newRig(t, 1, 1, 6, 0) // five blocks of four tokens
	r.send(0, 0, 1, 12, 1)
	r.send(0, 0, 1, 12, 1)
	r.loop.Run()
	want := []string{
		"1: 1 prefilled",
		// Its blocks are free when the transfer is over, at 13 ms.
		"14: 2 prefilled", "14: 1 first token",
		"27: 2 first token",
	}
	if diff := cmp.Diff(want, r.log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.checkIdle()
}

func TestWireTimeIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := Link{
			BytesPerToken: rapid.Int64Range(1, 1<<21).Draw(rt, "bytes"),
			Bandwidth:     rapid.Int64Range(1_000, 1<<40).Draw(rt, "bandwidth"),
		}
		tokens := rapid.IntRange(0, 1<<20).Draw(rt, "tokens")
		num := new(big.Int).Mul(big.NewInt(int64(tokens)*l.BytesPerToken), big.NewInt(1e9))
		want, rest := new(big.Int).QuoRem(num, big.NewInt(l.Bandwidth), new(big.Int))
		if rest.Sign() > 0 {
			want.Add(want, big.NewInt(1))
		}
		if got := l.wire(tokens); int64(got) != want.Int64() {
			rt.Fatalf("%d ns, want %v", got, want)
		}
	})
}

// TestHandoffsUnderRandomLoad: whatever is aborted when, every request ends once,
// no token comes before the KV or twice, the parts of its time sum to the whole, and
// no block or link stays in use.
func TestHandoffsUnderRandomLoad(t *testing.T) {
	var aborted, completed int
	rapid.Check(t, func(rt *rapid.T) {
		prefill, decode := rapid.IntRange(1, 3).Draw(rt, "prefill"), rapid.IntRange(1, 3).Draw(rt, "decode")
		latency := time.Duration(rapid.IntRange(0, 4).Draw(rt, "latency")) * time.Millisecond / 2
		r := newRig(t, prefill, decode, rapid.IntRange(14, 40).Draw(rt, "blocks"), latency)
		for range rapid.IntRange(1, 20).Draw(rt, "requests") {
			at := clock.Time(rapid.IntRange(0, 60).Draw(rt, "at")) * ms / 2
			w := r.send(at, rapid.IntRange(0, prefill-1).Draw(rt, "from"), prefill+rapid.IntRange(0, decode-1).Draw(rt, "to"),
				rapid.IntRange(1, 30).Draw(rt, "prompt"), rapid.IntRange(1, 20).Draw(rt, "out"))
			if rapid.IntRange(0, 2).Draw(rt, "gives up") == 0 {
				r.abort(at+clock.Time(rapid.IntRange(0, 120).Draw(rt, "patience"))*ms/2, w)
			}
		}
		r.loop.Run()
		r.checkIdle()
		for _, w := range r.ways {
			switch {
			case !w.ended || w.prefilled != 1:
				rt.Fatalf("request %d: ended %v, prefilled %d times", w.answer.ID, w.ended, w.prefilled)
			case w.why == engine.Aborted:
				aborted++
			case w.tokens != w.answer.MaxTokens:
				rt.Fatalf("request %d gave %d tokens, want %d", w.answer.ID, w.tokens, w.answer.MaxTokens)
			default:
				completed++
				if least := w.start + 2*ms + clock.Time(latency) + clock.Time(w.h.tokens)*ms; w.first < least {
					rt.Fatalf("request %d: first token at %v, two steps and the link take until %v", w.answer.ID, w.first, least)
				}
			}
		}
		if t.Failed() {
			rt.Fatalf("see above; the log:\n%s", strings.Join(r.log, "\n"))
		}
	})
	if aborted == 0 || completed == 0 {
		t.Errorf("%d aborted and %d completed", aborted, completed)
	}
}

// ExamplePrefill hands one request over.
func ExamplePrefill() {
	loop := clock.NewVirtual()
	policy, _ := router.New("round-robin", 0)
	var engines []*engine.Engine
	p, err := New(Config{
		Replicas: 1, Policy: policy, Link: Link{BytesPerToken: 131_072, Bandwidth: 50e9, Latency: time.Millisecond},
	}, 1, loop, func(i int) *engine.Engine { return engines[i] })
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 2 {
		e, _ := engine.New(engine.Config{
			ID: i, MaxNumSeqs: 8, MaxNumBatchedTokens: 8192, MaxModelLen: 8192, BlockSize: 16, NumGPUBlocks: 1000, ChunkedPrefill: true,
		}, flat(10*time.Millisecond), loop)
		engines = append(engines, e)
	}
	s := &engine.Seq{ID: 1, Prompt: 5000, MaxTokens: 2, Sink: printer{}}
	if p.Wanted(1, s) {
		var h Handoff
		route := router.Request{InTokens: s.Prompt, MaxOut: 1}
		from := p.Fleet().Pick(&route)
		_ = p.Start(&h, s, from, 1, printer{})
	}
	loop.Run()
	// Output:
	// prefilled at 10ms
	// token at 34.1072ms
	// token at 44.1072ms
}

type printer struct{}

func (printer) Prefilled(_ *Handoff, now clock.Time) { fmt.Println("prefilled at", now) }

func (printer) Tokens(_ *engine.Seq, now clock.Time, _ int)           { fmt.Println("token at", now) }
func (printer) Finished(_ *engine.Seq, _ clock.Time, _ engine.Finish) {}
