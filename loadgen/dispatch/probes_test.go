package dispatch_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/observe"
	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// with sends probes beside the load.
func with(every time.Duration) func(*dispatch.Config) {
	return func(c *dispatch.Config) {
		c.Probes.Every = every
		room := make([]datasets.Span, 1, 8) // for others to write into, if they took it for theirs
		room[0] = datasets.Span{Key: 9, Tokens: 8}
		c.Probes.Item = datasets.Item{Prompt: room, In: 8, Out: 1}
	}
}

// split divides rows into those of the load and those of the probes.
func split(rows []record.Request) (load, probes []record.Request) {
	for i := range rows {
		if rows[i].Phase == record.Probe {
			probes = append(probes, rows[i])
		} else {
			load = append(load, rows[i])
		}
	}
	return load, probes
}

// Probes are due evenly from the opening of the window to the last arrival, and their rows
// say what they are.
func TestProbes(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*dispatch.Config)
		from clock.Time
		want int
	}{
		"a schedule":    {func(*dispatch.Config) {}, 0, 7}, // 10 arrivals, the last after 100 ms
		"a warm-up":     {func(c *dispatch.Config) { c.Warmup = 20 * time.Millisecond }, 20 * ms, 7},
		"a cap":         {func(c *dispatch.Config) { c.MaxConcurrency = 1 }, 0, 7},
		"a closed loop": {func(c *dispatch.Config) { c.Source, c.Closed = nil, &dispatch.Closed{Concurrency: 2, N: 6} }, 0, 5}, // the last after 70 ms
	} {
		t.Run(name, func(t *testing.T) {
			l := clock.NewVirtual()
			f := newFake(l, always(script{First: 35 * time.Millisecond, Tokens: 1}))
			f.started = func(r *target.Request) {
				if same := len(r.Prompt) == 1 && r.Prompt[0] == (datasets.Span{Key: 9, Tokens: 8}); same != (r.Seq >= record.ProbeSeq) {
					t.Errorf("request %d asks %v", r.Seq, r.Prompt)
				}
			}
			r := prepare(t, l, every(10*ms, 10), f, func(x *dispatch.Config) {
				x.SLO = observe.SLO{TTFT: time.Second}
				with(15 * time.Millisecond)(x)
				c.edit(x)
			}).play()
			_, probes := split(r.rows)
			if n, failed := r.Probed(); len(probes) != c.want || n != int64(c.want) || failed != 0 {
				t.Fatalf("%d probes have a row, %d were sent, %d failed; want %d", len(probes), n, failed, c.want)
			}
			for i := range probes {
				p := &probes[i]
				due := c.from + clock.Time(i)*15*ms
				if p.Intended != due || p.Dispatched != due || p.Permitted.Known() || p.TTFT() != int64(35*ms) {
					t.Errorf("probe %d: intended %v, dispatched %v, permitted %v, TTFT %d", i, p.Intended, p.Dispatched, p.Permitted, p.TTFT())
				}
				if p.Seq != int64(record.ProbeSeq)+int64(i) || p.Class != record.ProbeClass || p.SLOMet != record.Unknown || !p.Final {
					t.Errorf("probe %d is %+v", i, p)
				}
			}
		})
	}
}

// TestProbesMoveNothing is invariants 1 and 3 beside probes: whatever the answers, the cap,
// the retries and the end, all is accounted for, and the rows of the load are those that it
// has without them.
func TestProbesMoveNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(rt, "n")
		plays := rapid.SliceOfN(scripts(), 1, 10).Draw(rt, "scripts")
		most, retries := rapid.IntRange(0, 3).Draw(rt, "most"), rapid.IntRange(0, 2).Draw(rt, "retries")
		drain := time.Duration(rapid.IntRange(0, 150).Draw(rt, "drain")) * time.Millisecond
		gap := time.Duration(rapid.IntRange(1, 40).Draw(rt, "gap")) * time.Millisecond
		run := func(edit func(*dispatch.Config)) *run {
			l := clock.NewVirtual()
			f := newFake(l, func(seq uint64) script {
				s := plays[seq%uint64(len(plays))]
				s.Strays = 0
				return s
			})
			return prepare(t, l, every(10*ms, n), fakeCanceler{f}, func(c *dispatch.Config) {
				c.MaxConcurrency, c.Drain = most, drain
				c.Client = dispatch.Client{Retries: retries, Budget: 1}
				edit(c)
			}).play()
		}
		alone, beside := run(func(*dispatch.Config) {}), run(with(gap))
		want, _ := split(alone.rows)
		got, probes := split(beside.rows)
		if diff := cmp.Diff(byNumber(want), byNumber(got), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("the load alone (-), and beside probes (+):\n%s", diff)
		}
		if a, b := alone.Capped(), beside.Capped(); a != b {
			rt.Fatalf("the cap: %+v alone, %+v beside probes", a, b)
		}
		if a, b := alone.Attempts(), beside.Attempts(); a != b {
			rt.Fatalf("attempts: %+v alone, %+v beside probes", a, b)
		}
		c := beside.Counts()
		if sent, _ := beside.Probed(); int(sent) != len(probes) || c.InFlight != 0 ||
			c.Scheduled != alone.Counts().Scheduled+sent || c.Completed()+c.Failed()+c.Dropped()+c.Censored()+c.Canceled() != c.Scheduled {
			rt.Fatalf("%d probes, %d rows of them, counts %+v", sent, len(probes), c)
		}
	})
}

// byNumber are the rows by request and attempt: at one instant they end in any order.
func byNumber(rows []record.Request) map[[2]int64]record.Request {
	out := map[[2]int64]record.Request{}
	for _, r := range rows {
		out[[2]int64{r.Seq, int64(r.Attempt)}] = r
	}
	return out
}
