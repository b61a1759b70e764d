package server

import (
	"time"

	"goodput/fakeengine/engine"
	"goodput/loadgen/clock"
)

// maxBounds is the length of the longest list of bounds.
const maxBounds = 22

// histogram counts durations below fixed bounds. It is a value, so that a
// snapshot is an assignment.
type histogram struct {
	counts [maxBounds + 1]uint64 // not cumulative; the one after the last bound is +Inf
	sum    time.Duration
}

func (h *histogram) observe(bounds []float64, d time.Duration) {
	s := d.Seconds()
	i := 0
	for i < len(bounds) && s > bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += d
}

// The upper bounds of vLLM's histograms, in seconds.
func firstTokenBounds() []float64 {
	return []float64{
		0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
		1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
	}
}

func tokenBounds() []float64 {
	return []float64{
		0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75,
		1, 2.5, 5, 7.5, 10, 20, 40, 80,
	}
}

func requestBounds() []float64 {
	return []float64{
		0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60,
		120, 240, 480, 960, 1920, 7680,
	}
}

// The histograms of a replica, in order of exposition.
const (
	histTTFT = iota
	histITL
	histTPOT
	histE2E
	histQueue
	histInference
	histPrefill
	histDecode
	histograms // their number
)

// family describes a histogram to readers.
type family struct {
	name, help string
	bounds     []float64
}

func families() [histograms]family {
	ttft, token, req := firstTokenBounds(), tokenBounds(), requestBounds()
	return [histograms]family{
		histTTFT:      {"vllm:time_to_first_token_seconds", "From arrival to the first token.", ttft},
		histITL:       {"vllm:inter_token_latency_seconds", "Between two outputs of a request.", token},
		histTPOT:      {"vllm:request_time_per_output_token_seconds", "Mean time of a request's tokens after the first.", token},
		histE2E:       {"vllm:e2e_request_latency_seconds", "From arrival to the last token.", req},
		histQueue:     {"vllm:request_queue_time_seconds", "From queued to first scheduled.", req},
		histInference: {"vllm:request_inference_time_seconds", "From first scheduled to the last token.", req},
		histPrefill:   {"vllm:request_prefill_time_seconds", "From first scheduled to the first token.", req},
		histDecode:    {"vllm:request_decode_time_seconds", "From the first token to the last.", req},
	}
}

// latencies is what one replica measured of its requests. It belongs to the
// loop's goroutine.
type latencies struct {
	families *[histograms]family // shared, never changed
	hist     [histograms]histogram
	finished [finishes]uint64
}

func (l *latencies) observe(which int, from, to clock.Time) {
	l.hist[which].observe(l.families[which].bounds, to.Sub(from))
}

// end counts a request that is over, if the replica has had it.
func (l *latencies) end(s *engine.Seq, why engine.Finish) {
	if !s.Arrival.Known() {
		return
	}
	l.finished[why]++
	if why == engine.Aborted {
		return
	}
	l.observe(histE2E, s.Arrival, s.LastToken)
	l.observe(histQueue, s.Queued, s.Scheduled)
	l.observe(histInference, s.Scheduled, s.LastToken)
	l.observe(histPrefill, s.Scheduled, s.FirstToken)
	l.observe(histDecode, s.FirstToken, s.LastToken)
	if s.Output > 1 {
		gaps := clock.Time(s.Output - 1)
		l.observe(histTPOT, 0, (s.LastToken-s.FirstToken)/gaps)
	}
}
