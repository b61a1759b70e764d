package record

import (
	"math"
	"slices"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"
)

// TestHistogramIsAnHdrHistogram holds ours against the library's, bucket by
// bucket, through the encoding.
func TestHistogramIsAnHdrHistogram(t *testing.T) {
	var enc histogramEncoder
	ours := newHistogram(latencyMaxUS)
	rapid.Check(t, func(rt *rapid.T) {
		theirs := hdr.New(1, latencyMaxUS, latencyDigits)
		ours.reset()
		values := rapid.SliceOfN(rapid.OneOf(
			rapid.Int64Range(0, 5000), rapid.Int64Range(0, latencyMaxUS), rapid.SampledFrom([]int64{0, 1, 2047, 2048, 4095, 4096, latencyMaxUS}),
		), 1, 60).Draw(rt, "values")
		var small []int32
		for _, v := range values {
			if v <= math.MaxInt32 && rapid.Bool().Draw(rt, "among many") {
				small = append(small, int32(v))
			} else {
				ours.add(v)
			}
			if err := theirs.RecordValue(v); err != nil {
				rt.Fatal(err)
			}
		}
		if len(small) > 0 {
			ours.addAll(small, slices.Min(small), slices.Max(small))
		}
		back, err := hdr.Decode(enc.append(nil, ours, latencyMaxUS))
		if err != nil {
			rt.Fatal(err)
		}
		if !back.Equals(theirs) || back.TotalCount() != ours.n {
			rt.Fatalf("%d values came back as %d: another histogram", ours.n, back.TotalCount())
		}
		if ours.most != slices.Max(values) || histogramTop(histogramBucket(ours.most)) != theirs.Max() {
			rt.Fatalf("the largest value is %d, of the library's %d", ours.most, theirs.Max())
		}
	})
}

// TestHistogramOfMoreThanABlock: the counts may take more bytes than a block holds.
func TestHistogramOfMoreThanABlock(t *testing.T) {
	var enc histogramEncoder
	h := newHistogram(latencyMaxUS)
	for i := range h.counts {
		h.add(min(histogramTop(i), latencyMaxUS))
		h.counts[i], h.n = 10_000, h.n+9_999
	}
	back, err := hdr.Decode(enc.append(nil, h, latencyMaxUS))
	if err != nil || back.TotalCount() != h.n || len(enc.plain) <= math.MaxUint16 {
		t.Errorf("%v: %d values of %d, in %d bytes", err, back.TotalCount(), h.n, len(enc.plain))
	}
}

func TestHistogramAllocatesNothing(t *testing.T) {
	h := newHistogram(latencyMaxUS)
	gaps := plain(1, 255).TokenGapsUS
	if n := testing.AllocsPerRun(100, func() {
		h.addAll(gaps, 10_000, 10_499)
		h.add(1)
		h.reset()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHistogram(b *testing.B) {
	h := newHistogram(latencyMaxUS)
	gaps := plain(1, 255).TokenGapsUS
	b.ReportAllocs()
	for b.Loop() {
		h.addAll(gaps, 10_000, 10_499)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(gaps)), "ns/value")
}

// BenchmarkLatencyFlush is the cost of writing one interval of 400 requests.
func BenchmarkLatencyFlush(b *testing.B) {
	l := &latencyLog{out: discard{}}
	for i := range l.hist {
		l.hist[i] = newHistogram(latencyMaxUS)
	}
	rows := plainRows(400, 255)
	b.ReportAllocs()
	for b.Loop() {
		for i := range rows {
			if err := l.add(&rows[i], nil); err != nil {
				b.Fatal(err)
			}
		}
		if err := l.flush(); err != nil {
			b.Fatal(err)
		}
	}
}
