package record

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
)

// shardEpoch is the common start of the parts.
var shardEpoch = time.Date(2031, 5, 4, 10, 30, 0, 0, time.UTC)

// shardRow is the row of request seq of a load, the same whoever offers it.
func shardRow(seq int64, of int) *Request {
	var r Request
	r.Reset()
	r.Seq, r.Shard, r.Final = seq, int32(seq%int64(of)), true
	r.Intended = clock.Time(seq * 10_000_000)
	r.Dispatched, r.FirstToken = r.Intended+1000, r.Intended+clock.Time(5_000_000+seq%7*1_000_000)
	r.LastToken = r.FirstToken + clock.Time(seq%5)*30_000_000
	r.Closed = r.LastToken
	r.OutputTokens = 2
	r.TokenGapsUS = []int32{int32(seq%5) * 30_000}
	return &r
}

// piece is part index of a load of n requests; the functions change what it records.
type piece struct {
	index, of, n int
	meta         func(*Meta)
	final        func(*Final)
	rows         func([]*Request) []*Request
}

func (p piece) write(t testing.TB, dir string) *Run {
	m := Meta{RunID: "load", PlanHash: "abc", Seed: 7, Version: "v", Epoch: shardEpoch, Started: shardEpoch, Shard: &Shard{Index: p.index, Of: p.of}}
	if p.meta != nil {
		p.meta(&m)
	}
	w, err := Create(dir, m, Blocking(), unsynced)
	if err != nil {
		t.Fatal(err)
	}
	var rows []*Request
	for seq := p.index; seq < p.n; seq += p.of {
		rows = append(rows, shardRow(int64(seq), p.of))
	}
	slices.SortStableFunc(rows, func(a, b *Request) int { return cmp.Compare(a.Closed, b.Closed) })
	f := Final{
		Counts: &Counts{Scheduled: int64(len(rows)), Completed: int64(len(rows))}, Ended: shardEpoch.Add(time.Second), EndedAt: 1e9,
		Counters: map[string]int64{"x": int64(p.index + 1)},
	}
	if p.rows != nil {
		rows = p.rows(rows)
	}
	for _, r := range rows {
		w.Write(r)
	}
	if p.final != nil {
		p.final(&f)
	}
	if err := w.Close(f); err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Invariant 4: what the parts recorded is, merged, what one process would have recorded,
// to the histograms. Invariant 1 holds for the account of it.
func TestMergeIsTheWhole(t *testing.T) {
	for _, c := range [][2]int{{2, 0}, {3, 1}, {2, 61}, {3, 50}, {4, 7}} {
		dir, of, n := t.TempDir(), c[0], c[1]
		var parts []*Run
		for i := range of {
			parts = append(parts, piece{index: i, of: of, n: n}.write(t, filepath.Join(dir, fmt.Sprint(i))))
		}
		slices.Reverse(parts)
		whole, err := Create(filepath.Join(dir, "whole"), Meta{RunID: "load", Epoch: shardEpoch}, Blocking(), unsynced)
		if err != nil {
			t.Fatal(err)
		}
		var want []*Request
		for seq := range n {
			want = append(want, shardRow(int64(seq), of))
		}
		slices.SortStableFunc(want, func(a, b *Request) int {
			return cmp.Or(cmp.Compare(a.Closed, b.Closed), cmp.Compare(a.Shard, b.Shard))
		})
		for _, r := range want {
			r.RunID = "load"
			whole.Write(r)
		}
		if err := whole.Close(Final{EndedAt: clock.Never}); err != nil {
			t.Fatal(err)
		}
		m := Merge{Dir: filepath.Join(dir, "all"), Parts: parts, Files: map[string][]byte{"plan.yaml": []byte("a: b\n")}}
		done, err := m.Run()
		if err != nil {
			t.Fatal(err)
		}
		got, err := Open(m.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if done.Rows != int64(n) || got.Manifest.State != Complete || got.Manifest.Counts.Scheduled != int64(n) || got.Manifest.Counters["x"] != int64(of*(of+1)/2) {
			t.Fatalf("merged %+v: %+v", done, got.Manifest)
		}
		if n > 0 && got.Manifest.Outcomes["ok"] != int64(n) {
			t.Fatalf("outcomes %v", got.Manifest.Outcomes)
		}
		i := 0
		if err := got.Requests(func(r *Request) error {
			if d := gocmp.Diff(want[i], r, gocmp.Transformer("empty", func(l []int32) string { return fmt.Sprint(l) })); d != "" {
				t.Fatalf("row %d:\n%s", i, d)
			}
			i++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if a, b := histograms(t, filepath.Join(dir, "whole")), histograms(t, m.Dir); !gocmp.Equal(a, b) {
			t.Fatal(gocmp.Diff(a, b))
		}
	}
}

// histograms are those of a run by metric: how many values each bucket holds.
func histograms(t testing.TB, dir string) map[string]map[int64]int64 {
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[int64]int64{}
	for _, tag := range latencyTags {
		out[tag] = map[int64]int64{}
		if _, err := r.Latency(tag, func(_, most, n int64) { out[tag][most] += n }); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestMergeRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p []*piece)
		want   string
		forced string // what --force leaves of it: a problem, or, after !, an error
	}{
		{"a missing part", func(p []*piece) { p[1] = nil }, "of 3 shards 1 is missing", "of 3 shards 1 is missing"},
		{"a part twice", func(p []*piece) { p[1].index = 0 }, "are both shard 0 of 3", "!are both shard 0 of 3"},
		{"another number of parts", func(p []*piece) { p[1].of = 4 }, "the number of shards is 3 in one and 4 in the other", "!the number of shards"},
		{"another plan", func(p []*piece) { p[1].meta = func(m *Meta) { m.PlanHash = "xyz" } }, "the plan is abc in one and xyz in the other", "!the plan is"},
		{"another seed", func(p []*piece) { p[2].meta = func(m *Meta) { m.Seed = 8 } }, "the seed is 7 in one and 8 in the other", "!the seed is"},
		{"another start", func(p []*piece) { p[2].meta = func(m *Meta) { m.Epoch = m.Epoch.Add(time.Second) } }, "give all parts the same --start-at", "!the start is"},
		{"another version", func(p []*piece) { p[2].meta = func(m *Meta) { m.Version = "w" } }, "the version of goodput", "!the version"},
		{"a whole run", func(p []*piece) { p[0].meta = func(m *Meta) { m.Shard = nil } }, "is a whole run", "!is a whole run"},
		{"a part cut off", func(p []*piece) { p[0].final = func(f *Final) { f.State = Interrupted } }, "is interrupted", "is interrupted"},
		{"a row less", func(p []*piece) {
			p[1].rows = func(r []*Request) []*Request { return r[1:] }
		}, "10 requests were scheduled, and 9 have a row", "!10 requests were scheduled"},
		{"a hole", func(p []*piece) {
			p[1].rows = func(r []*Request) []*Request { return slices.Delete(r, 2, 3) }
			p[1].final = func(f *Final) { f.Counts.Scheduled-- }
		}, "1 requests of the schedule are in none of the parts", "1 requests of the schedule"},
		{"a request twice", func(p []*piece) {
			p[1].rows = func(r []*Request) []*Request { return append(r, r[0]) }
		}, "request 1 is there twice", "!is there twice"},
		{"the request of another part", func(p []*piece) {
			p[1].rows = func(r []*Request) []*Request { r[0].Seq = 3; return r }
		}, "request 3 is recorded as of shard 1, and the plan gives it to shard 0 of 3", "!request 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			kinds := []*piece{{index: 0, of: 3, n: 30}, {index: 1, of: 3, n: 30}, {index: 2, of: 3, n: 30}}
			c.change(kinds)
			var parts []*Run
			for i, p := range kinds {
				if p != nil {
					parts = append(parts, p.write(t, filepath.Join(dir, fmt.Sprint(i))))
				}
			}
			m := Merge{Dir: filepath.Join(dir, "all"), Parts: parts}
			if _, err := m.Run(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if _, err := Open(m.Dir); err == nil {
				t.Fatal("a run was written")
			}
			m.Force = true
			_, err := m.Run()
			if want, refused := strings.CutPrefix(c.forced, "!"); refused {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("forced: got %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := Open(m.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if r.Manifest.State != Interrupted || !strings.Contains(r.Manifest.Problem, c.forced) {
				t.Fatalf("forced: %s %q, want %q", r.Manifest.State, r.Manifest.Problem, c.forced)
			}
		})
	}
}

// Sessions, spans and samples come along; a replica that two parts asked has the samples
// of one.
func TestMergeTakesWhatIsBeside(t *testing.T) {
	dir := t.TempDir()
	var parts []*Run
	for i := range 2 {
		p := piece{index: i, of: 2, n: 4}
		d := filepath.Join(dir, fmt.Sprint(i))
		p.write(t, d)
		l, err := NewSessionLog(d, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.Write(&Session{SessionID: fmt.Sprint(i + 1), Ended: clock.Time(5 - i), Threads: 1})
		if _, err := l.Close(); err != nil {
			t.Fatal(err)
		}
		s := UnknownSpan()
		s.TraceID[0] = byte(i + 1)
		if err := WriteSpans(d, []Span{s}); err != nil {
			t.Fatal(err)
		}
		e := NewEngineLog(d, true)
		for k, replica := range []string{"shared", fmt.Sprint("own", i)} {
			x := UnknownSample()
			x.At, x.AsOf, x.Replica = clock.Time(10-5*i+k), clock.Time(10-5*i+k), replica
			e.Write(&x)
		}
		if _, err := e.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := Open(d)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, r)
	}
	m := Merge{Dir: filepath.Join(dir, "all"), Parts: parts, Notes: []MergedShard{{Verdict: "ok"}, {Verdict: "late", Why: []string{"w"}}}}
	done, err := m.Run()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(m.Dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	_, err1 := r.Sessions(func(s *Session) error { got["session "+s.SessionID] = true; return nil })
	_, err2 := r.Spans(func(s *Span) error { got[fmt.Sprint("span ", s.TraceID[0])] = true; return nil })
	_, err3 := r.Engines(func(s *EngineSample) error {
		got[fmt.Sprint("sample ", s.Replica, " ", int64(s.At))] = true
		return nil
	})
	want := []string{"sample own0 11", "sample own1 6", "sample shared 10", "session 1", "session 2", "span 1", "span 2"}
	if d := gocmp.Diff(want, slices.Sorted(maps.Keys(got))); d != "" || err1 != nil || err2 != nil || err3 != nil {
		t.Error(d, err1, err2, err3)
	}
	if done.Samples != 3 || r.Manifest.Counters[CounterSamplesTwice] != 1 {
		t.Errorf("%+v, %v", done, r.Manifest.Counters)
	}
	if s := r.Manifest.Shards; len(s) != 2 || s[1].Verdict != "late" || s[1].Index != 1 || s[1].Counts.Scheduled != 2 {
		t.Errorf("shards %+v", s)
	}
	// A session in two parts would count twice.
	for i := range 2 {
		l, err := NewSessionLog(filepath.Join(dir, fmt.Sprint(i)), true, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.Write(&Session{SessionID: "9", Ended: 1, Threads: 1})
		if _, err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	again := Merge{Dir: filepath.Join(dir, "again"), Parts: parts}
	if _, err := again.Run(); err == nil || !strings.Contains(err.Error(), "session 9 is in shard 0, too") {
		t.Errorf("got %v", err)
	}
}
