package shaper

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRetry: a request that is refused is sent on again as often as is allowed, each time
// after twice the wait, or what it was asked to wait; and other statuses are final.
func TestRetry(t *testing.T) {
	s := build(t, "retry:attempts=4,backoff=1s,honor=true").(*retry)
	r := &Request{Session: 7}
	if d := s.Offer(r, 0); d.Kind != Pass {
		t.Fatalf("%+v", d)
	}
	if s.Failed(r, 400, 0, 0) {
		t.Error("400 is tried again")
	}
	for i, c := range []struct {
		after time.Duration
		wait  float64
	}{{0, 1}, {0, 2}, {9 * time.Second, 9}} {
		now := sec(float64(100 * (i + 1)))
		if !s.Failed(r, 503, c.after, now) {
			t.Fatalf("attempt %d is the last", i+1)
		}
		due := now.Add(time.Duration(c.wait * 1e9))
		if got := went(s, due-1); got != nil {
			t.Errorf("%v goes on before %v", got, due)
		}
		if s.Wake() != due {
			t.Errorf("it wakes at %v, want %v", s.Wake(), due)
		}
		if got := went(s, due); !cmp.Equal(got, []string{"7"}) {
			t.Errorf("%v goes on at %v", got, due)
		}
	}
	if s.Failed(r, 429, 0, sec(1000)) {
		t.Error("a fifth attempt")
	}
	s.Done(r, sec(1000))
	if len(s.tries) > 0 {
		t.Errorf("it remembers %d requests", len(s.tries))
	}
}

// TestRetryBudgets: of 100 requests behind it 20 may be retries by Envoy's budget, of 10
// its least, 3. After five failures gRPC's throttle of 10 is at 5, and closed; one success
// later, at 5.1, it is open.
func TestRetryBudgets(t *testing.T) {
	for active, want := range map[int]int{100: 20, 10: 3, 0: 3} {
		b := envoyBudget{least: 3, share: 0.2, active: active, retries: want - 1}
		if b.most() != want || !b.allows() {
			t.Errorf("%d requests: at most %d, want %d", active, b.most(), want)
		}
		b.retries++
		if b.allows() {
			t.Errorf("%d requests: more than %d", active, want)
		}
	}
	g := grpcThrottle{most: 10, ratio: 0.1, tokens: 10}
	for range 5 {
		g.failed()
		g.allows()
	}
	if g.tokens != 5 || g.allows() {
		t.Errorf("after five failures it has %v tokens", g.tokens)
	}
	if g.done(); g.tokens != 5.1 || !g.allows() {
		t.Errorf("after a success it has %v tokens", g.tokens)
	}
	g.failed()
	if g.done(); g.tokens != 4.1 {
		t.Errorf("a request that failed leaves %v tokens", g.tokens)
	}
}
