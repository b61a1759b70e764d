package query

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// Level is a figure that goes up and down, over the samples of all engines.
type Level struct {
	Mean, Min, Max float64
	N              int64 // samples that tell it; 0: none does
}

func (l *Level) add(v float64) {
	if math.IsNaN(v) {
		return
	}
	l.N++
	l.Mean += (v - l.Mean) / float64(l.N)
	if l.N == 1 {
		l.Min, l.Max = v, v
	}
	l.Min, l.Max = min(l.Min, v), max(l.Max, v)
}

// Engines is what the engines said of themselves over the whole run, its warm-up included.
// Routers are not in it: what they tell of engines these tell, too.
type Engines struct {
	// Replicas are the engines, Samples their rows; Routers are what was left out, and
	// Doubles names those that another page had shown already.
	Replicas, Routers int
	Samples           int64
	Doubles           []string
	// Source and Dialects say where this is from, and in whose words.
	Source   record.SampleSource
	Dialects []string
	// Running, Waiting and KVUsage are over all samples of all engines.
	Running, Waiting, KVUsage Level
	// Delta is by how much each counter went up, all engines together; NaN if one of them
	// does not tell it. Resets are the engines that began anew, of which only what came
	// after counts.
	Delta  [record.NumSignals]float64
	Resets int
	// Answering is by how much the number of requests that ended went up at engines that
	// answer them, and do not only compute prompts for others; NaN if one does not tell it.
	Answering float64
	// Idle: nothing was running or waiting in the first sample and in the last one.
	Idle bool
	// KVCourse is KVUsage in each bin of the run's Timeline, of the samples in it; nil
	// where no engine tells it.
	KVCourse []Level
}

// Known reports whether any engine was asked.
func (e *Engines) Known() bool { return e.Replicas > 0 }

// Of is by how much a counter went up; ok is false if that is not known.
func (e *Engines) Of(s record.Signal) (v float64, ok bool) {
	if !e.Known() {
		return 0, false
	}
	v = e.Delta[s]
	return v, !math.IsNaN(v)
}

// HitRate is the share of looked-up prompt tokens that the engines found in their prefix
// caches.
func (e *Engines) HitRate() (share float64, ok bool) {
	hits, ok1 := e.Of(record.SignalPrefixHits)
	queries, ok2 := e.Of(record.SignalPrefixQueries)
	return hits / queries, ok1 && ok2 && queries > 0
}

// MeanOf is the mean of a histogram's values in seconds, and how many there are.
func (e *Engines) MeanOf(sum, count record.Signal) (seconds, n float64, ok bool) {
	s, ok1 := e.Of(sum)
	n, ok2 := e.Of(count)
	return s / n, n, ok1 && ok2 && n > 0
}

// engineSeries is one replica.
type engineSeries struct {
	name        string
	role        record.SampleRole
	first, last record.EngineSample
	known       [record.NumSignals]float64 // last values that were told
	delta       [record.NumSignals]float64
	n           int64
	reset       bool
	levels      [3]Level
	kv          []Level // by bin of the timeline
}

// add takes a sample, which is of the given bin of the timeline; below 0: of none.
func (x *engineSeries) add(s *record.EngineSample, bin int) {
	if x.n == 0 {
		x.first, x.known = *s, s.Values
	}
	for i, now := range s.Values {
		before := x.known[i]
		switch {
		case record.Signal(i).Level() || math.IsNaN(now):
			continue
		case math.IsNaN(before): // a counter is there from its first value on
			x.delta[i] += now
		case now < before:
			x.reset = true
			x.delta[i] += now
		default:
			x.delta[i] += now - before
		}
		x.known[i] = now
	}
	x.n++
	x.last = *s
	for i, signal := range []record.Signal{record.SignalRunning, record.SignalWaiting, record.SignalKVUsage} {
		x.levels[i].add(s.Values[signal])
	}
	if v := s.Values[record.SignalKVUsage]; bin >= 0 && !math.IsNaN(v) {
		for len(x.kv) <= bin {
			x.kv = append(x.kv, Level{})
		}
		x.kv[bin].add(v)
	}
}

// fingerprint is what no two engines have in common: all their counters, of which a sum of
// seconds or some thousands of tokens is among. "": there is too little.
func (x *engineSeries) fingerprint() string {
	var out strings.Builder
	telling := false
	for i, v := range x.last.Values {
		if record.Signal(i).Level() || math.IsNaN(v) {
			continue
		}
		telling = telling || v != math.Trunc(v) || v > 1000
		fmt.Fprintf(&out, "%d=%v ", i, v)
	}
	if !telling {
		return ""
	}
	return out.String()
}

