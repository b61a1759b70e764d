package record

import (
	"path/filepath"
	"testing"
)

// TestWriteAllocatesNothing counts the allocations of the caller and of both
// goroutines behind it; what Parquet allocates per page vanishes in the average.
func TestWriteAllocatesNothing(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "run"), virtual)
	if err != nil {
		t.Fatal(err)
	}
	rows := plainRows(512, 16)
	i := 0
	next := func() {
		w.Write(&rows[i%len(rows)])
		i++
	}
	for range defaultQueueBatches * batchRows { // until the queue has its size
		next()
	}
	if n := testing.AllocsPerRun(10_000, next); n != 0 {
		t.Errorf("%v allocations per row", n)
	}
	if err := w.Close(Final{}); err != nil {
		t.Fatal(err)
	}
}

func TestWALAllocatesNothing(t *testing.T) {
	w := newWALWriter(columns())
	w.out = discard{}
	rows := plainRows(64, 16)
	n := testing.AllocsPerRun(100, func() {
		if err := w.append(rows); err != nil {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations per batch", n)
	}
}
