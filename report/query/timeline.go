package query

import (
	"math"
	"math/bits"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// Timeline is a run in bins of equal width from instant 0, the warm-up and the drain
// included. It is empty for a run without rows.
type Timeline struct {
	Width time.Duration
	Bins  []Bin
}

// Bin is what happened in one bin. Counts are of requests, by the instant named;
// InFlight is of attempts.
type Bin struct {
	// Due requests were scheduled, Sent ones left, OK and Failed ones ended.
	Due, Sent, OK, Failed int64
	// InFlight is the number at the end of the bin.
	InFlight int64
	// TTFT of the successes that were due in the bin; N is 0 without any. P50 and P95
	// are at most 4.5 % too large (buckets), Min and Max exact.
	TTFT Spread
	// Hit is the measured cache hit rate of the successes that were due in the bin, and
	// Preemptions those of all requests with an account, of which there are Accounts.
	Hit                   Ratio
	Preemptions, Accounts int64
}

// Spread describes the values of a bin, in nanoseconds.
type Spread struct {
	N                  int64
	Min, P50, P95, Max float64
}

// mostBins bounds the memory of a timeline: with more, neighbours are joined.
const mostBins = 256

// timeline accumulates a Timeline. Its bins begin narrow and double in width as
// the run turns out longer.
type timeline struct {
	width clock.Time // 0: nothing yet
	bins  []binReader
	// lines are the changes of the number in flight in each bin, of each replica.
	lines [][]int32
	// spare are counts of bins that were joined, all 0.
	spare [][]int32
}

type binReader struct {
	Bin
	net  int64 // sent minus ended
	ttft spread
}

// at is the bin of an instant.
func (t *timeline) at(when clock.Time) *binReader { return &t.bins[t.place(when)] }

// place is the number of the bin of an instant, which it makes if need be.
func (t *timeline) place(when clock.Time) int {
	if t.width == 0 {
		t.width = clock.Time(time.Millisecond)
	}
	when = max(when, 0)
	for when/t.width >= mostBins {
		t.halve()
	}
	i := int(when / t.width)
	for len(t.bins) <= i {
		t.bins = append(t.bins, binReader{})
	}
	return i
}

// halve joins pairs of bins.
func (t *timeline) halve() {
	t.width *= 2
	for i := range (len(t.bins) + 1) / 2 {
		b := t.bins[2*i]
		if 2*i+1 < len(t.bins) {
			t.join(&b, &t.bins[2*i+1])
		}
		t.bins[i] = b
	}
	t.bins = t.bins[:(len(t.bins)+1)/2]
	for k, line := range t.lines {
		for i := range (len(line) + 1) / 2 {
			v := line[2*i]
			if 2*i+1 < len(line) {
				v += line[2*i+1]
			}
			line[i] = v
		}
		t.lines[k] = line[:(len(line)+1)/2]
	}
}

// join adds o, which is not used any more, to b.
func (t *timeline) join(b, o *binReader) {
	b.Due += o.Due
	b.Sent += o.Sent
	b.OK += o.OK
	b.Failed += o.Failed
	b.Hit.Part += o.Hit.Part
	b.Hit.Whole += o.Hit.Whole
	b.Preemptions += o.Preemptions
	b.Accounts += o.Accounts
	b.net += o.net
	b.ttft.join(&o.ttft)
	if s := o.ttft.counts; s != nil && &s[0] != &b.ttft.counts[0] {
		clear(s)
		t.spare = append(t.spare, s)
	}
}

// add takes an attempt; replica is the number of its replica, below 0 if unknown.
func (t *timeline) add(r *record.Request, replica int) {
	from, to, ok := underWay(r)
	if ok {
		t.change(from, +1, replica)
		t.change(to, -1, replica)
	}
	if !r.Final {
		return
	}
	if r.Intended.Known() {
		t.due(t.at(r.Intended), r)
	}
	if from.Known() {
		t.at(from).Sent++
	}
	if !to.Known() {
		return
	}
	switch b := t.at(to); r.Outcome {
	case record.OK:
		b.OK++
	case record.Censored, record.Canceled:
	default:
		b.Failed++
	}
}

// due takes what a bin says of the requests that were due in it.
func (t *timeline) due(b *binReader, r *record.Request) {
	b.Due++
	if r.ServerPreemptions != record.Null32 {
		b.Accounts++
		b.Preemptions += known(r.ServerPreemptions)
	}
	if r.Outcome != record.OK {
		return
	}
	b.Hit.hit(r.CachedTokens, r.PromptTokens)
	if v := r.TTFT(); v != record.Null {
		if n := len(t.spare); b.ttft.counts == nil && n > 0 {
			b.ttft.counts, t.spare = t.spare[n-1], t.spare[:n-1]
		}
		b.ttft.add(v)
	}
}

func (t *timeline) change(when clock.Time, by int32, replica int) {
	i := t.place(when)
	t.bins[i].net += int64(by)
	if replica < 0 {
		return
	}
	for len(t.lines) <= replica {
		t.lines = append(t.lines, nil)
	}
	line := t.lines[replica]
	for len(line) <= i {
		line = append(line, 0)
	}
	line[i] += by
	t.lines[replica] = line
}

// left is when an attempt left: when it was permitted, or dispatched where nothing
// bounds those in flight.
func left(r *record.Request) clock.Time {
	if r.Permitted.Known() {
		return r.Permitted
	}
	return r.Dispatched
}

// underWay is when an attempt was in flight; ok is false if either end is unknown.
func underWay(r *record.Request) (from, to clock.Time, ok bool) {
	from, to = left(r), r.Closed
	if !to.Known() {
		to = max(r.Done, r.LastToken)
	}
	return from, to, from.Known() && to.Known() && to >= from
}

func (t *timeline) finish() Timeline {
	out := Timeline{Width: time.Duration(t.width)}
	level := int64(0)
	for i := range t.bins {
		b := &t.bins[i]
		level += b.net
		b.InFlight = level
		b.TTFT = b.ttft.finish()
		out.Bins = append(out.Bins, b.Bin)
	}
	return out
}

// levels are the numbers in flight of a replica at the ends of the bins.
func (t *timeline) levels(replica int) []int64 {
	out := make([]int64, len(t.bins))
	level := int64(0)
	for i := range out {
		if replica < len(t.lines) && i < len(t.lines[replica]) {
			level += int64(t.lines[replica][i])
		}
		out[i] = level
	}
	return out
}

// spread counts values in buckets, 16 to an octave.
type spread struct {
	n          int64
	least, top int64
	counts     []int32 // nil until there is a value; it may come from a bin that was joined
}

const (
	spreadBits = 4
	spreadLow  = 10 // values below 1<<spreadLow share a bucket
	spreadHigh = 46
)

func (s *spread) add(v int64) {
	if s.counts == nil {
		s.counts = make([]int32, (spreadHigh-spreadLow)<<spreadBits)
	}
	if s.n == 0 {
		s.least, s.top = v, v
	}
	s.n++
	s.least, s.top = min(s.least, v), max(s.top, v)
	s.counts[spreadBucket(v)]++
}

func spreadBucket(v int64) int {
	v = min(max(v, 1<<spreadLow), 1<<spreadHigh-1)
	octave := bits.Len64(uint64(v)) - 1
	return (octave-spreadLow)<<spreadBits + int(v>>(octave-spreadBits))&(1<<spreadBits-1)
}

// bucketTop is the largest value of a bucket.
func bucketTop(i int) int64 {
	octave := i>>spreadBits + spreadLow
	return int64(1<<spreadBits+i&(1<<spreadBits-1)+1)<<(octave-spreadBits) - 1
}

func (s *spread) join(o *spread) {
	if o.counts == nil {
		return
	}
	if s.counts == nil {
		*s = *o
		return
	}
	s.n += o.n
	s.least, s.top = min(s.least, o.least), max(s.top, o.top)
	for i, n := range o.counts {
		s.counts[i] += n
	}
}

func (s *spread) finish() Spread {
	if s.n == 0 {
		return Spread{}
	}
	return Spread{N: s.n, Min: float64(s.least), P50: s.quantile(0.5), P95: s.quantile(0.95), Max: float64(s.top)}
}

// quantile is by nearest rank, at most one bucket too large.
func (s *spread) quantile(q float64) float64 {
	rank := int64(math.Ceil(q * float64(s.n)))
	for i, n := range s.counts {
		if rank -= int64(n); rank <= 0 {
			return float64(min(bucketTop(i), s.top))
		}
	}
	return float64(s.top)
}
