package record

import (
	"bytes"
	"fmt"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"goodput/loadgen/clock"
)

// LatencyName is the file of the latency histograms.
const LatencyName = "latency.hlog"

const (
	latencyMaxUS  = 24 * 3600 * 1_000_000
	latencyDigits = 3
)

// The histograms of an interval, in the order of the file; the names are the
// tags.
const (
	latTTFT = iota
	latTPOT
	latITL
	latE2E
	latLag
	numLatencies
)

var latencyTags = [numLatencies]string{"ttft", "tpot", "itl", "e2e", "lag"}

// latencyLog writes histograms of the final attempts of the measured phase, in
// microseconds, one line per metric and interval: of successes, and for lag of
// all. A row counts in the interval in which it ended, or, when rows come out of
// order, in the one being filled.
type latencyLog struct {
	out     file
	steps   *timelines // nil: in real time
	lines   []byte
	enc     histogramEncoder
	hist    [numLatencies]*histogram
	from    clock.Time
	clamped int64 // values outside of the histograms' range
}

func newLatencyLog(d disk, m Meta) (*latencyLog, error) {
	out, err := d.create(LatencyName)
	if err != nil {
		return nil, err
	}
	l := &latencyLog{out: out}
	for i := range l.hist {
		l.hist[i] = newHistogram(latencyMaxUS)
	}
	if err := l.head(m); err != nil {
		return nil, fmt.Errorf("write %s: %w", LatencyName, err)
	}
	return l, nil
}

// head writes the comment lines. The start time has whole seconds only, by the
// format; the manifest's anchors are exact.
func (l *latencyLog) head(m Meta) error {
	var start int64
	if !m.Virtual && !m.Epoch.IsZero() {
		start = m.Epoch.UnixMilli()
	}
	var lines bytes.Buffer
	enc := hdr.NewHistogramLogWriter(&lines)
	if err := enc.OutputLogFormatVersion(); err != nil {
		return err
	}
	if err := enc.OutputComment(" microseconds; the times of the intervals are seconds since the start; " + exactMaxima); err != nil {
		return err
	}
	if err := enc.OutputStartTime(start); err != nil {
		return err
	}
	if err := enc.OutputLegend(); err != nil {
		return err
	}
	l.lines = lines.Bytes()
	return nil
}

// add takes a row. where is where its gaps are in the timelines, if there are any.
func (l *latencyLog) add(r *Request, where []stretch) error {
	if !r.Final || r.Phase != Measure {
		return nil
	}
	if at := r.ended(); at.Known() && at-l.from >= defaultLatencySpan {
		if err := l.flush(); err != nil {
			return err
		}
		l.from = at - at%defaultLatencySpan
	}
	l.record(latLag, r.Lag())
	if r.Outcome != OK {
		return nil
	}
	l.record(latTTFT, r.TTFT())
	l.record(latTPOT, r.TPOT())
	l.record(latE2E, r.E2E())
	gaps := r.TokenGapsUS
	for _, s := range where {
		if s.line != nil {
			s.line.use(s.at, s.n)
		} else {
			l.gaps(gaps[:s.n])
		}
		gaps = gaps[s.n:]
	}
	l.gaps(gaps)
	return nil
}

// gap counts n equal gaps.
func (l *latencyLog) gap(us int32, n int64) {
	if us < 0 {
		us, l.clamped = 0, l.clamped+n
	}
	l.hist[latITL].addN(int64(us), n)
}

// gaps counts gaps between tokens, which are nearly always in range.
func (l *latencyLog) gaps(us []int32) {
	if len(us) == 0 {
		return
	}
	least, most := us[0], us[0]
	for _, v := range us {
		least, most = min(least, v), max(most, v)
	}
	if least >= 0 { // no int32 is above the range
		l.hist[latITL].addAll(us, least, most)
		return
	}
	for _, v := range us {
		l.recordUS(latITL, int64(v))
	}
}

func (l *latencyLog) record(i int, ns int64) {
	if ns != Null {
		l.recordUS(i, (ns+500)/1000)
	}
}

func (l *latencyLog) recordUS(i int, us int64) {
	if us < 0 || us > latencyMaxUS {
		us = min(max(us, 0), latencyMaxUS)
		l.clamped++
	}
	l.hist[i].add(us)
}

// flush writes the interval, without the metrics that have no value in it.
func (l *latencyLog) flush() error {
	if l.steps != nil {
		for _, line := range l.steps.all {
			line.count(l.steps.counter)
		}
	}
	for i, h := range l.hist {
		if h.n == 0 {
			continue
		}
		l.lines = fmt.Appendf(l.lines, "Tag=%s,%f,%f,%f,", latencyTags[i],
			float64(l.from/1e6)/1e3, float64(defaultLatencySpan/1e6)/1e3, float64(h.most)/1e6)
		l.lines = append(l.enc.append(l.lines, h, latencyMaxUS), '\n')
		h.reset()
	}
	_, err := l.out.Write(l.lines)
	l.lines = l.lines[:0]
	if err != nil {
		return fmt.Errorf("write %s: %w", LatencyName, err)
	}
	return nil
}

func (l *latencyLog) close() error {
	err := l.flush()
	if e := l.out.Sync(); err == nil {
		err = e
	}
	if e := l.out.Close(); err == nil {
		err = e
	}
	return err
}
