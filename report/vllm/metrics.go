package vllm

import (
	"math"
	"slices"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// The metrics of vLLM's benchmark, by the names that its flags and keys have.
const (
	TTFT       = "ttft"
	TPOT       = "tpot"
	ITL        = "itl"
	E2EL       = "e2el"
	Queue      = "client_queue_time"
	E2ELQueued = "e2el_including_client_queue"
)

// Metrics are the names of all metrics.
func Metrics() []string { return []string{TTFT, TPOT, ITL, E2EL, Queue, E2ELQueued} }

// Definition is how vLLM's benchmark defines a metric, and how ours differs.
type Definition struct{ Name, Ours, Text, Differs string }

// Definitions are those of the metrics that both have.
func Definitions() []Definition {
	return []Definition{
		{TTFT, "ttft", "first chunk with choices, even if it holds a role only, - start of the request, after the wait for --max-concurrency", "ours waits for a token, and counts from the intended time"},
		{TTFT, "ttft_send", "as above", "ours counts from the first byte of the request, without the wait for a connection, and waits for a token"},
		{TPOT, "tpot", "(e2el - ttft) / (output tokens - 1), of answers of two tokens or more", "ours is the same but for a chunk with a role only"},
		{ITL, "itl", "gap between chunks with choices", "ours is the same but for a chunk with a role only"},
		{E2EL, "e2e", "last chunk with choices - start of the request, after the wait for --max-concurrency", "ours counts from the intended time"},
		{Queue, "client_queue", "wait for --max-concurrency", "the same"},
	}
}

// times are what vLLM's client would have measured of one request, in nanoseconds.
type times struct {
	start       clock.Time
	ttft, e2el  int64 // record.Null: no chunk
	tpot, queue int64 // record.Null: there is none
	lead        int64 // between the chunk with the role and the first token; record.Null: no such chunk
}

// timesOf measures r. The chunk with the finish reason has no stamp of its own: the last
// token stands for it.
func timesOf(r *record.Request) times {
	t := times{start: r.Permitted, ttft: record.Null, e2el: record.Null, tpot: record.Null, queue: r.ClientQueue(), lead: record.Null}
	if !t.start.Known() {
		t.start = r.Dispatched
	}
	if !t.start.Known() || !r.FirstToken.Known() {
		return t
	}
	first := r.FirstToken
	if r.FirstRole.Known() && r.FirstRole < first {
		first, t.lead = r.FirstRole, int64(r.FirstToken-r.FirstRole)
	}
	t.ttft, t.e2el = int64(first-t.start), int64(r.LastToken-t.start)
	if r.OutputTokens > 1 {
		t.tpot = (t.e2el - t.ttft) / int64(r.OutputTokens-1)
	}
	return t
}

// Series is a set of values in nanoseconds. It keeps each distinct value once, so that
// its size is bounded by the resolution of what was measured.
type Series struct {
	counts map[int64]int64
	values []int64 // the keys of counts in order, once asked for
	n      int64
}

func (s *Series) add(v, times int64) {
	if s.counts == nil {
		s.counts = map[int64]int64{}
	}
	s.counts[v] += times
	s.n += times
	s.values = nil
}

// N is the number of values.
func (s *Series) N() int64 { return s.n }

func (s *Series) sorted() []int64 {
	if s.values == nil {
		for v := range s.counts {
			s.values = append(s.values, v)
		}
		slices.Sort(s.values)
	}
	return s.values
}

// Moments are the mean and the standard deviation of the population (numpy's std); ok
// is false without values.
func (s *Series) Moments() (mean, std float64, ok bool) {
	if s.n == 0 {
		return 0, 0, false
	}
	for _, v := range s.sorted() {
		mean += float64(v) * float64(s.counts[v])
	}
	mean /= float64(s.n)
	for _, v := range s.sorted() {
		d := float64(v) - mean
		std += d * d * float64(s.counts[v])
	}
	return mean, math.Sqrt(std / float64(s.n)), true
}

// Percentile is numpy's: linear between the values on both sides; ok is false without
// values.
func (s *Series) Percentile(p float64) (v float64, ok bool) {
	if s.n == 0 {
		return 0, false
	}
	at := p / 100 * float64(s.n-1)
	low := int64(math.Floor(at))
	a, b := s.rank(low), s.rank(min(low+1, s.n-1))
	return a + (b-a)*(at-float64(low)), true
}

// rank is value k of the sorted ones, from 0.
func (s *Series) rank(k int64) float64 {
	for _, v := range s.sorted() {
		if k -= s.counts[v]; k < 0 {
			return float64(v)
		}
	}
	return math.NaN()
}
