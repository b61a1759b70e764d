package vitals

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
)

const statText = "cpu  10 2 3 100 5 0 1 4 7 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"

func TestParseStat(t *testing.T) {
	for _, c := range []struct {
		name, text string
		all, busy  int64
		ok         bool
	}{
		{"guests are not counted twice", statText, 125, 20, true},
		{"no such line", "intr 1 2\n", 0, 0, false},
		{"no number", "cpu a b c d e f\n", 0, 0, false},
		{"too few", "cpu 1 2\n", 0, 0, false},
		{"empty", "", 0, 0, false},
	} {
		all, busy, ok := parseStat(c.text)
		if all != c.all || busy != c.busy || ok != c.ok {
			t.Errorf("%s: %d, %d, %v", c.name, all, busy, ok)
		}
	}
}

func TestParseSockets(t *testing.T) {
	const text = "sockets: used 290\nTCP: inuse 27 orphan 0 tw 15 alloc 31 mem 4\nUDP: inuse 1 mem 0\n"
	if n := parseSockstat(text); n != 42 {
		t.Errorf("%d sockets", n)
	}
	if n := parseSockstat("UDP: inuse 1\n"); n != -1 {
		t.Errorf("%d sockets of a system without TCP", n)
	}
	if n := parseRange("32768\t60999\n"); n != 28232 {
		t.Errorf("%d ports", n)
	}
	for _, bad := range []string{"", "1", "9 3", "a b"} {
		if n := parseRange(bad); n != -1 {
			t.Errorf("%d ports of %q", n, bad)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(statText)
	f.Add("TCP: inuse 27 orphan 0 tw 15\n")
	f.Add("32768\t60999\n")
	f.Fuzz(func(t *testing.T, text string) {
		if all, busy, ok := parseStat(text); !ok && (all != 0 || busy != 0) {
			t.Errorf("%d of %d, though neither is known", busy, all)
		}
		if n := parseRange(text); n == 0 {
			t.Error("an empty range")
		}
		parseSockstat(text)
	})
}

func TestHistogram(t *testing.T) {
	h := histogram{[]uint64{0, 98, 1, 1}, []float64{0, 1e-6, 1e-3, 1, 2}}
	for _, c := range []struct {
		q    float64
		want time.Duration
	}{{0.5, time.Millisecond}, {0.98, time.Millisecond}, {0.99, time.Second}, {1, 2 * time.Second}} {
		if got := h.quantile(c.q); got == nil || *got != c.want {
			t.Errorf("quantile %v is %v, want %v", c.q, got, c.want)
		}
	}
	less := h.minus(histogram{[]uint64{0, 98, 0, 0}, h.bounds})
	if diff := cmp.Diff([]uint64{0, 0, 1, 1}, less.counts); diff != "" {
		t.Error(diff)
	}
	if got := h.minus(h).quantile(0.99); got != nil {
		t.Errorf("quantile %v of nothing", *got)
	}
}

// TestWatchSeesItsOwnWork: what a busy loop takes is found again.
func TestWatchSeesItsOwnWork(t *testing.T) {
	if cpuTime() < 0 {
		t.Skip("this system does not tell the processor time of a process")
	}
	w := Start()
	begin := clock.Wall()
	before := cpuTime()
	for cpuTime()-before < 30*time.Millisecond {
	}
	used, wall := cpuTime()-before, clock.Wall().Sub(begin)
	g := w.Stop()
	if g.CPU == nil || *g.CPU < used || g.Watched < wall || g.Procs < 1 || g.Samples < 1 {
		t.Errorf("%+v after %v of %v", g, used, wall)
	}
	share, ok := g.Share()
	if most := 1.1 * g.CPU.Seconds() / wall.Seconds() / float64(g.Procs); !ok || share <= 0 || share > most {
		t.Errorf("share %v, known: %v, at most %v", share, ok, most)
	}
	if g.Files != nil && *g.Files < 3 {
		t.Errorf("%d open files, without those of a program", *g.Files)
	}
	if n := readHistograms().waits.n(); n == 0 {
		t.Error("the runtime tells nothing of its scheduler under the name that is asked for")
	}
}

func TestLimits(t *testing.T) {
	l := ReadLimits()
	if l.Files == 0 || l.Ports == 0 {
		t.Errorf("%+v: what is not known is -1", l)
	}
}

func BenchmarkSample(b *testing.B) {
	b.ReportAllocs()
	w := Start()
	defer w.Stop()
	for b.Loop() {
		w.sample()
	}
}
