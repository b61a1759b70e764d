package openai_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"goodput/datasets"
	"goodput/datasets/prompt"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
	"goodput/loadgen/target/openai"
	"goodput/loadgen/wire"
)

// printer starts one request when the loop fires it, and stops the loop at the
// end.
type printer struct {
	client *openai.Client
	loop   *clock.Real
}

func (p *printer) Entity() uint64 { return 0 }

func (p *printer) Fire(now clock.Time) {
	p.client.Start(&target.Request{Intended: now, Prompt: []datasets.Span{{Key: 1, Tokens: 10}}, In: 10, Out: 2}, p)
}

func (p *printer) Event(e target.Event) {
	switch e.Kind {
	case target.Token:
		fmt.Println("token", e.Content == target.Text)
	case target.Finished:
		fmt.Println("finished:", e.Reason)
	case target.End:
		fmt.Println("status", e.Result.Status, "in good order:", e.Result.Cause == target.CauseEOF)
		p.loop.Stop()
	}
}

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, text := range []string{
			`{"choices":[{"text":"hello"}]}`, `{"choices":[{"text":" world","finish_reason":"length"}]}`, `[DONE]`,
		} {
			fmt.Fprintf(w, "data: %s\n\n", text)
		}
	}))
	defer server.Close()
	loop, err := clock.NewReal()
	if err != nil {
		panic(err)
	}
	client, err := openai.New(openai.Config{
		BaseURLs: []string{server.URL}, Model: "llama", Loop: loop, Stamp: loop,
		Prompt: func(s []target.Span, quotes ...target.Quote) wire.Prompt { return prompt.New(s, quotes...) },
	})
	if err != nil {
		panic(err)
	}
	loop.At(0, clock.RankArrival, &printer{client, loop})
	loop.Run()
	client.Close()
	// Output:
	// token true
	// token true
	// finished: length
	// status 200 in good order: true
}
