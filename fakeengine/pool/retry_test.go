package pool_test

import (
	"testing"
	"time"

	"goodput/fakeengine/fault"
	"goodput/fakeengine/shaper"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// layers are shapers that try again so often each, the outermost first.
func layers(t *testing.T, texts ...string) []shaper.Shaper {
	t.Helper()
	var out []shaper.Shaper
	for _, text := range texts {
		s, err := shaper.New(text, 1)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// ended is the result of the only End of r.
func ended(t *testing.T, r *recorder) target.Result {
	t.Helper()
	var out []target.Result
	for _, e := range r.events {
		if e.Kind == target.End {
			out = append(out, *e.Result)
		}
	}
	if len(out) != 1 {
		t.Fatalf("%d ends: %v", len(out), r.events)
	}
	return out[0]
}

// Layers that each try again multiply: behind 4, 4 and 3 attempts there are 48, and a client
// that tries three times makes them 144. Engines that answer again in time end it sooner.
func TestRetriesMultiply(t *testing.T) {
	for _, c := range []struct {
		name    string
		shapers []string
		outage  time.Duration
		sends   int // for one attempt of the client
		status  int
	}{
		{"no layer", nil, time.Hour, 0, 503},
		{"one layer", []string{"retry:attempts=4"}, time.Hour, 4, 503},
		{"three layers", []string{"retry:attempts=4", "retry:attempts=4", "retry:attempts=3"}, time.Hour, 48, 503},
		{"a budget at the outermost", []string{"retry:attempts=4,budget=envoy", "retry:attempts=3"}, time.Hour, 12, 503},
		{"until it is over", []string{"retry:attempts=9,backoff=1s"}, 6500 * time.Millisecond, 4, 200}, // at 0, 1, 3, 7 s
		{"refused by a layer", []string{"retry:attempts=4", "retry:attempts=3", "token-bucket:rate=1e-6,burst=1e-6"}, 0, 12, 429},
	} {
		t.Run(c.name, func(t *testing.T) {
			loop := clock.NewVirtual()
			cfg := config(t, loop, 2, "round-robin")
			cfg.Shapers = layers(t, c.shapers...)
			if c.outage > 0 {
				cfg.Faults = fault.Script{{For: c.outage, Replica: fault.All, Kind: fault.HTTP, Status: 503}}
			}
			p := build(t, cfg)
			var client [3]recorder
			for i := range client {
				at(loop, time.Duration(i)*time.Minute, clock.RankArrival, uint64(i), func() { p.Start(request(uint64(i), 10, 3), &client[i]) })
			}
			loop.Run()
			if r := ended(t, &client[0]); r.Attempts != c.sends || r.Status != c.status {
				t.Errorf("%d sends and status %d, want %d and %d", r.Attempts, r.Status, c.sends, c.status)
			}
			total := 0
			for i := range client {
				total += ended(t, &client[i]).Attempts
			}
			if c.name == "three layers" && total != 144 {
				t.Errorf("%d sends for three attempts of the client, want 144", total)
			}
			checkIdle(t, p)
		})
	}
}

// A request that waits for its next attempt can be given up.
func TestRetryCanceled(t *testing.T) {
	loop := clock.NewVirtual()
	c := config(t, loop, 1, "round-robin")
	c.Shapers = layers(t, "session-cap:most=1", "retry:attempts=9,backoff=10s")
	c.Faults = fault.Script{{For: time.Hour, Replica: fault.All, Kind: fault.HTTP, Status: 503}}
	p := build(t, c)
	var rec recorder
	r := request(0, 10, 3)
	at(loop, 0, clock.RankArrival, 0, func() { p.Start(r, &rec) })
	at(loop, 5*time.Second, clock.RankDeadline, 0, func() { p.Cancel(r) })
	loop.Run()
	if got := ended(t, &rec); got.Cause != target.CauseCanceled || got.Attempts != 1 {
		t.Errorf("%+v", got)
	}
	if s := p.Stats(); s.Held != 0 || s.Canceled != 1 {
		t.Errorf("%+v", s)
	}
	checkIdle(t, p)
}
