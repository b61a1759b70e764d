package pool_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// log writes down what the attempts saw, one event a line.
func log(recs []recorder) []byte {
	var b bytes.Buffer
	for i := range recs {
		for _, e := range recs[i].events {
			fmt.Fprintf(&b, "%d %d %d %d %d %d %s", i, e.At, e.Kind, e.Content, e.Status, e.N, e.Reason)
			if e.Usage != nil {
				fmt.Fprintf(&b, " %+v", *e.Usage)
			}
			if e.Result != nil {
				r := *e.Result
				if r.Server != nil {
					fmt.Fprintf(&b, " %+v", *r.Server)
				}
				r.Server = nil
				fmt.Fprintf(&b, " %+v", r)
			}
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// TestRealIsVirtual is invariant 6: the same script on the wall clock of a bubble
// and in virtual time gives the same log, byte by byte.
func TestRealIsVirtual(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt)
		if rapid.Bool().Draw(rt, "faulty") {
			s.faults = drawFaults(rt, s.replicas)
		}
		bothClocks(t, rt, &s)
	})
}

// pair is a model of two ranks that step together.
type pair struct{}

var _ steptime.Ranked = pair{}

func (p pair) Step(b *steptime.Batch) int64 { return p.Own(b) + p.Together(b.Tokens) }
func (pair) Ranks() int                     { return 2 }
func (pair) Own(b *steptime.Batch) int64    { return 5e9 + 1e8*int64(b.Tokens) }
func (pair) Together(tokens int) int64      { return 4e9 + 2e7*int64(tokens) }

// So it is for replicas that step together.
func TestRealIsVirtualForRanks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt)
		s.scale, s.replicas, s.step = nil, 2*rapid.IntRange(1, 2).Draw(rt, "groups"), pair{}
		s.loras, s.prefill, s.host = 0, 0, engine.Offload{}
		for i := range s.items {
			s.items[i].req.Adapter = target.Adapter{}
		}
		bothClocks(t, rt, &s)
	})
}

func bothClocks(t *testing.T, rt *rapid.T, s *script) {
	play := func(loop clock.Runner) []byte {
		recs := make([]recorder, len(s.items))
		s.run(t, loop, recs, loop.Stop)
		loop.Run()
		return log(recs)
	}
	virtual := play(clock.NewVirtual())
	var real []byte
	synctest.Test(t, func(t *testing.T) {
		loop, err := clock.NewReal(clock.Portable())
		if err != nil {
			t.Fatal(err)
		}
		real = play(loop)
	})
	if !bytes.Equal(virtual, real) {
		rt.Fatalf("virtual:\n%s\nreal:\n%s", virtual, real)
	}
}
