package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"goodput/loadgen/clock"
)

// The loop's share of a token, and what a handler does to fetch it.
func TestMailboxAllocatesNothing(t *testing.T) {
	g := start(t, nil)
	st := g.streams.Get().(*stream)
	st.choices = make([]choice, 1)
	c := &st.choices[0]
	c.reset(st)
	c.tokens = 1 << 30
	now := clock.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		size := 1 + c.seq.Output%3 // bursts of changing size
		c.seq.Output += size
		now += 1000
		c.Tokens(&c.seq, now, size)
		st.wait(context.Background())
		if n := c.more(); n != size {
			t.Fatalf("%d tokens came, %d were made", n, size)
		}
		c.done()
	}); n != 0 || c.laid != c.seq.Output || c.more() != 0 {
		t.Errorf("%v allocations per token", n)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// Lines that cannot be written are counted, and Close says so.
func TestTruthLogFailure(t *testing.T) {
	g := start(t, func(c *Config) { c.Truth = fullDisk{} })
	h := g.Handler()
	for range 3 {
		if w := post(h, "/v1/completions", `{"prompt":"a"}`); w.Code != 200 {
			t.Errorf("the log's failure reached a client: %d", w.Code)
		}
	}
	err := g.Close(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "3 lines") {
		t.Errorf("Close: %v", err)
	}
}

// A server without a log serves the same.
func TestNoTruthLog(t *testing.T) {
	g := start(t, func(c *Config) { c.Truth, c.Step = nil, evenSteps(time.Microsecond) })
	if w := post(g.Handler(), "/v1/completions", `{"prompt":"a"}`); w.Code != 200 {
		t.Errorf("status %d", w.Code)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
