package pool_test

import (
	"fmt"
	"time"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/pool"
	"goodput/fakeengine/router"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// printer is a sink that prints some of what it hears.
type printer struct{ name string }

func (p printer) Event(e target.Event) {
	switch e.Kind {
	case target.Token:
		fmt.Println(e.At, p.name, "token")
	case target.End:
		fmt.Println(e.At, p.name, "ends on replica", e.Result.Replica)
	}
}

func Example() {
	policy, err := router.New("round-robin", 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	loop := clock.NewVirtual()
	p, err := pool.New(pool.Config{
		Replicas: 2,
		Engine: engine.Config{
			MaxNumSeqs: 8, MaxNumBatchedTokens: 2048, MaxModelLen: 4096, BlockSize: 16, NumGPUBlocks: 1000,
			ChunkedPrefill: true,
		},
		Step: steptime.Shared(flat(10 * time.Millisecond)), Policy: policy, Loop: loop,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Start(&target.Request{Seq: 0, In: 100, Out: 1}, printer{"a"})
	p.Start(&target.Request{Seq: 1, In: 100, Out: 2}, printer{"b"})
	loop.Run()
	// Output:
	// 10ms a token
	// 10ms a ends on replica 0
	// 10ms b token
	// 20ms b token
	// 20ms b ends on replica 1
}
