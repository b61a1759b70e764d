package pool_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/pool"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// TestStatsAddUp compares each figure of the pool with those of its engines, over
// a run that moves all of them.
func TestStatsAddUp(t *testing.T) {
	loop := clock.NewVirtual()
	c := config(t, loop, 3, "least-outstanding")
	c.Engine.NumGPUBlocks, c.Engine.MaxNumSeqs, c.Engine.FrontEnd = 25, 4, time.Millisecond
	c.Engine.ReserveFullISL = false
	c.Engine.Offload = engine.Offload{Blocks: 7, Copy: 1e10}
	c.Engine.LoRA = engine.LoRA{MaxLoras: 1, MaxCPULoras: 1}
	p := build(t, c)
	for i := range 60 {
		r := &target.Request{
			Seq: uint64(i), In: 150, Out: 60, Adapter: target.Adapter{Number: uint16(i % 2)},
			Prompt: []target.Span{{Key: uint64(i % 3), Tokens: 100}, {Key: uint64(100 + i), Tokens: 50, Private: true}},
		}
		at(loop, time.Duration(i)*step, clock.RankArrival, r.Seq, func() { p.Start(r, &recorder{}) })
		if i%7 == 0 {
			at(loop, time.Duration(i+10)*step, clock.RankDeadline, r.Seq, func() { p.Cancel(r) })
		}
	}
	moved := make(map[string]bool)
	for k := range 500 {
		at(loop, time.Duration(k)*step/3, clock.RankSample, 0, func() { checkSums(t, p, moved) })
	}
	loop.Run()
	checkSums(t, p, moved)
	checkIdle(t, p)
	for f := range reflect.TypeOf(p.Stats().Engines).Fields() {
		if !moved[f.Name] {
			t.Errorf("%s was never above 0", f.Name)
		}
	}
}

func checkSums(t *testing.T, p *pool.Pool, moved map[string]bool) {
	t.Helper()
	got := reflect.ValueOf(p.Stats().Engines)
	for i := range got.NumField() {
		name := got.Type().Field(i).Name
		var want float64
		for k := range p.Replicas() {
			want += number(reflect.ValueOf(p.Engine(k).Stats()).Field(i))
		}
		if name == "KVUsed" {
			want /= float64(p.Replicas())
		}
		if g := number(got.Field(i)); math.Abs(g-want) > 1e-12 {
			t.Errorf("%s is %v, the engines have %v", name, g, want)
		}
		if want > 0 {
			moved[name] = true
		}
	}
}

func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}
