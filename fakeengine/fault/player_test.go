package fault_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/fault"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// diary is a host that writes down what happens to its replicas.
type diary struct {
	loop  clock.Loop
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf("%v ", d.loop.Now())+fmt.Sprintf(format, args...))
}
func (d *diary) Crash(i int) { d.note("crash %d", i) }
func (d *diary) Boot(i int)  { d.note("boot %d", i) }
func (d *diary) Admit(i int, up bool) {
	d.note("%d takes requests: %v", i, up)
}

// look reads the state of replicas at an instant, before or after its faults.
type look struct {
	d *diary
	p *fault.Player
}

func (*look) Entity() uint64 { return 1 }
func (l *look) Fire(clock.Time) {
	for i := range 2 {
		if s := *l.p.State(i); s != fault.Healthy() {
			l.d.note("%d: %+v", i, s)
		}
	}
}

// play has the state of two replicas looked at every second.
func play(t failer, s fault.Script, loop clock.Loop, seconds int) *diary {
	d := &diary{loop: loop}
	p, err := fault.New(s, 2, loop, d)
	if err != nil {
		t.Fatalf("%v", err)
	}
	p.Start()
	for k := range seconds {
		loop.At(clock.Time(k)*clock.Time(time.Second), clock.RankSample, &look{d, p})
	}
	return d
}

type failer interface {
	Fatalf(format string, args ...any)
}

const script = `
- {at: 1s, for: 3s, replica: 0, slow: 2}
- {at: 2s, for: 1s, slow: 3}
- {at: 5s, for: 2s, replica: 1, stall: true}
- {at: 6s, for: 2s, replica: 1, stall: true}
- {at: 9s, for: 2s, replica: 0, kill: true}
- {at: 10s, for: 2s, replica: 0, kill: true}
- {at: 11s, replica: 0, restart: true}
- {at: 13s, replica: 1, restart: true}
- {at: 14s, for: 3s, replica: 0, http: 503}
- {at: 15s, for: 1s, http: 429, retry_after: 4s}
- {at: 18s, for: 1s, replica: 1, truncate: true}
- {at: 18s, for: 1s, replica: 1, usage: 2}
- {at: 19s, replica: 1, metrics: nan}
`

func TestPlayer(t *testing.T) {
	s, err := fault.Parse("test", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	healthy := fault.Healthy()
	state := func(change func(*fault.State)) string {
		s := healthy
		change(&s)
		return fmt.Sprintf("%+v", s)
	}
	slow := func(x float64) string { return state(func(s *fault.State) { s.Slow = x }) }
	stalled := func(until time.Duration) string {
		return state(func(s *fault.State) { s.Stalled = clock.Time(until) })
	}
	down := state(func(s *fault.State) { s.Down = true })
	status := func(code int, after time.Duration) string {
		return state(func(s *fault.State) { s.Status, s.RetryAfter = code, after })
	}
	want := []string{
		"1s 0: " + slow(2),
		"2s 0: " + slow(6),
		"2s 1: " + slow(3),
		"3s 0: " + slow(2),
		"5s 1: " + stalled(7*time.Second),
		"6s 1: " + stalled(8*time.Second),
		"7s 1: " + stalled(8*time.Second),
		"9s crash 0",
		"9s 0: " + down,
		"10s 0: " + down,
		"11s 0: " + down,
		"12s boot 0",
		"13s crash 1",
		"13s boot 1",
		"14s 0: " + status(503, 0),
		"15s 0: " + status(429, 4*time.Second),
		"15s 1: " + status(429, 4*time.Second),
		"16s 0: " + status(503, 0),
		"18s 1: " + state(func(s *fault.State) { s.Truncate, s.Usage = true, 2 }),
		"19s 1: " + state(func(s *fault.State) { s.NaN = true }),
		"20s 1: " + state(func(s *fault.State) { s.NaN = true }),
	}
	loop := clock.NewVirtual()
	d := play(t, s, loop, 21)
	loop.Run()
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Errorf("virtual (-want +got):\n%s", diff)
	}
	// Invariant 6: real time in a bubble is the same.
	synctest.Test(t, func(t *testing.T) {
		loop, err := clock.NewReal(clock.Portable())
		if err != nil {
			t.Fatal(err)
		}
		d := play(t, s, loop, 21)
		time.AfterFunc(30*time.Second, loop.Stop)
		loop.Run()
		if diff := cmp.Diff(want, d.lines); diff != "" {
			t.Errorf("real (-want +got):\n%s", diff)
		}
	})
}

