package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
)

// intervals reads the latency log with the library's own reader.
func intervals(t *testing.T, dir string) (all []*hdr.Histogram) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, LatencyName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := hdr.NewHistogramLogReader(f)
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			return all
		}
		all = append(all, h)
	}
}

func TestLatencyLog(t *testing.T) {
	rows := plainRows(25_000, 2) // one per millisecond: 25 s
	rows[0].Phase = Warmup
	rows[1].Final = false
	rows[2].Outcome = Reset
	dir := write(t, rows, virtual)
	count := map[string]int64{}
	starts := map[int64]bool{}
	for _, h := range intervals(t, dir) {
		count[h.Tag()] += h.TotalCount()
		starts[h.StartTimeMs()] = true
		if h.Tag() == "lag" && (h.Max() != 1 || h.Min() != 1) {
			t.Errorf("lag from %d to %d µs, every row has 1", h.Min(), h.Max())
		}
	}
	n := int64(len(rows))
	want := map[string]int64{"lag": n - 2, "ttft": n - 3, "tpot": n - 3, "e2e": n - 3, "itl": 2 * (n - 3)}
	for tag, n := range want {
		if count[tag] != n {
			t.Errorf("%s holds %d values, want %d", tag, count[tag], n)
		}
	}
	if len(starts) != 3 || !starts[0] || !starts[10_000] || !starts[20_000] {
		t.Errorf("intervals start at %v ms", starts)
	}
}

func TestLatencyLogCountsWhatItClamps(t *testing.T) {
	row := plain(0, 1)
	row.TokenGapsUS[0] = -5
	row.Dispatched = row.Intended + clock.Time(latencyMaxUS)*1000 + 1_000_000
	dir := write(t, []Request{row}, virtual)
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if n := run.Manifest.Counters[CounterClamped]; n != 2 {
		t.Errorf("%d values clamped, want 2", n)
	}
}

func TestRecoveryRebuildsTheLatencyLog(t *testing.T) {
	rows := plainRows(2000, 20)
	dir := write(t, rows, Meta{RunID: "run"})
	whole := readFile(t, dir, LatencyName)
	cols := columns()
	var wal memFile
	w := newWALWriter(cols)
	if err := w.open(&wal); err != nil {
		t.Fatal(err)
	}
	if err := w.append(rows); err != nil {
		t.Fatal(err)
	}
	remove(t, dir, "requests-00001.parquet")
	b, err := newManifest(Meta{RunID: "run"}).encode()
	if err != nil {
		t.Fatal(err)
	}
	writeFiles(t, dir, map[string][]byte{segmentName(1, walSuffix): wal.Bytes(), LatencyName: whole[:100], ManifestName: b})
	if _, err := Recover(dir); err != nil {
		t.Fatal(err)
	}
	if string(readFile(t, dir, LatencyName)) != string(whole) {
		t.Error("the latency log differs from that of the whole run")
	}
}

// TestLatencyAddsUp: the log gives back, over all intervals, what was counted.
func TestLatencyAddsUp(t *testing.T) {
	rows := plainRows(25_000, 20)
	want := newHistogram(latencyMaxUS)
	for i := range rows {
		if r := &rows[i]; i%3 == 0 {
			r.TokenGapsUS[0] = int32(i) * 1000 // out of the bucket's middle
		}
		for _, g := range rows[i].TokenGapsUS {
			want.add(int64(g))
		}
	}
	run, err := Open(write(t, rows, virtual))
	if err != nil {
		t.Fatal(err)
	}
	got := newHistogram(latencyMaxUS)
	most, err := run.Latency("itl", func(least, most, n int64) {
		if i := histogramBucket(least); i != histogramBucket(most) || histogramTop(i) != most {
			t.Errorf("%d to %d is no bucket", least, most)
		}
		got.addN(most, n)
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.counts, got.counts); diff != "" || most != want.most {
		t.Errorf("the largest is %d, want %d; counts (-want +got):\n%s", most, want.most, diff)
	}
	if _, err := run.Latency("ttft", func(_, _, n int64) {
		if n < 1 {
			t.Errorf("%d values", n)
		}
	}); err != nil {
		t.Error(err)
	}
}

func FuzzReadLatency(f *testing.F) {
	log := readFile(f, write(f, plainRows(300, 5), virtual), LatencyName)
	f.Add(log)
	f.Add(log[:len(log)-5])
	f.Add([]byte("#[ maxima are exact ]\nTag=itl,0.000,10.000,0.001,HISTFAAAAA==\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := newHistogram(latencyMaxUS)
		if err := readLatency(bytes.NewReader(b), "Tag=itl,", h); err != nil {
			return
		}
		var n int64
		for _, c := range h.counts {
			n += c
		}
		if n != h.n || h.most < 0 || h.most > latencyMaxUS {
			t.Errorf("%d values are %d, the largest %d", n, h.n, h.most)
		}
	})
}
