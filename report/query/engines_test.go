package query

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// told is a sample of a replica with some signals.
func told(at int, replica string, role record.SampleRole, of map[record.Signal]float64) record.EngineSample {
	s := record.UnknownSample()
	s.At, s.Replica, s.Role, s.Dialect = clock.Time(at), replica, role, "vllm"
	for k, v := range of {
		s.Values[k] = v
	}
	return s
}

func engines(samples ...record.EngineSample) Engines {
	all := engineSamples{by: map[string]*engineSeries{}}
	for i := range samples {
		all.add(&samples[i])
	}
	return all.finish()
}

func TestEnginesAddWhatIsToBeAdded(t *testing.T) {
	const hits, queries, running, prefill = record.SignalPrefixHits, record.SignalPrefixQueries, record.SignalRunning, record.SignalPrefillSum
	of := func(h, q, r float64) map[record.Signal]float64 {
		return map[record.Signal]float64{hits: h, queries: q, running: r}
	}
	e := engines(
		told(0, "a", record.SampleEngine, of(10, 100, 0)), told(0, "b", record.SampleEngine, of(0, 0, 0)), told(0, "r", record.SampleRouter, of(10, 100, 0)),
		told(1, "a", record.SampleEngine, of(20, 130, 4)), told(1, "b", record.SampleEngine, of(5, 10, 2)), told(1, "r", record.SampleRouter, of(25, 140, 6)),
		told(2, "a", record.SampleEngine, of(40, 200, 0)), told(2, "b", record.SampleEngine, of(10, 50, 0)), told(2, "r", record.SampleRouter, of(50, 250, 0)),
	)
	if share, ok := e.HitRate(); !ok || share != 40./150 {
		t.Errorf("hits %v %v", share, ok)
	}
	if e.Replicas != 2 || e.Routers != 1 || e.Samples != 6 || !e.Idle || e.Running.Mean != 1 || e.Running.Max != 4 || e.Resets != 0 {
		t.Errorf("%+v", e)
	}
	if _, ok := e.Of(prefill); ok {
		t.Error("what nobody tells is known")
	}
}

// TestAnsweringEngines: those that compute prompts for others end the same requests once
// more, and do not count; what one of them does not tell is not known of all.
func TestAnsweringEngines(t *testing.T) {
	of := func(requests, tokens float64) map[record.Signal]float64 {
		return map[record.Signal]float64{record.SignalRequestsDone: requests, record.SignalGenerationTokens: tokens}
	}
	pair := func(name string, requests, tokens float64) []record.EngineSample {
		return []record.EngineSample{told(0, name, record.SampleEngine, of(5, 50)), told(1, name, record.SampleEngine, of(5+requests, 50+tokens))}
	}
	if e := engines(slices.Concat(pair("decode", 40, 900), pair("prefill", 40, 40))...); e.Answering != 40 {
		t.Errorf("%v requests were answered, want 40", e.Answering)
	}
	if e := engines(append(pair("a", 40, 900), told(0, "b", record.SampleEngine, nil), told(1, "b", record.SampleEngine, nil))...); !math.IsNaN(e.Answering) {
		t.Errorf("%v requests were answered, and one engine does not tell", e.Answering)
	}
}

// TestEnginesThatBeginAnew: what came after counts, and the engine is named; a figure
// that is missing once is neither.
func TestEnginesThatBeginAnew(t *testing.T) {
	const tokens = record.SignalPromptTokens
	var list []record.EngineSample
	for i, v := range []float64{100, 150, math.NaN(), 170, 30, 40} {
		list = append(list, told(i, "a", record.SampleEngine, map[record.Signal]float64{tokens: v}))
	}
	e := engines(list...)
	if v, ok := e.Of(tokens); !ok || v != 70+40 || e.Resets != 1 {
		t.Errorf("%v %v, %d resets", v, ok, e.Resets)
	}
	if e.Idle {
		t.Error("an engine that does not tell how many it runs is idle")
	}
}

// TestEnginesSeenTwice: two pages of one engine are told by their counters.
func TestEnginesSeenTwice(t *testing.T) {
	of := func(sum float64) map[record.Signal]float64 {
		return map[record.Signal]float64{record.SignalTTFTSum: sum, record.SignalTTFTCount: 3}
	}
	e := engines(
		told(0, "a", record.SampleEngine, of(0)), told(0, "b", record.SampleEngine, of(0)), told(0, "c", record.SampleEngine, of(0)),
		told(1, "a", record.SampleEngine, of(1.25)), told(1, "b", record.SampleEngine, of(1.25)), told(1, "c", record.SampleEngine, of(1.5)),
	)
	if v, _ := e.Of(record.SignalTTFTSum); v != 2.75 || !slices.Equal(e.Doubles, []string{"b"}) {
		t.Errorf("sum %v, doubles %v", v, e.Doubles)
	}
	// Idle engines are alike without being one.
	if e := engines(told(0, "a", record.SampleEngine, of(0)), told(0, "b", record.SampleEngine, of(0))); e.Replicas != 2 {
		t.Errorf("%+v", e)
	}
}

// TestKVCourse: the samples of a bin, of engines alone; those behind the last bin are in
// none, and a bin without a sample tells nothing.
func TestKVCourse(t *testing.T) {
	all := engineSamples{by: map[string]*engineSeries{}, width: 10, bins: 3}
	of := func(v float64) map[record.Signal]float64 { return map[record.Signal]float64{record.SignalKVUsage: v} }
	for _, s := range []record.EngineSample{
		told(0, "a", record.SampleEngine, of(0.2)), told(9, "a", record.SampleEngine, of(0.4)), told(5, "b", record.SampleEngine, of(0.9)),
		told(5, "r", record.SampleRouter, of(1)), told(12, "a", record.SampleEngine, of(math.NaN())),
		told(20, "b", record.SampleEngine, of(0.5)), told(30, "a", record.SampleEngine, of(0.7)),
	} {
		all.add(&s)
	}
	want := []Level{{Mean: 0.5, Min: 0.2, Max: 0.9, N: 3}, {}, {Mean: 0.5, Min: 0.5, Max: 0.5, N: 1}}
	if diff := cmp.Diff(want, all.finish().KVCourse, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
