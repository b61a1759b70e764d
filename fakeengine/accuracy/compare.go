package accuracy

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"goodput/fakeengine/steptime"
	"goodput/fakeengine/trial"
	"goodput/profiles"
	"goodput/profiles/evidence"
)

// Compare predicts what each row measured, with own in place of the embedded
// profile of its name; own may be nil. Rows that can't be predicted are misses, and so
// are figures that no GPU could reach at its peak rates: published tables hold a few.
// Where half of the rows are such, a unit is wrong: the error, an *evidence.Error,
// names the first.
//
// Engines run in as many goroutines as there are processors; the result does not
// depend on that.
func Compare(points []evidence.Point, own *profiles.GPU) ([]Comparison, []Miss, error) {
	r := runner{own: own, setups: map[hardware]*setup{}, runs: map[key]*job{}}
	tasks := make([]task, len(points))
	for i := range points {
		t := &tasks[i]
		t.point = &points[i]
		t.err = r.prepare(t)
	}
	if err := wrongUnits(tasks); err != nil {
		return nil, nil, err
	}
	r.runAll()
	var out []Comparison
	var missed []Miss
	for i := range tasks {
		t := &tasks[i]
		if t.err == nil && t.job != nil {
			t.err = t.job.err
		}
		if t.err == nil {
			n := len(out)
			out = t.finish(out)
			if len(out) == n {
				t.err = skip("no figure that is compared")
			}
		}
		if s, ok := errors.AsType[*Skipped](t.err); ok {
			missed = append(missed, Miss{t.point, s.Why})
		} else if _, ok := errors.AsType[*evidence.Error](t.err); ok {
			missed = append(missed, Miss{t.point, "faster than the GPU at its peak rates"})
		} else if t.err != nil {
			return nil, nil, fmt.Errorf("%s: %w", t.point.Where(), t.err)
		}
	}
	return out, missed, nil
}

// wrongUnits is the first impossible figure if they are half of what could be
// predicted, or more.
func wrongUnits(tasks []task) error {
	var first error
	impossible, possible := 0, 0
	for i := range tasks {
		if e, ok := errors.AsType[*evidence.Error](tasks[i].err); ok {
			if impossible++; first == nil {
				first = e
			}
		} else if tasks[i].err == nil {
			possible++
		}
	}
	if impossible >= possible {
		return first
	}
	return nil
}

// On returns the rows that were measured on one of the GPUs, named as profiles are.
func On(points []evidence.Point, gpus []string) []evidence.Point {
	var out []evidence.Point
	for i := range points {
		if name, err := gpuOf(&points[i]); err == nil && slices.Contains(gpus, name) {
			out = append(out, points[i])
		}
	}
	return out
}

// task is one row on its way to comparisons.
type task struct {
	point *evidence.Point
	*setup
	batch steptime.Batch // of a step
	job   *job           // nil: no run of an engine is needed
	err   error
}

// key is what a run of an engine depends on. Sources repeat configurations under
// several versions of an engine; each runs once.
type key struct {
	*setup
	budget int
	load   trial.Load
}

type job struct {
	key
	got trial.Result
	err error
}

type runner struct {
	own    *profiles.GPU
	setups map[hardware]*setup
	runs   map[key]*job
	order  []*job
}

// prepare finds the engine that stands for the real one of a row, and what it must
// run.
func (r *runner) prepare(t *task) (err error) {
	p := t.point
	switch {
	case p.Kind == evidence.Op:
		return skip("a kernel, not a step")
	case p.Unfit:
		return skip("kept by its source for reference only")
	}
	if t.setup, err = r.setupOf(p); err != nil {
		return err
	}
	switch {
	case p.Kind == evidence.StepDecode:
		t.batch = decodes(p.Batch, p.ContextLen)
		return t.possible(p, "step_time_ms", p.Step, &t.batch)
	case p.Kind == evidence.StepPrefill:
		t.batch = prompts(p.Batch, p.PrefillTokens)
		return t.possible(p, "step_time_ms", p.Step, &t.batch)
	case p.Kind == evidence.KVBlocks:
		return nil
	case p.Load == evidence.ClosedLoop && p.Kind == evidence.Serving:
		one := decodes(1, p.InputLen)
		if err := t.possible(p, "tpot_ms_mean", p.TPOT.Typical(), &one); err != nil {
			return err
		}
		t.job = r.run(t, trial.Closed(p.Batch, tokens(p.InputLen), tokens(p.OutputLen)))
		return nil
	case p.Batch > 0 && (p.Kind == evidence.Offline || p.Load == evidence.Burst):
		t.job = r.run(t, trial.Batch(p.Batch, tokens(p.InputLen), tokens(p.OutputLen)))
		return nil
	}
	return skip("%s: not a load that is compared", p.Load)
}

