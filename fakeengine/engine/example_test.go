package engine_test

import (
	"fmt"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// tenMS is a model in which every step takes 10 ms.
type tenMS struct{}

func (tenMS) Step(*steptime.Batch) int64 { return 10_000_000_000 }

type printer struct{}

func (printer) Tokens(s *engine.Seq, now clock.Time, n int) {
	fmt.Printf("%v: %d token(s), %d so far\n", now, n, s.Output)
}

func (printer) Finished(s *engine.Seq, now clock.Time, why engine.Finish) {
	fmt.Printf("%v: finished, length %t, first token at %v\n", now, why == engine.Length, s.FirstToken)
}

func Example() {
	loop := clock.NewVirtual()
	e, err := engine.New(engine.Config{
		MaxNumSeqs: 8, MaxNumBatchedTokens: 64, MaxModelLen: 1024, BlockSize: 16, NumGPUBlocks: 65,
		ChunkedPrefill: true,
	}, tenMS{}, loop)
	if err != nil {
		fmt.Println(err)
		return
	}
	// 100 prompt tokens in steps of 64: the first token leaves after two of them.
	if err := e.Submit(&engine.Seq{ID: 1, Prompt: 100, MaxTokens: 2, Sink: printer{}}); err != nil {
		fmt.Println(err)
	}
	if err := e.Submit(&engine.Seq{ID: 2, Prompt: 1000, MaxTokens: 100, Sink: printer{}}); err != nil {
		fmt.Println(err)
	}
	loop.Run()
	// Output:
	// prompt and max_tokens make 1100 tokens, the model's context length is 1024: shorten the prompt or ask for fewer tokens
	// 20ms: 1 token(s), 1 so far
	// 30ms: 1 token(s), 2 so far
	// 30ms: finished, length true, first token at 20ms
}