// idle reports that nothing was under way.
func idle(s *record.EngineSample) bool {
	return s.Values[record.SignalRunning] == 0 && !(s.Values[record.SignalWaiting] > 0)
}

// engineSamples accumulates Engines, beside the timeline of the same run.
type engineSamples struct {
	list  []*engineSeries
	by    map[string]*engineSeries
	width time.Duration // of the timeline's bins, of which there are so many
	bins  int
}

func (e *engineSamples) add(s *record.EngineSample) {
	key := string(s.Role) + " " + s.Replica
	if s.Source == record.SampleORCA {
		key += " orca" // the same engine, as it may be told of by /metrics, too
	}
	x := e.by[key]
	if x == nil {
		x = &engineSeries{name: s.Replica, role: s.Role}
		e.by[key] = x
		e.list = append(e.list, x)
	}
	x.add(s, e.bin(s.At))
}

// bin is the number of the timeline's bin of an instant; -1: it is in none.
func (e *engineSamples) bin(at clock.Time) int {
	if e.width <= 0 || !at.Known() || at < 0 {
		return -1
	}
	if i := int(at.Sub(0) / e.width); i < e.bins {
		return i
	}
	return -1
}

func (e *engineSamples) finish() Engines {
	out := Engines{Idle: true}
	seen := map[string]bool{}
	told := func(x *engineSeries) bool { return x.role == record.SampleEngine && x.last.Source == record.SampleORCA }
	beside := slices.ContainsFunc(e.list, func(x *engineSeries) bool { return x.role == record.SampleEngine && !told(x) })
	for _, x := range e.list {
		if beside && told(x) {
			continue // the engines tell more otherwise, and count once
		}
		if x.role != record.SampleEngine {
			out.Routers++
			continue
		}
		// Engines in one process are told apart anyway, and may well be alike.
		if p := x.fingerprint(); p != "" && x.last.Source == record.SampleScrape {
			if seen[p] {
				out.Doubles = append(out.Doubles, x.name)
				continue
			}
			seen[p] = true
		}
		out.take(x)
	}
	slices.Sort(out.Dialects)
	return out
}

func (e *Engines) take(x *engineSeries) {
	e.Replicas++
	e.Samples += x.n
	e.Source = x.last.Source
	if d := x.last.Dialect; d != "" && !slices.Contains(e.Dialects, d) {
		e.Dialects = append(e.Dialects, d)
	}
	if x.reset {
		e.Resets++
	}
	e.Idle = e.Idle && x.n > 1 && idle(&x.first) && idle(&x.last)
	for i := range e.Delta {
		e.Delta[i] += x.delta[i]
		if x.n < 2 || math.IsNaN(x.known[i]) {
			e.Delta[i] = math.NaN()
		}
	}
	e.Answering += x.answering()
	for i, to := range []*Level{&e.Running, &e.Waiting, &e.KVUsage} {
		to.merge(&x.levels[i])
	}
	for len(e.KVCourse) < len(x.kv) {
		e.KVCourse = append(e.KVCourse, Level{})
	}
	for i := range x.kv {
		e.KVCourse[i].merge(&x.kv[i])
	}
}

// answering is how many requests the engine ended, and 0 if it made no more than one token
// of each, as one does that computes prompts for others.
func (x *engineSeries) answering() float64 {
	if x.n < 2 || math.IsNaN(x.known[record.SignalRequestsDone]) {
		return math.NaN()
	}
	n := x.delta[record.SignalRequestsDone]
	if tokens := x.known[record.SignalGenerationTokens]; math.IsNaN(tokens) || x.delta[record.SignalGenerationTokens] <= n {
		return 0
	}
	return n
}

func (l *Level) merge(o *Level) {
	if o.N == 0 {
		return
	}
	if l.N == 0 {
		l.Min, l.Max = o.Min, o.Max
	}
	l.Min, l.Max = min(l.Min, o.Min), max(l.Max, o.Max)
	l.N += o.N
	l.Mean += (o.Mean - l.Mean) * float64(o.N) / float64(l.N)
}

// loadEngines reads the samples of a run, whose timeline is known.
func loadEngines(run *record.Run, t *Timeline) (Engines, error) {
	all := engineSamples{by: map[string]*engineSeries{}, width: t.Width, bins: len(t.Bins)}
	if _, err := run.Engines(func(s *record.EngineSample) error {
		all.add(s)
		return nil
	}); err != nil {
		return Engines{}, err
	}
	return all.finish(), nil
}