// Crashes and boots alternate, and the host's view is that of the state.
func TestCrashAndBootAlternate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s fault.Script
		for range rapid.IntRange(0, 8).Draw(t, "faults") {
			f := fault.Fault{
				At:      time.Duration(rapid.IntRange(0, 10).Draw(t, "at")) * time.Second,
				Replica: rapid.IntRange(fault.All, 1).Draw(t, "replica"),
				Kind:    rapid.SampledFrom([]fault.Kind{fault.Kill, fault.Restart}).Draw(t, "kind"),
			}
			if f.Kind == fault.Kill {
				f.For = time.Duration(rapid.IntRange(0, 5).Draw(t, "for")) * time.Second
			}
			s = append(s, f)
		}
		loop := clock.NewVirtual()
		d := play(t, s, loop, 20)
		loop.Run()
		for i := range 2 {
			up := true
			for _, line := range d.lines {
				switch _, what, _ := strings.Cut(line, " "); {
				case what == fmt.Sprintf("crash %d", i):
					if !up {
						t.Fatalf("replica %d crashes twice: %q", i, d.lines)
					}
					up = false
				case what == fmt.Sprintf("boot %d", i):
					if up {
						t.Fatalf("replica %d boots while up: %q", i, d.lines)
					}
					up = true
				case strings.HasPrefix(what, fmt.Sprintf("%d: ", i)):
					if up == strings.Contains(what, "Down:true") {
						t.Fatalf("up is %v, but %q", up, line)
					}
				}
			}
		}
	})
}

