package record

import (
	"math"

	"goodput/loadgen/clock"
)

// Signal is one figure of an EngineSample.
type Signal uint8

// The signals. Levels are as of the sample, all others are counters since the engine
// began; sums are in seconds.
const (
	SignalRunning Signal = iota
	SignalWaiting
	SignalWaitingCapacity
	SignalWaitingDeferred
	SignalKVUsage // 0 to 1
	SignalPrefixQueries
	SignalPrefixHits
	SignalPreemptions
	SignalPromptTokens
	SignalGenerationTokens
	SignalRequestsDone
	SignalSpecDrafts
	SignalSpecDrafted
	SignalSpecAccepted
	SignalTTFTSum
	SignalTTFTCount
	SignalE2ESum
	SignalE2ECount
	SignalQueueSum
	SignalQueueCount
	SignalPrefillSum
	SignalPrefillCount
	SignalDecodeSum
	SignalDecodeCount
	SignalTPOTSum
	SignalTPOTCount
	// SignalStarted is when the process began, in Unix seconds.
	SignalStarted
	NumSignals int = iota
)

// signalNames are the columns.
var signalNames = [NumSignals]string{
	"running", "waiting", "waiting_capacity", "waiting_deferred", "kv_usage",
	"prefix_queries", "prefix_hits", "preemptions", "prompt_tokens", "generation_tokens", "requests",
	"spec_drafts", "spec_drafted", "spec_accepted",
	"ttft_sum", "ttft_count", "e2e_sum", "e2e_count", "queue_sum", "queue_count",
	"prefill_sum", "prefill_count", "decode_sum", "decode_count", "tpot_sum", "tpot_count", "started",
}

// String is the name of the signal's column.
func (s Signal) String() string { return signalNames[s] }

// Level reports that the signal goes up and down.
func (s Signal) Level() bool { return s <= SignalKVUsage || s == SignalStarted }

// SampleSource says where a sample is from.
type SampleSource string

// The sources.
const (
	SampleInProcess SampleSource = "inprocess" // the engine, asked in the same process
	SampleScrape    SampleSource = "scrape"    // its /metrics
	SampleORCA      SampleSource = "orca"      // the header of an answer, as of when it was made
)

// SampleRole says what the sample is of.
type SampleRole string

// The roles.
const (
	// SampleEngine is what an engine says of itself.
	SampleEngine SampleRole = "engine"
	// SampleRouter is what something before the engines says, of itself or, once more,
	// of the engines: never to be added to theirs.
	SampleRouter SampleRole = "router"
)

// EngineSample is what one replica said at one instant: one row of engine-*.parquet.
type EngineSample struct {
	// At is when the answer was there, AsOf when it was asked for: the state is of an
	// instant between the two.
	At, AsOf clock.Time
	Arm      string
	Trial    int32
	Replica  string
	Role     SampleRole
	Source   SampleSource
	// Dialect is whose names the figures had: vllm, sglang, trtllm, ...
	Dialect string
	// Values are by Signal; NaN is unknown.
	Values [NumSignals]float64
}

// UnknownSample is an EngineSample of which nothing is known.
func UnknownSample() EngineSample {
	s := EngineSample{At: clock.Never, AsOf: clock.Never, Role: SampleEngine, Source: SampleScrape}
	for i := range s.Values {
		s.Values[i] = math.NaN()
	}
	return s
}
