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
	lines   bytes.Buffer
	enc     *hdr.HistogramLogWriter
	hist    [numLatencies]*hdr.PackedHistogram
	from    clock.Time
	clamped int64 // values outside of the histograms' range
}

func newLatencyLog(d disk, m Meta) (*latencyLog, error) {
	out, err := d.create(LatencyName)
	if err != nil {
		return nil, err
	}
	l := &latencyLog{out: out}
	l.enc = hdr.NewHistogramLogWriter(&l.lines)
	for i := range l.hist {
		l.hist[i] = hdr.NewPacked(1, latencyMaxUS, latencyDigits)
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
	if err := l.enc.OutputLogFormatVersion(); err != nil {
		return err
	}
	if err := l.enc.OutputComment(" microseconds; the times of the intervals are seconds since the start"); err != nil {
		return err
	}
	if err := l.enc.OutputStartTime(start); err != nil {
		return err
	}
	return l.enc.OutputLegend()
}

func (l *latencyLog) add(r *Request) error {
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
	for _, us := range r.TokenGapsUS {
		l.recordUS(latITL, int64(us))
	}
	return nil
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
	if err := l.hist[i].RecordValue(us); err != nil {
		l.clamped++ // not reached: us is in range
	}
}

// flush writes the interval, without the metrics that have no value in it.
func (l *latencyLog) flush() error {
	for i, h := range l.hist {
		if h.TotalCount() == 0 {
			continue
		}
		h.SetTag(latencyTags[i]) // Reset clears it
		h.SetStartTimeMs(int64(l.from) / 1e6)
		h.SetEndTimeMs(int64(l.from+defaultLatencySpan) / 1e6)
		if err := l.enc.OutputIntervalPackedHistogram(h); err != nil {
			return fmt.Errorf("write %s: %w", LatencyName, err)
		}
		h.Reset()
	}
	_, err := l.out.Write(l.lines.Bytes())
	l.lines.Reset()
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
