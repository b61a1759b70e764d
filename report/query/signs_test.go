package query_test

import (
	"math"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/query"
)

// Correlated latencies are worth fewer values than they are, independent ones all.
func TestIndependentValues(t *testing.T) {
	const n = 4000
	load := func(ttft func(i int) clock.Time) query.Metric {
		var rows []record.Request
		for i := range n {
			r := answered(int64(i), clock.Time(i)*ms, 1000)
			r.FirstToken = r.Intended + ttft(i)
			r.LastToken = r.FirstToken + ms
			rows = append(rows, r)
		}
		f, err := query.Load(write(t, rows...))
		if err != nil {
			t.Fatal(err)
		}
		m, _ := f.Metric("ttft")
		return m
	}
	hash := func(i int) clock.Time { return clock.Time(uint32(i)*2654435761>>12) * 100 }
	if m := load(hash); m.Worth() < n/2 || !m.Reliable(0.99) {
		t.Errorf("scattered values are worth %d of %d", m.Worth(), n)
	}
	if m := load(func(i int) clock.Time { return hash(i/200) + 1 }); m.Worth() > n/50 || m.Reliable(0.99) || !m.Reliable(0.5) {
		t.Errorf("runs of 200 equal values are worth %d of %d", m.Worth(), n)
	}
}

// Streams that bring everything at once are told from slow first tokens, and who was
// left by the client from who was not.
func TestSigns(t *testing.T) {
	stream := func(seq int64, wait clock.Time, gaps ...int32) record.Request {
		r := answered(seq, clock.Time(seq)*1000*ms, gaps...)
		shift := wait - 50*ms
		r.FirstToken += shift
		r.LastToken += shift
		r.Closed = r.LastToken
		return r
	}
	at, steady := []int32{0, 100, 0, 200, 0, 0, 100, 0}, []int32{20_000, 20_000, 20_000, 20_000, 20_000, 20_000, 20_000, 20_000}
	slow := stream(2, 900*ms, steady...)
	short := stream(3, 900*ms, 100)
	gone := stream(4, 50*ms, steady...)
	gone.Outcome, gone.ServerSource = record.Canceled, "otlp"
	gone.Closed, gone.ServerE2E, gone.ServerDecode, gone.OutputTokens = gone.Wrote+100*ms, int64(1100*ms), int64(1000*ms), 50
	kept := gone
	kept.Seq, kept.ServerE2E = 5, int64(90*ms)
	cut := stream(6, 50*ms, steady...)
	cut.Outcome, cut.HTTPStatus = record.Truncated, 200
	broken := cut
	broken.Seq, broken.Error = 7, "body cut short, no terminal marker: "+record.CutShort
	f, err := query.Load(write(t, stream(0, 500*ms, at...), stream(1, 500*ms, at...), slow, short, gone, kept, cut, broken))
	if err != nil {
		t.Fatal(err)
	}
	s := &f.Signs
	if s.Streams != 3 || s.LateFirst != 3 || s.Looked != 3 || s.Bunched != 2 {
		t.Errorf("%d streams, %d late, %d looked at, %d bunched", s.Streams, s.LateFirst, s.Looked, s.Bunched)
	}
	if s.Left != 2 || s.Orphans != 1 || s.OrphanTime != int64(1000*ms) || s.OrphanTokens != 50 {
		t.Errorf("left %d, orphans %d for %d ns and %d tokens", s.Left, s.Orphans, s.OrphanTime, s.OrphanTokens)
	}
	if s.CleanEnds != 1 || s.FailedAfter.N != 2 || s.Answered.N != 4 {
		t.Errorf("%d clean ends, %d failures, %d answers", s.CleanEnds, s.FailedAfter.N, s.Answered.N)
	}
}

// Little's law holds for a steady load, and not for one that piles up.
func TestLittle(t *testing.T) {
	const n = 1000
	little := func(took func(i int) clock.Time) query.Little {
		dir := t.TempDir() + "/run"
		w, err := record.Create(dir, record.Meta{RunID: "test", Virtual: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			r := answered(int64(i), clock.Time(i)*100*ms, 1000)
			r.Closed = r.Dispatched + took(i)
			w.Write(&r)
		}
		err = w.Close(record.Final{Window: &record.Window{End: n * 100 * ms}, Counts: &record.Counts{Scheduled: n + 3, Completed: n}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := query.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := f.Unaccounted(); !ok || got != 3 || f.Unbalanced() != 3 || f.Checks.Decided != n {
			t.Errorf("%d unaccounted, off by %d, %d decided", got, f.Unbalanced(), f.Checks.Decided)
		}
		return f.Checks.Little
	}
	if l := little(func(int) clock.Time { return 2000 * ms }); !l.Known || l.Off() > 0.03 || math.Abs(l.Product-20) > 1e-9 {
		t.Errorf("steady: %+v", l)
	}
	if l := little(func(i int) clock.Time { return clock.Time(i) * 38 * ms }); !l.Known || l.Off() < query.LittleBound {
		t.Errorf("growing: %+v", l)
	}
	if l := little(func(int) clock.Time { return clock.Time(50 * time.Second) }); l.Known {
		t.Errorf("a window of two times in flight: %+v", l)
	}
}
