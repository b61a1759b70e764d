package monitor_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
)

// TestBoardCounts compares the figures of a window with the rows that are in it.
func TestBoardCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := monitor.NewBoard(monitor.About{})
		n := rapid.IntRange(0, 200).Draw(t, "n")
		window := rapid.IntRange(1, 300).Draw(t, "window")
		chosen := rapid.SampledFrom([]string{"", "class=a", "replica=1", "outcome=reset"}).Draw(t, "filter")
		b.Draw(&monitor.Snapshot{}, nil, monitor.Query{Filter: monitor.ParseFilter(chosen)})
		now := clock.Time(0)
		type kept struct {
			at   clock.Time
			r    record.Request
			pass bool
		}
		var rows []kept
		for i := range n {
			now += clock.Time(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "gap"))
			r := row(rapid.SampledFrom([]record.Outcome{record.OK, record.Reset, record.Censored}).Draw(t, "outcome"), 5, rapid.Int64Range(0, 1e10).Draw(t, "ttft"), 3)
			r.Seq, r.Class, r.Replica = int64(i), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "class"), fmt.Sprint(i%3)
			b.Started(now)
			b.Ended(now, r)
			pass := map[string]bool{"": true, "class=a": r.Class == "a", "replica=1": r.Replica == "1", "outcome=reset": r.Outcome == record.Reset}[chosen]
			rows = append(rows, kept{now, *r, pass})
		}
		p := b.Draw(&monitor.Snapshot{Elapsed: now}, nil, monitor.Query{Window: time.Duration(window) * time.Second, Filter: monitor.ParseFilter(chosen)})
		first := max(int64(now)/1e9-int64(window)+1, 0)
		var started, ok, failed int64
		var ttft []int64
		for _, x := range rows {
			if int64(x.at)/1e9 < first {
				continue
			}
			started++
			if !x.pass {
				continue
			}
			ttft = append(ttft, x.r.TTFT())
			switch x.r.Outcome {
			case record.OK:
				ok++
			case record.Reset:
				failed++
			}
		}
		var got [3]int64
		for _, s := range p.Series {
			got[0], got[1], got[2] = got[0]+s.Started, got[1]+s.OK, got[2]+s.Failed
		}
		if got != [3]int64{started, ok, failed} || p.TTFT.N != int64(len(ttft)) {
			t.Fatalf("started, ok, failed, with TTFT: %v %d, want %d %d %d %d", got, p.TTFT.N, started, ok, failed, len(ttft))
		}
		if len(ttft) == 0 {
			return
		}
		slices.Sort(ttft)
		want := float64(ttft[int(math.Ceil(0.95*float64(len(ttft))-1e-9))-1])
		if math.Abs(float64(p.TTFT.P95)-want) > want/60+1 {
			t.Fatalf("P95 is %d, exactly %g", p.TTFT.P95, want)
		}
		var heat uint64
		for _, c := range p.Heat.TTFT {
			for _, k := range c {
				heat += uint64(k)
			}
		}
		if heat != uint64(len(ttft)) {
			t.Fatalf("%d in the heat map, want %d", heat, len(ttft))
		}
	})
}

// TestFeedNeverWaits (invariant 12): a feed that nobody empties loses what comes, counts
// it, and costs no memory; the counts of the run stay right.
func TestFeedNeverWaits(t *testing.T) {
	m, f := monitor.New(0), monitor.NewFeed()
	m.Tell(f)
	r := row(record.OK, 1, 2, 3)
	const n = 50_000
	if allocs := testing.AllocsPerRun(n, func() {
		m.Started(0)
		m.Ended(0, r)
	}); allocs != 0 {
		t.Errorf("%v allocations for a request", allocs)
	}
	b := monitor.NewBoard(monitor.About{})
	b.Drain(f)
	p := b.Picture(m, 0, monitor.Query{Window: time.Second})
	if p.TTFT.N+p.Series[0].Started+f.Lost() != 2*(n+1) || f.Lost() == 0 {
		t.Errorf("%d and %d told, %d lost of %d", p.TTFT.N, p.Series[0].Started, f.Lost(), 2*(n+1))
	}
	if p.Sent != n+1 || p.Outcomes[0].N != n+1 {
		t.Errorf("sent %d, outcomes %v", p.Sent, p.Outcomes)
	}
	m.Ended(0, r)
	b.Drain(f)
	if q := b.Picture(m, 0, monitor.Query{Window: time.Second}); q.TTFT.N != p.TTFT.N+1 {
		t.Error("an emptied feed takes nothing")
	}
}

func TestPictureIsJSON(t *testing.T) {
	b := monitor.NewBoard(monitor.About{Title: "x", SLO: monitor.Promise{TTFT: 5, TPOT: monitor.Unknown, E2E: monitor.Unknown}})
	r := row(record.Reset, 1, record.Null, record.Null32)
	b.Started(0)
	b.Ended(0, r)
	b.Session(&record.Session{SessionID: "s", SCT: record.Null, Unloaded: record.Null})
	p := b.Draw(&monitor.Snapshot{InFlight: record.Null}, nil, monitor.Query{Window: time.Minute})
	text, err := json.Marshal(&p)
	if err != nil {
		t.Fatal(err)
	}
	var back monitor.Picture
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	for i := range p.Failed {
		p.Failed[i].SLOMet = record.Unknown // it is not told
	}
	if diff := cmp.Diff(p, back, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b monitor.Number) bool { return a == b || !a.Known() && !b.Known() })); diff != "" {
		t.Error(diff)
	}
	if back.InFlight.Known() || back.Failed[0].TTFT.Known() || back.CPU.Known() || back.Failed[0].OutputTokens.Known() {
		t.Errorf("unknown became known: %s", text)
	}
}

