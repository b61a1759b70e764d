package shaper

import (
	"math"
	"testing"
	"time"

	"goodput/loadgen/rng"
)

// TestCascade: the small model takes its time for each request, at most so many at once,
// and what its judge rejects goes on then.
func TestCascade(t *testing.T) {
	s := build(t, "cascade:longer=100,ttft=1s,tpot=100ms,at-once=1")
	short, long := &Request{Session: 1, InTokens: 100, MaxOut: 11}, &Request{Session: 2, InTokens: 101, MaxOut: 1}
	for _, r := range []*Request{short, long} {
		if d := s.Offer(r, 0); d.Kind != Hold {
			t.Fatalf("%+v", d)
		}
	}
	wake := s.(Waker)
	if wake.Wake() != sec(2) { // 1 s and 10 tokens more
		t.Errorf("it wakes at %v, want 2 s", wake.Wake())
	}
	if _, _, ok := s.Next(sec(2) - 1); ok {
		t.Error("it is too early")
	}
	if r, d, ok := s.Next(sec(2)); !ok || r != short || d.Kind != Absorb {
		t.Errorf("%+v %+v %v, want the short one's answer", r, d, ok)
	}
	if wake.Wake() != sec(3) {
		t.Errorf("it wakes at %v, want 3 s: the second one waited", wake.Wake())
	}
	if r, d, ok := s.Next(sec(3)); !ok || r != long || d.Kind != Pass {
		t.Errorf("%+v %+v %v, want that the long one goes on", r, d, ok)
	}
}

// The pool gets the share that is escalated. If that is the longest tenth of exponential
// work, each is 1+ln 10 = 3.3026 times the mean, and their CV² is 1/3.3026² = 0.0917.
func TestCascadeEscalates(t *testing.T) {
	share := func(text string) (n int, mean, cv2 float64) {
		s := build(t, text)
		work := rng.New(3, "work", 0)
		var sum, squares float64
		for i := range 40_000 {
			r := &Request{InTokens: 1 + int(-1000*math.Log1p(-work.Float64()))}
			s.Offer(r, sec(float64(i)))
			_, d, ok := s.Next(sec(float64(i)).Add(time.Second / 2))
			if !ok {
				t.Fatal("it is not done after half a second")
			}
			if d.Kind == Pass {
				x := float64(r.InTokens) / 1000
				n, sum, squares = n+1, sum+x, squares+x*x
			}
		}
		mean = sum / float64(n)
		return n, mean, squares/float64(n)/(mean*mean) - 1
	}
	n, mean, _ := share("cascade:escalate=0.1")
	if math.Abs(float64(n)-4000) > 200 || math.Abs(mean-1) > 0.06 {
		t.Errorf("by chance %d go on of %v on average", n, mean)
	}
	n, mean, cv2 := share("cascade:longer=2302") // 1000 ln 10
	if math.Abs(float64(n)-4000) > 200 || math.Abs(mean-3.3026) > 0.06 || math.Abs(cv2-0.0917) > 0.01 {
		t.Errorf("%d of the longest go on, of %v on average with CV² %v; want 4000, 3.3026, 0.0917", n, mean, cv2)
	}
	t.Logf("longest tenth: %d of 40000, mean %.4f, CV² %.4f", n, mean, cv2)
}
