package cli

import (
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/loadgen/target"
	"goodput/report/render"
)

// stepTarget answers like a pool of engines whose steps cost nothing to find: what
// a run with it takes is all that a virtual run does beside the engine. Requests of
// one replica share its steps, as they do in an engine.
type stepTarget struct {
	loop     clock.Loop
	replicas []stepReplica
	free     []*stepAnswer
	n        int
}

type stepReplica struct {
	name  string
	ends  []clock.Time // of the steps that may still be asked for
	steps uint64
}

// stepAnswer is a request being answered.
type stepAnswer struct {
	t       *stepTarget
	replica *stepReplica
	req     *target.Request
	sink    target.Sink
	usage   target.Usage
	server  target.Server
	result  target.Result
}

const (
	stepPrefill = 20 * time.Millisecond
	stepsKept   = 4096
)

func newStepTarget(loop clock.Loop, replicas int) *stepTarget {
	t := &stepTarget{loop: loop, replicas: make([]stepReplica, replicas)}
	for i := range t.replicas {
		t.replicas[i] = stepReplica{name: strconv.Itoa(i), ends: []clock.Time{0}}
	}
	return t
}

// until has steps that end after at, of about 7.5 ms as those of decoding, and of
// twice that now and then; it returns the index of the first.
func (r *stepReplica) until(at clock.Time) int {
	for r.ends[len(r.ends)-1] <= at {
		r.steps++
		step := clock.Time(7_500_000 + r.steps*r.steps%97*997)
		if r.steps%13 == 0 {
			step *= 2
		}
		r.ends = append(r.ends, r.ends[len(r.ends)-1]+step)
	}
	low, high := 0, len(r.ends)-1
	for low < high {
		if mid := (low + high) / 2; r.ends[mid] <= at {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// Start implements target.Target.
func (t *stepTarget) Start(req *target.Request, s target.Sink) {
	var a *stepAnswer
	if n := len(t.free); n > 0 {
		a, t.free = t.free[n-1], t.free[:n-1]
	} else {
		a = &stepAnswer{t: t}
	}
	r := &t.replicas[t.n%len(t.replicas)]
	t.n++
	a.replica, a.req, a.sink = r, req, s
	now := t.loop.Now()
	for _, k := range [...]target.Kind{target.Dispatched, target.Writing, target.Wrote} {
		s.Event(target.Event{At: now, Kind: k})
	}
	first := r.until(now.Add(stepPrefill))
	for len(r.ends) < first+req.Out {
		r.until(r.ends[len(r.ends)-1])
	}
	t.loop.At(r.ends[first+req.Out-1], clock.RankStep, a)
}

// Entity implements clock.Event.
func (a *stepAnswer) Entity() uint64 { return a.req.Seq }

// Fire ends the answer.
func (a *stepAnswer) Fire(now clock.Time) {
	r, out := a.replica, a.req.Out
	last := r.until(now - 1)
	at := r.ends[last-out+1 : last+1]
	a.sink.Event(target.Event{At: at[0], Kind: target.Header, Status: 200})
	a.sink.Event(target.Event{At: at[0], Kind: target.FirstByte})
	a.sink.(target.RunSink).Run(at, target.Text, 1)
	a.usage = target.Usage{Prompt: a.req.In, Completion: out, Cached: 0, Reasoning: target.Unknown}
	a.server = target.Server{
		Source: target.SourceInProcess, TTFT: int64(at[0] - a.req.Intended), E2E: int64(now - a.req.Intended),
		Prefill: int64(stepPrefill), Decode: int64(now - at[0]),
	}
	a.result = target.Result{
		Cause: target.CauseEOF, Status: 200, BytesIn: target.Unknown, BytesOut: target.Unknown, Replica: r.name, Server: &a.server,
	}
	a.sink.Event(target.Event{At: now, Kind: target.Finished, Reason: "length"})
	a.sink.Event(target.Event{At: now, Kind: target.UsageSeen, Usage: &a.usage})
	a.sink.Event(target.Event{At: now, Kind: target.Done})
	a.sink.Event(target.Event{At: now, Kind: target.End, Result: &a.result})
	a.t.free = append(a.t.free, a)
	if len(r.ends) > 2*stepsKept {
		r.ends = append(r.ends[:0], r.ends[len(r.ends)-stepsKept:]...)
	}
}

// pipeline runs n requests of 512 tokens and 256 tokens of answer, 10/s for each of
// the replicas, records them and prints the report. It returns the allocations
// while the loop ran.
func pipeline(tb testing.TB, n, replicas int) (allocs uint64) {
	tb.Helper()
	p := plan.Default()
	p.NumPrompts, p.RequestRate, p.DatasetName = n, plan.Rate(10*replicas), "random"
	p.RandomInput, p.RandomOutput = 512, 256
	p.Out = filepath.Join(tb.TempDir(), "run")
	set, p, err := openDataset(p)
	if err != nil {
		tb.Fatal(err)
	}
	env := &Env{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	s, err := newSession(env, p, set, observe.SLO{})
	if err != nil {
		tb.Fatal(err)
	}
	s.pool, s.target = nil, newStepTarget(s.loop, replicas)
	describeLoad(io.Discard, s)
	if err := s.open(env); err != nil {
		tb.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := s.run(env); err != nil {
		tb.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	r, err := loadReport(s.dir)
	if err != nil {
		tb.Fatal(err)
	}
	if err := render.Text(io.Discard, r); err != nil {
		tb.Fatal(err)
	}
	if r.Scheduled != int64(n) || r.Failed() != 0 {
		tb.Fatalf("%d scheduled, %d failed", r.Scheduled, r.Failed())
	}
	return after.Mallocs - before.Mallocs
}

// TestPipelineAllocatesNothing: what one more request allocates, all goroutines
// counted, is next to nothing: its share of the texts, sinks, and of what the
// Parquet library needs for a page.
func TestPipelineAllocatesNothing(t *testing.T) {
	const few, many = 2000, 22_000
	more := pipeline(t, many, 4) - pipeline(t, few, 4)
	if per := float64(more) / (many - few); per > 0.2 {
		t.Errorf("%.3f allocations per request", per)
	}
}

// BenchmarkPipeline is the cost of a virtual run beside its engines: the schedule,
// sending, observing, recording, and the report.
func BenchmarkPipeline(b *testing.B) {
	for _, n := range []int{10_000, 200_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				pipeline(b, n, 4)
			}
			cpu := cpuTime(b) - before
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N*n), "cpu-ns/request")
		})
	}
}
