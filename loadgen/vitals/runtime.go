package vitals

import (
	"math"
	"runtime/metrics"
	"time"
)

// The histograms of Go's runtime that are watched, in seconds.
const (
	schedLatencies = "/sched/latencies:seconds"
	gcPauses       = "/sched/pauses/total/gc:seconds"
)

// histogram counts by buckets: counts[i] lies between bounds[i] and bounds[i+1], in
// seconds. The bounds belong to the runtime.
type histogram struct {
	counts []uint64
	bounds []float64
}

// histograms is what the runtime has counted since the process began.
type histograms struct{ waits, pauses histogram }

func readHistograms() histograms {
	samples := []metrics.Sample{{Name: schedLatencies}, {Name: gcPauses}}
	metrics.Read(samples)
	of := func(s metrics.Sample) histogram {
		if s.Value.Kind() != metrics.KindFloat64Histogram {
			return histogram{} // the runtime has another name for it
		}
		h := s.Value.Float64Histogram()
		return histogram{h.Counts, h.Buckets}
	}
	return histograms{of(samples[0]), of(samples[1])}
}

// since is what was counted after begun.
func (h histograms) since(begun *histograms) (waits, pauses histogram) {
	return h.waits.minus(begun.waits), h.pauses.minus(begun.pauses)
}

func (h histogram) minus(o histogram) histogram {
	out := histogram{make([]uint64, len(h.counts)), h.bounds}
	for i := range h.counts {
		out.counts[i] = h.counts[i]
		if i < len(o.counts) {
			out.counts[i] -= o.counts[i]
		}
	}
	return out
}

func (h histogram) n() int64 {
	var n uint64
	for _, c := range h.counts {
		n += c
	}
	return int64(n)
}

// quantile is the upper bound of the bucket that holds the nearest rank, nil without
// any. Of the last bucket, which has none, it is the lower one.
func (h histogram) quantile(q float64) *time.Duration {
	n := h.n()
	if n == 0 {
		return nil
	}
	rank := uint64(max(1, math.Ceil(q*float64(n))))
	for i, c := range h.counts {
		if rank > c {
			rank -= c
			continue
		}
		bound := h.bounds[i+1]
		if math.IsInf(bound, 1) {
			bound = h.bounds[i]
		}
		d := time.Duration(math.Round(bound * 1e9))
		return &d
	}
	return nil
}