func TestNewRefuses(t *testing.T) {
	loop := clock.NewVirtual()
	for name, f := range map[string]func() (*fault.Player, error){
		"no loop":       func() (*fault.Player, error) { return fault.New(nil, 1, nil, &diary{}) },
		"no host":       func() (*fault.Player, error) { return fault.New(nil, 1, loop, nil) },
		"no replica":    func() (*fault.Player, error) { return fault.New(fault.Script{{Replica: 1}}, 1, loop, &diary{}) },
		"factor of 0":   func() (*fault.Player, error) { return fault.New(fault.Script{{Kind: fault.Slow}}, 1, loop, &diary{}) },
		"endless stall": func() (*fault.Player, error) { return fault.New(fault.Script{{Kind: fault.Stall}}, 1, loop, &diary{}) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// tenth makes steps of 100 ms.
type tenth struct{}

func (tenth) Step(*steptime.Batch) int64 { return 1e11 }

// tokens notes when tokens are made.
type tokens struct{ at []time.Duration }

func (s *tokens) Tokens(_ *engine.Seq, now clock.Time, _ int) {
	s.at = append(s.at, time.Duration(now))
}
func (s *tokens) Finished(_ *engine.Seq, _ clock.Time, why engine.Finish) {}

func TestModelOnAnEngine(t *testing.T) {
	ms := time.Millisecond
	loop := clock.NewVirtual()
	p, err := fault.New(fault.Script{
		{At: 150 * ms, For: 200 * ms, Replica: fault.All, Kind: fault.Slow, Factor: 2.5},
		{At: 460 * ms, For: time.Second, Replica: 0, Kind: fault.Stall},
	}, 1, loop, &diary{})
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	e, err := engine.New(engine.Config{
		MaxNumSeqs: 1, MaxNumBatchedTokens: 16, MaxModelLen: 16, BlockSize: 4, NumGPUBlocks: 8, ChunkedPrefill: true,
	}, p.Model(0, tenth{}), loop)
	if err != nil {
		t.Fatal(err)
	}
	var s tokens
	if err := e.Submit(&engine.Seq{Prompt: 1, MaxTokens: 6, Sink: &s}); err != nil {
		t.Fatal(err)
	}
	loop.Run()
	// The third step begins at 200 ms and is slow, the fifth begins at 550 ms and
	// stalls until 1460 ms.
	want := []time.Duration{100 * ms, 200 * ms, 450 * ms, 550 * ms, 1560 * ms, 1660 * ms}
	if diff := cmp.Diff(want, s.at); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

// chancy is a model that varies; it counts its draws.
type chancy struct{ draws int }

func (c *chancy) Mean(*steptime.Batch) int64 { return 1e9 }
func (c *chancy) Step(*steptime.Batch) int64 { c.draws++; return 2e9 }

func TestModelKeepsTheMean(t *testing.T) {
	p, err := fault.New(fault.Script{{Replica: 0, Kind: fault.Slow, Factor: 3}}, 1, clock.NewVirtual(), &diary{})
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	p.Fire(0)
	c := &chancy{}
	m := p.Model(0, c).(interface {
		Mean(*steptime.Batch) int64
	})
	if got := m.Mean(&steptime.Batch{}); got != 3e9 || c.draws != 0 {
		t.Errorf("mean %d after %d draws, want 3e9 after none", got, c.draws)
	}
	plain := p.Model(0, tenth{}).(interface {
		Mean(*steptime.Batch) int64
	})
	if got := plain.Mean(&steptime.Batch{}); got != 3e11 {
		t.Errorf("mean %d of a model without chance, want 3e11", got)
	}
}

func TestHistory(t *testing.T) {
	s, err := fault.Parse("test", []byte("- {at: 2s, restart: true}\n- {at: 1s, for: 1s, replica: 1, slow: 1.5}\n- {at: 9s, http: 503}\n"))
	if err != nil {
		t.Fatal(err)
	}
	loop := clock.NewVirtual()
	p, err := fault.New(s, 2, loop, &diary{loop: loop})
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	if h := p.History(); len(h) != 0 {
		t.Errorf("before the start: %v", h)
	}
	loop.At(clock.Time(5*time.Second), clock.RankSample, stopper{loop})
	loop.Run()
	want := []fault.Event{
		{At: time.Second, Replica: 1, What: "slow 1.5"},
		{At: 2 * time.Second, Replica: 1, What: "slow 1.5", Over: true},
		{At: 2 * time.Second, Replica: fault.All, What: "restart"},
	}
	if diff := cmp.Diff(want, p.History()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// stopper ends the run.
type stopper struct{ loop *clock.Virtual }

func (stopper) Entity() uint64    { return 0 }
func (s stopper) Fire(clock.Time) { s.loop.Stop() }

func TestModelOfTheSpared(t *testing.T) {
	p, err := fault.New(fault.Script{{Replica: 1, Kind: fault.Slow, Factor: 2}, {Replica: 0, Kind: fault.Kill}}, 2, clock.NewVirtual(), &diary{})
	if err != nil {
		t.Fatal(err)
	}
	m := steptime.Model(tenth{})
	if p.Model(0, m) != m {
		t.Error("a replica that is never slow got another model")
	}
	if p.Model(1, m) == m {
		t.Error("a replica that will be slow got the plain model")
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	p, err := fault.New(fault.Script{{Replica: 0, Kind: fault.Slow, Factor: 2}}, 1, clock.NewVirtual(), &diary{})
	if err != nil {
		t.Fatal(err)
	}
	m := p.Model(0, tenth{})
	var b steptime.Batch
	if n := testing.AllocsPerRun(100, func() { m.Step(&b) }); n != 0 {
		t.Errorf("%v allocations per step", n)
	}
}

func ExampleParse() {
	_, err := fault.Parse("storm.yaml", []byte("- at: 60s\n  for: 30s\n  slow: 0.5\n"))
	fmt.Println(err)
	// Output: reading faults storm.yaml:3:9: fault 1: slow is 0.5: write a factor from 1 to 1000; 2 is half as fast
}

func ExamplePlayer() {
	s, err := fault.Parse("storm.yaml", []byte("- {at: 60s, for: 30s, replica: 1, kill: true}"))
	if err != nil {
		panic(err)
	}
	loop := clock.NewVirtual()
	d := &diary{loop: loop}
	p, err := fault.New(s, 2, loop, d)
	if err != nil {
		panic(err)
	}
	p.Start()
	loop.Run()
	fmt.Println(strings.Join(d.lines, "\n"))
	// Output:
	// 1m0s crash 1
	// 1m30s boot 1
}

// TestJoinAndDrain: routers hear of what comes and goes on time, and not of a kill.
func TestJoinAndDrain(t *testing.T) {
	s, err := fault.Parse("test", []byte(`
- {at: 2s, replica: 1, join: true}
- {at: 3s, for: 2s, replica: 0, drain: true}
- {at: 4s, for: 2s, replica: 0, kill: true}
- {at: 7s, replica: 1, drain: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	loop := clock.NewVirtual()
	d := play(t, s, loop, 0)
	loop.Run()
	want := []string{
		"0s crash 1", "0s 1 takes requests: false",
		"2s boot 1", "2s 1 takes requests: true",
		"3s 0 takes requests: false",
		"4s crash 0",
		"5s 0 takes requests: true",
		"6s boot 0",
		"7s 1 takes requests: false",
	}
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
