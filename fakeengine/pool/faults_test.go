package pool_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/fault"
	"goodput/fakeengine/pool"
	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// drawFaults draws instants that often fall on those of requests and steps.
func drawFaults(t *rapid.T, replicas int) fault.Script {
	var s fault.Script
	for range rapid.IntRange(1, 5).Draw(t, "faults") {
		f := fault.Fault{
			At: drawTime(t, "fault at"), For: drawTime(t, "for") + step/2,
			Replica: rapid.IntRange(fault.All, replicas-1).Draw(t, "replica"),
			Kind: rapid.SampledFrom([]fault.Kind{
				fault.Slow, fault.Stall, fault.Kill, fault.Restart, fault.HTTP, fault.Truncate, fault.Usage, fault.Drain, fault.Join,
			}).Draw(t, "kind"),
		}
		switch f.Kind {
		case fault.Slow, fault.Usage:
			f.Factor = rapid.SampledFrom([]float64{1, 1.5, 3}).Draw(t, "factor")
		case fault.HTTP:
			f.Status = rapid.SampledFrom([]int{404, 429, 503}).Draw(t, "status")
		case fault.Restart, fault.Join:
			f.For = 0
		}
		s = append(s, f)
	}
	return s
}

// TestFaultsLoseNothing is invariant 1 under faults: every attempt ends once, and
// neither pool nor router keeps anything of it.
func TestFaultsLoseNothing(t *testing.T) {
	var broken, completed, canceled uint64
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScript(rt)
		s.faults = drawFaults(rt, s.replicas)
		loop := clock.NewVirtual()
		recs := make([]recorder, len(s.items))
		p := s.run(t, loop, recs, func() {})
		for k := range 200 {
			at(loop, time.Duration(k)*step/4, clock.RankSample, 0, func() { checkConservation(rt, p) })
		}
		loop.Run()
		for i := range recs {
			ends := 0
			for _, e := range recs[i].events {
				if e.Kind == target.End {
					ends++
				}
			}
			if ends != 1 {
				rt.Fatalf("request %d: %d Ends", i, ends)
			}
		}
		checkIdle(t, p)
		st := p.Stats()
		broken, completed, canceled = broken+st.Broken, completed+st.Completed, canceled+st.Canceled
	})
	if broken == 0 || completed == 0 || canceled == 0 {
		t.Errorf("the scripts are too tame: %d broken, %d completed, %d canceled", broken, completed, canceled)
	}
}

// TestOutcomesOfFaults plays one fault from 35 ms to 65 ms on an engine with steps
// of 10 ms. One request begins before it, at 0, and one amid it, at 40 ms; both
// want ten tokens.
func TestOutcomesOfFaults(t *testing.T) {
	const ms = time.Millisecond
	type end struct {
		Outcome record.Outcome
		At      time.Duration
		Tokens  int // told
	}
	for name, c := range map[string]struct {
		f             fault.Fault
		before, amid  end
		says          string // of the one amid
		retryAfterSec int64
	}{
		"slow":      {fault.Fault{Kind: fault.Slow, Factor: 2}, end{record.OK, 120 * ms, 10}, end{record.OK, 160 * ms, 10}, "", 0},
		"stall":     {fault.Fault{Kind: fault.Stall}, end{record.OK, 125 * ms, 10}, end{record.OK, 165 * ms, 10}, "", 0},
		"kill":      {fault.Fault{Kind: fault.Kill}, end{record.Reset, 35 * ms, 3}, end{record.HTTP5xx, 40 * ms, 0}, "replica 0 is down", 0},
		"http 503":  {fault.Fault{Kind: fault.HTTP, Status: 503}, end{record.OK, 100 * ms, 10}, end{record.HTTP5xx, 40 * ms, 0}, "status 503", 0},
		"http 429":  {fault.Fault{Kind: fault.HTTP, Status: 429, RetryAfter: 2 * time.Second}, end{record.OK, 100 * ms, 10}, end{record.HTTP429, 40 * ms, 0}, "status 429", 2},
		"http 404":  {fault.Fault{Kind: fault.HTTP, Status: 404}, end{record.OK, 100 * ms, 10}, end{record.HTTP4xx, 40 * ms, 0}, "status 404", 0},
		"truncate":  {fault.Fault{Kind: fault.Truncate}, end{record.StreamError, 40 * ms, 3}, end{record.StreamError, 50 * ms, 0}, "malformed chunk", 0},
		"usage":     {fault.Fault{Kind: fault.Usage, Factor: 1.5, For: time.Second}, end{record.WrongLength, 100 * ms, 10}, end{record.WrongLength, 140 * ms, 10}, "15 tokens instead of 10", 0},
		"elsewhere": {fault.Fault{Kind: fault.Kill, Replica: 1}, end{record.OK, 100 * ms, 10}, end{record.OK, 140 * ms, 10}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if c.f.At = 35 * ms; c.f.For == 0 {
				c.f.For = 30 * ms
			}
			loop := clock.NewVirtual()
			cfg := config(t, loop, 2, "round-robin")
			cfg.Faults = fault.Script{c.f}
			p := build(t, cfg)
			var recs [2]recorder
			at(loop, 0, clock.RankArrival, 0, func() { p.Start(request(0, 20, 10), &recs[0]) })
			at(loop, 1, clock.RankArrival, 1, func() { p.Start(request(1, 20, 1), &recorder{}) }) // to the other replica
			at(loop, 40*ms, clock.RankArrival, 2, func() { p.Start(request(2, 20, 10), &recs[1]) })
			loop.Run()
			for i, want := range []end{c.before, c.amid} {
				var a observe.Assembler
				a.Begin(&target.Request{Out: 10, IgnoreEOS: true}, 0)
				got := end{}
				for _, e := range recs[i].events {
					a.Event(e)
					got.Tokens += e.N
				}
				row := a.Finish(clock.Never)
				got.Outcome, got.At = row.Outcome, time.Duration(row.Closed)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("request %d (-want +got):\n%s", i, diff)
				}
				if i == 1 && (!strings.Contains(row.Error, c.says) || c.retryAfterSec > 0 && row.RetryAfter != c.retryAfterSec*1e9) {
					t.Errorf("error %q, retry after %d", row.Error, row.RetryAfter)
				}
			}
			want := []fault.Event{
				{At: c.f.At, Replica: c.f.Replica, What: c.f.String()},
				{At: c.f.At + c.f.For, Replica: c.f.Replica, What: c.f.String(), Over: true},
			}
			if diff := cmp.Diff(want, p.Faults()); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			checkIdle(t, p)
		})
	}
}

