package router

import (
	"testing"

	"goodput/loadgen/clock"
)

// TestPTUSpillover: if the provisioned deployment would refuse a request, the standard one
// has it, and otherwise the provisioned one.
func TestPTUSpillover(t *testing.T) {
	load := func(counts ...int) []Load {
		up := make([]Load, len(counts))
		for i, n := range counts {
			up[i] = Load{ID: i, Outstanding: n}
		}
		return up
	}
	tests := []struct {
		name string
		r    Request
		up   []Load
		end  *End
		want int
	}{
		{name: "room", up: load(1, 0, 0), want: 0},
		{name: "429: too many in flight", up: load(4, 1, 0), want: 2},
		{name: "400: beyond its context", r: Request{InTokens: 900, MaxOut: 200}, up: load(0, 0, 3), want: 1},
		{name: "at its context", r: Request{InTokens: 900, MaxOut: 100}, up: load(0, 0, 3), want: 0},
		{name: "after 503", r: Request{At: sec(10.9)}, up: load(0, 2, 1), end: &End{At: sec(10), Status: 503}, want: 2},
		{name: "a second after 503", r: Request{At: sec(11)}, up: load(0, 2, 1), end: &End{At: sec(10), Status: 503}, want: 0},
		{name: "after 404", r: Request{At: sec(10)}, up: load(0, 2, 1), end: &End{At: sec(10), Status: 404}, want: 0},
		{name: "no standard one is up", up: load(9), want: 0},
		{name: "no provisioned one is up", up: load(0, 0, 0)[1:], want: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := ruleOf[*ptuSpillover](t, "ptu-spillover:in-flight=4,context=1000")
			if tt.end != nil {
				p.Done(&tt.r, 0, tt.end)
			}
			if got := p.Pick(&tt.r, tt.up); got != tt.want {
				t.Errorf("picks %d, want %d", got, tt.want)
			}
		})
	}
}

func sec(s float64) clock.Time { return clock.Time(s * 1e9) }
