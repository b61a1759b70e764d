package describe_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"goodput/datasets/trace"
)

// describedBy names the variable that makes TestPeakOfChild describe a file.
const describedBy = "GOODPUT_TEST_DESCRIBE"

// TestPeakOfChild is the child of TestPeakHeap: it tells what its heap took from the
// system at most, which no other test must have a part in.
func TestPeakOfChild(t *testing.T) {
	format, path, ok := strings.Cut(os.Getenv(describedBy), ":")
	if !ok {
		t.Skip("runs within TestPeakHeap")
	}
	r := of(t, trace.Format(format), path)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Printf("rows %d peak %d end\n", r.Rows, m.HeapSys)
}

// TestPeakHeap: ten times the rows take no more memory, where what recurs in prompts
// does not become more, too. A list of 24 bytes a row would already show.
func TestPeakHeap(t *testing.T) {
	if testing.Short() {
		t.Skip("reads two million rows")
	}
	const few, many = 100_000, 1_000_000
	for _, c := range []struct {
		format trace.Format
		head   string
		row    func(w *bufio.Writer, i int)
	}{
		{trace.Azure, "TIMESTAMP,ContextTokens,GeneratedTokens\n", func(w *bufio.Writer, i int) {
			at := time.Date(2024, 5, 10, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 7 * time.Millisecond)
			fmt.Fprintf(w, "%s,%d,%d\n", at.Format("2006-01-02 15:04:05.0000000"), 1+i%4000, 1+i%500)
		}},
		{trace.Mooncake, "", func(w *bufio.Writer, i int) {
			own := 1 + i*31%20_000*2
			fmt.Fprintf(w, `{"timestamp": %d, "input_length": 2048, "output_length": %d, "hash_ids": [0, %d, %d, %d]}`+"\n", i*7, 1+i%500, 100_000+own%100, own, own+1)
		}},
	} {
		t.Run(string(c.format), func(t *testing.T) {
			small, large := peak(t, c.format, c.head, c.row, few), peak(t, c.format, c.head, c.row, many)
			t.Logf("%d rows %.1f MiB, %d rows %.1f MiB", few, float64(small)/(1<<20), many, float64(large)/(1<<20))
			if large > small+(12<<20) {
				t.Errorf("the heap took %d MiB for %d rows and %d MiB for %d", small>>20, few, large>>20, many)
			}
		})
	}
}

// peak is the most that the heap of a process takes which describes so many rows.
func peak(t *testing.T, format trace.Format, head string, row func(*bufio.Writer, int), rows int) int64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprint(w, head)
	for i := range rows {
		row(w, i)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestPeakOfChild$", "-test.v")
	child.Env = append(os.Environ(), describedBy+"="+string(format)+":"+path, "GOGC=100", "GOMEMLIMIT=off")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	words := strings.Fields(string(out))
	for i, word := range words {
		if word != "peak" || i < 1 || i+1 >= len(words) {
			continue
		}
		n, err := strconv.ParseInt(words[i+1], 10, 64)
		if err != nil || words[i-1] != strconv.Itoa(rows) {
			t.Fatalf("%v: %s", err, out)
		}
		return n
	}
	t.Fatalf("the child tells no peak:\n%s", out)
	return 0
}
