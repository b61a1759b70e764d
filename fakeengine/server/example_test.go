package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/router"
	"goodput/fakeengine/server"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// oneMillisecond is how long each step takes.
type oneMillisecond struct{}

func (oneMillisecond) Step(*steptime.Batch) int64 { return int64(time.Millisecond) * 1000 }

func Example() {
	loop, err := clock.NewReal()
	if err != nil {
		panic(err)
	}
	policy, err := router.New("round-robin", 0)
	if err != nil {
		panic(err)
	}
	srv, err := server.New(server.Config{
		Model: "llama", Replicas: 2, Step: steptime.Shared(oneMillisecond{}), Policy: policy, Loop: loop,
		Engine: engine.Config{
			MaxNumSeqs: 8, MaxNumBatchedTokens: 256, MaxModelLen: 128, BlockSize: 16, NumGPUBlocks: 65,
			PrefixCaching: true, ChunkedPrefill: true,
		},
	})
	if err != nil {
		panic(err)
	}
	var running sync.WaitGroup
	running.Go(loop.Run)
	web := httptest.NewServer(srv.Handler())

	body := `{"model":"llama","prompt":"say two words","max_tokens":2,"stream":true}`
	resp, err := http.Post(web.URL+"/v1/completions", "application/json", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	fmt.Println(resp.Status, "from replica", resp.Header.Get("X-Goodput-Replica"))
	fmt.Println(strings.Count(string(answer), `"text"`), "tokens")

	// In this order: the requests need the loop to end.
	if err := srv.Close(context.Background()); err != nil {
		panic(err)
	}
	web.Close()
	loop.Stop()
	running.Wait()
	// Output:
	// 200 OK from replica 0
	// 2 tokens
}