// A replica that was restarted has forgotten its cache; the pool's totals have not.
func TestRestartIsCold(t *testing.T) {
	cached := func(s fault.Script) (int, engine.Stats) {
		loop := clock.NewVirtual()
		cfg := config(t, loop, 1, "random")
		cfg.Faults = s
		p := build(t, cfg)
		var last recorder
		for i, r := range []*recorder{{}, &last} {
			req := request(uint64(i), 64, 2)
			req.Prompt = []target.Span{{Key: 7, Tokens: 64}}
			at(loop, time.Duration(i)*time.Second, clock.RankArrival, uint64(i), func() { p.Start(req, r) })
		}
		loop.Run()
		return last.result(t).Server.CachedTokens, p.Stats().Engines
	}
	warm, _ := cached(nil)
	cold, st := cached(fault.Script{{At: time.Second / 2, Kind: fault.Restart}})
	if warm != 48 || cold != 0 {
		t.Errorf("%d tokens cached without a restart, %d after one; want 48, 0", warm, cold)
	}
	if st.Finished != 2 || st.GenerationTokens != 4 {
		t.Errorf("totals after a restart: %+v", st)
	}
}

func TestFaultsThatOnlyAWireShows(t *testing.T) {
	cfg := config(t, clock.NewVirtual(), 1, "random")
	cfg.Faults = fault.Script{{Kind: fault.Kill}, {At: time.Second, Kind: fault.Metrics}}
	if _, err := pool.New(cfg); err == nil || !strings.Contains(err.Error(), "fault 2 (metrics at 1s)") || !strings.Contains(err.Error(), "goodput serve") {
		t.Errorf("error %v", err)
	}
	cfg.Faults = fault.Script{{Replica: 1, Kind: fault.Kill}}
	if _, err := pool.New(cfg); err == nil || !strings.Contains(err.Error(), "replica 1 does not exist") {
		t.Errorf("error %v", err)
	}
}

// TestReplicasComeAndGo: routers send nothing to a replica that has not joined yet or
// drains, what a draining one has goes on, and without any replica requests get 503.
func TestReplicasComeAndGo(t *testing.T) {
	loop := clock.NewVirtual()
	c := config(t, loop, 2, "round-robin")
	c.Faults = fault.Script{
		{At: 10 * step, Replica: 1, Kind: fault.Join},
		{At: 20 * step, For: 10 * step, Replica: 0, Kind: fault.Drain},
		{At: 25 * step, For: 5 * step, Replica: 1, Kind: fault.Drain},
	}
	p := build(t, c)
	starts := []time.Duration{0, step, 11 * step, 12 * step, 19*step + step/2, 21 * step, 22 * step, 26 * step, 31 * step, 32 * step}
	want := []string{"0", "0", "0", "1", "0", "1", "1", "", "1", "0"}
	recs := make([]recorder, len(starts))
	for i, when := range starts {
		at(loop, when, clock.RankArrival, uint64(i), func() { p.Start(request(uint64(i), 10, 8), &recs[i]) })
	}
	loop.Run()
	checkIdle(t, p)
	for i := range recs {
		r, status := recs[i].result(t), 200
		if want[i] == "" {
			status = 503
		}
		if r.Replica != want[i] || r.Status != status {
			t.Errorf("request %d at %v: replica %q with status %d, want %q with %d (%s)", i, starts[i], r.Replica, r.Status, want[i], status, r.Err)
		}
	}
	if got := p.Stats(); got.Completed != 9 || got.Broken != 1 {
		t.Errorf("%d completed, %d broken", got.Completed, got.Broken)
	}
}
