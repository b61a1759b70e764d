package record

import (
	"os"
	"path/filepath"
	"testing"
)

func BenchmarkWrite(b *testing.B) {
	for _, gaps := range []int{0, 128} {
		b.Run(map[int]string{0: "bare", 128: "gaps128"}[gaps], func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "run")
			w, err := Create(dir, virtual)
			if err != nil {
				b.Fatal(err)
			}
			rows := plainRows(1024, gaps)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				w.Write(&rows[i%len(rows)])
				i++
			}
			if err := w.Close(Final{}); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(sizeOf(b, dir))/float64(i), "B/row")
		})
	}
}

// BenchmarkWriteCaller is the time that the caller loses while the disk follows:
// the clock stops whenever half of the queue is in use.
func BenchmarkWriteCaller(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "run"), Meta{RunID: "run"})
	if err != nil {
		b.Fatal(err)
	}
	rows := plainRows(1024, 128)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i%(batchRows*defaultQueueBatches/2) == 0 {
			b.StopTimer()
			drain(w)
			b.StartTimer()
		}
		w.Write(&rows[i%len(rows)])
		i++
	}
	if w.counts.dropped > 0 {
		b.Errorf("%d rows dropped", w.counts.dropped)
	}
	if err := w.Close(Final{}); err != nil {
		b.Fatal(err)
	}
}

// drain waits until all full batches are on disk.
func drain(w *Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.made > len(w.free)+1 {
		w.room.Wait()
	}
}

func BenchmarkRead(b *testing.B) {
	const n = 20_000
	run, err := Open(write(b, plainRows(n, 128), virtual))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		opts []ReadOption
	}{
		{"all", nil},
		{"without gaps", []ReadOption{WithoutGaps()}},
		{"three columns", []ReadOption{Columns("ttft", "final", "phase")}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run.Requests(func(*Request) error { return nil }, c.opts...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

func BenchmarkWAL(b *testing.B) {
	w := newWALWriter(columns())
	w.out = discard{}
	rows := plainRows(64, 128)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.append(rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Sync() error                 { return nil }
func (discard) Close() error                { return nil }

func sizeOf(t testing.TB, dir string) int64 {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, n := range names {
		info, err := os.Stat(n)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

// BenchmarkSegment is the making of Parquet alone, without a disk.
func BenchmarkSegment(b *testing.B) {
	for _, gaps := range []int{0, 255} {
		b.Run(map[int]string{0: "bare", 255: "gaps255"}[gaps], func(b *testing.B) {
			m := newManifest(virtual)
			s, err := newSegment(discardDisk{}, columns(), &m)
			if err != nil {
				b.Fatal(err)
			}
			rows := plainRows(batchRows, gaps)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.add(rows); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
		})
	}
}

type discardDisk struct{ disk }

func (discardDisk) create(string) (file, error) { return discard{}, nil }