// BenchmarkPicture: at 10 Hz, 3 ms each are 3 % of a core.
func BenchmarkPicture(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint("after ", n), func(b *testing.B) {
			b.ReportAllocs()
			m, f := monitor.New(0), monitor.NewFeed()
			m.Tell(f)
			board := monitor.NewBoard(monitor.About{})
			now, i := clock.Time(0), int64(0)
			request := func() {
				now += ms / 2 // 2,000 a second
				i++
				r := row(record.OK, 5, 1e6+i*7919%1e9, 3)
				r.Replica = "0"
				m.Started(now)
				m.Ended(now, r)
			}
			for range n {
				request()
				if i%200 == 0 {
					board.Drain(f)
				}
			}
			for b.Loop() {
				for range 200 {
					request()
				}
				board.Drain(f)
				board.Picture(m, now, monitor.Query{Window: time.Minute})
			}
		})
	}
}

// lasted is a board of a run that has had n requests, 100 a second, so that of a minute
// there is as much in a short run as in a long one.
func lasted(n int) (*monitor.Board, *monitor.Monitor, clock.Time) {
	m, f := monitor.New(0), monitor.NewFeed()
	m.Tell(f)
	board := monitor.NewBoard(monitor.About{})
	now := clock.Time(0)
	for i := range n {
		now += 10 * ms
		r := row(record.OK, 5, 1e6+int64(i)*7919%1e9, 3)
		r.Seq, r.Replica = int64(i), [4]string{"0", "1", "2", "3"}[i%4]
		m.Started(now)
		m.Ended(now, r)
		if i%1000 == 0 {
			board.Drain(f)
		}
	}
	board.Drain(f)
	return board, m, now
}

// TestPictureCostsTheWindow: a picture of a long run takes as much memory as one of a short
// run, and has as much in it.
func TestPictureCostsTheWindow(t *testing.T) {
	q := monitor.Query{Window: time.Minute}
	var allocs, size [2]float64
	for i, n := range []int{10_000, 200_000} {
		b, m, now := lasted(n)
		p := b.Picture(m, now, q)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		allocs[i], size[i] = testing.AllocsPerRun(10, func() { b.Picture(m, now, q) }), float64(len(text))
	}
	if allocs[1] > 1.05*allocs[0] || size[1] > 1.05*size[0] {
		t.Errorf("%v allocations and %v bytes of JSON, in a short and in a long run", allocs, size)
	}
}

// BenchmarkPictureByLength draws pictures of two runs in turns, the one a hundred times as
// long as the other.
func BenchmarkPictureByLength(b *testing.B) {
	short, shortM, shortNow := lasted(10_000)
	long, longM, longNow := lasted(1_000_000)
	q := monitor.Query{Window: time.Minute}
	var took [2]time.Duration
	for b.Loop() {
		at := b.Elapsed()
		short.Picture(shortM, shortNow, q)
		between := b.Elapsed()
		long.Picture(longM, longNow, q)
		took[0], took[1] = took[0]+between-at, took[1]+b.Elapsed()-between
	}
	b.ReportMetric(float64(took[0].Microseconds())/float64(b.N), "us-after-10000")
	b.ReportMetric(float64(took[1].Microseconds())/float64(b.N), "us-after-1000000")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "long/short")
}

// TestSkewOverTime compares each point with the requests of the seconds that it is of.
func TestSkewOverTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := monitor.NewBoard(monitor.About{})
		var counts [400][3]int
		last := 0
		for range rapid.IntRange(0, 200).Draw(t, "n") {
			last += rapid.IntRange(0, 2).Draw(t, "gap")
			if last >= len(counts) {
				break
			}
			k := rapid.IntRange(0, 2).Draw(t, "replica")
			counts[last][k]++
			r := row(record.OK, 5, 6, 3)
			r.Replica = fmt.Sprint(k)
			b.Ended(clock.Time(last)*sec, r)
		}
		last = min(last, len(counts)-1)
		p := b.Draw(&monitor.Snapshot{Elapsed: clock.Time(last) * sec}, &monitor.Gauges{Replicas: make([]monitor.ReplicaGauge, 3)}, monitor.Query{Window: time.Minute})
		for i, pt := range p.Series {
			at := last - len(p.Series) + 1 + i
			var n [3]int
			for s := max(0, at-monitor.SkewSpan+1); s <= at; s++ {
				for k := range n {
					n[k] += counts[s][k]
				}
			}
			all := n[0] + n[1] + n[2]
			if pt.Skew.Known() != (all > 0) || all > 0 && math.Abs(float64(pt.Skew)-float64(3*max(n[0], n[1], n[2]))/float64(all)) > 1e-12 {
				t.Fatalf("second %d: skew %v of %v", at, pt.Skew, n)
			}
		}
	})
}
