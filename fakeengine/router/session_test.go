package router_test

import (
	"testing"

	"goodput/fakeengine/router"
)

// A session stays where it is; about one in n moves when a replica comes, and only
// there; shares are about equal.
func TestSessionKeepsItsReplica(t *testing.T) {
	const sessions = 4000
	p := build(t, "session", 1)
	place := func(n int) []int {
		out := make([]int, sessions)
		for s := range out {
			out[s] = p.Pick(&router.Request{Session: uint64(s) + 1}, outstanding(make([]int, n)...))
		}
		return out
	}
	four := place(4)
	shares := make([]int, 4)
	for _, i := range four {
		shares[i]++
	}
	for i, n := range shares {
		if n < sessions/4*3/4 || n > sessions/4*5/4 {
			t.Errorf("replica %d has %d of %d sessions", i, n, sessions)
		}
	}
	moved := 0
	for s, i := range place(5) {
		if i != four[s] {
			if moved++; i != 4 {
				t.Fatalf("session %d moved from %d to %d, which was there before", s, four[s], i)
			}
		}
	}
	if moved < sessions/10 || moved > sessions*3/10 {
		t.Errorf("%d of %d sessions moved to the fifth replica", moved, sessions)
	}
	for s, i := range place(4) {
		if i != four[s] {
			t.Fatalf("session %d does not come back to %d: %d", s, four[s], i)
		}
	}
}