func (r *runner) run(t *task, l trial.Load) *job {
	k := key{t.setup, t.point.MaxBatchedTokens, l}
	if j := r.runs[k]; j != nil {
		return j
	}
	j := &job{key: k}
	r.runs[k] = j
	r.order = append(r.order, j)
	return j
}

// runAll runs all jobs.
func (r *runner) runAll() {
	next := make(chan *job)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for j := range next {
				j.do()
			}
		})
	}
	for _, j := range r.order {
		next <- j
	}
	close(next)
	wg.Wait()
}

func (j *job) do() {
	c, err := j.engine(j.load.Clients, j.load.Input+j.load.Output, j.budget)
	if err == nil {
		if j.got, err = trial.Run(c, j.step, j.load); err != nil {
			err = skip("%v", err)
		}
	}
	j.err = err
}

// finish appends the comparisons of a row.
func (t *task) finish(out []Comparison) []Comparison {
	p := t.point
	gaps := t.gaps(p.Batch)
	add := func(m Measure, measured, predicted float64) {
		if measured > 0 && !math.IsNaN(predicted) {
			out = append(out, Comparison{
				Point: p, Measure: m, GPU: t.kind, Profile: t.gpu.Name, Era: eraOf(p),
				Measured: measured, Predicted: predicted, Gaps: gaps,
			})
		}
	}
	switch p.Kind {
	case evidence.StepDecode:
		add(DecodeStep, p.Step, ms(t.step.Step(&t.batch)))
	case evidence.StepPrefill:
		add(PrefillStep, p.Step, ms(t.step.Step(&t.batch)))
	case evidence.KVBlocks:
		gaps = nil // of memory; nothing is timed
		if t.model.OtherMemory.Status == profiles.Fitted {
			gaps = []string{"a model whose memory was fitted to a logged count"}
		}
		if n, err := t.blocks(); err == nil {
			add(Blocks, p.Metric, float64(n))
		}
	default:
		t.finishRun(add)
	}
	return out
}

func (t *task) finishRun(add func(Measure, float64, float64)) {
	p, got := t.point, &t.job.got
	if t.job.load.Requests == t.job.load.Clients && p.Load != evidence.ClosedLoop {
		add(Offline, makespan(p), 1e3*got.Makespan)
		return
	}
	add(TPOT, p.TPOT.Typical(), 1e3*got.TPOT)
	add(Throughput, outputRate(p), got.OutputRate)
	if p.Batch == 1 {
		add(TTFT, p.TTFT.Typical(), 1e3*got.TTFT)
	}
}

// makespan is the measured time in ms until all of a batch that started together
// was done; 0: unknown.
func makespan(p *evidence.Point) float64 {
	switch {
	case p.MetricName == "benchmark_duration":
		return 1e3 * p.Metric
	case p.Kind == evidence.Offline && p.E2EMean > 0:
		return p.E2EMean // of the batch, as such benchmarks report it
	case p.OutputTokS > 0:
		return 1e3 * float64(p.Batch) * p.OutputLen / p.OutputTokS
	}
	return 0
}

// outputRate is the measured rate of output tokens; 0: unknown. Where the source
// does not give it, it follows from the means of TTFT and TPOT: a client gets its
// answer of n tokens in TTFT + (n-1) TPOT, and all of them are busy.
func outputRate(p *evidence.Point) float64 {
	switch {
	case p.OutputTokS > 0:
		return p.OutputTokS
	case p.TTFT.Mean > 0 && p.TPOT.Mean > 0 && p.OutputLen > 1:
		return 1e3 * float64(p.Batch) * p.OutputLen / (p.TTFT.Mean + p.TPOT.Mean*(p.OutputLen-1))
	}
	return 0
}
