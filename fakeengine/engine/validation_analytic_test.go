package engine

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
	"goodput/profiles"
)

// stage is one stage of a measured open-loop run: a constant rate for a time.
type stage struct {
	model            string
	tp               int
	cfg              Config
	system, question int // tokens of a prompt, shared and not
	prompts          int // distinct system prompts
	// asked is the length of answers in tokens that the workload states, out the one
	// that the measured means of E2E, TTFT and ITL imply.
	asked, out int
	rate       float64 // per second
	duration   time.Duration
	ttft, itl  float64 // measured means, ms
}

// profileOf names the profile of a measured model.
func profileOf(model string) string {
	switch model {
	case "meta-llama/Llama-3.1-70B-Instruct":
		return "llama-3.1-70b"
	case "mistralai/Mistral-Nemo-Instruct-2407":
		return "mistral-nemo-12b"
	case "01-ai/Yi-34B":
		return "yi-34b"
	case "meta-llama/Llama-2-7b-hf":
		return "llama-2-7b"
	}
	return "" // quantised experts: their step times have their own tests
}

func readStages(t testing.TB) []stage {
	t.Helper()
	f, err := os.Open(shared(t, "validation/h100-open-loop.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var stages []stage
	for _, row := range rows[1:] {
		at := func(column string) float64 {
			for i, name := range rows[0] {
				if name == column {
					x, err := strconv.ParseFloat(row[i], 64)
					if err != nil {
						t.Fatal(err)
					}
					return x
				}
			}
			t.Fatalf("no column %s", column)
			return 0
		}
		n := func(column string) int { return int(at(column)) }
		s := stage{
			model: profileOf(row[1]), tp: n("tp"),
			cfg: Config{
				MaxNumSeqs: n("max_num_seqs"), MaxNumBatchedTokens: n("max_num_batched_tokens"), MaxModelLen: 4096,
				BlockSize: 16, NumGPUBlocks: n("num_gpu_blocks"), PrefixCaching: true, ChunkedPrefill: true,
				ReserveFullISL: true,
			},
			system: n("system_prompt_len"), question: n("question_len"), asked: n("output_len"), out: 1 + int(math.Round((at("e2e_mean_ms")-at("ttft_mean_ms"))/at("itl_mean_ms"))), prompts: n("num_system_prompts"),
			rate: at("rate_rps"), duration: time.Duration(n("duration_s")) * time.Second,
			ttft: at("ttft_mean_ms"), itl: at("itl_mean_ms"),
		}
		if s.model != "" {
			stages = append(stages, s)
		}
	}
	return stages
}

// play offers the stage's load, as a Poisson process of requests of its mean
// lengths, to an engine of its settings. It returns mean TTFT and ITL in
// milliseconds.
func (s *stage) play(t testing.TB) (ttft, itl float64) {
	t.Helper()
	gpu, err := profiles.LoadGPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	model, err := profiles.LoadModel(s.model)
	if err != nil {
		t.Fatal(err)
	}
	step, err := steptime.New(gpu, model, s.tp, s.cfg.MaxNumBatchedTokens)
	if err != nil {
		t.Fatal(err)
	}
	loop := clock.NewVirtual()
	s.cfg.FrontEnd = gpu.FrontEndDelay()
	e, err := New(s.cfg, step.Overlap(), loop)
	if err != nil {
		t.Fatal(err)
	}
	sink := &quiet{}
	// Even gaps, a little off any multiple of a step: see offsets.
	offsets := rng.New(1, "offsets", 0)
	var seqs []*Seq
	for n := 0; float64(n) < s.rate*s.duration.Seconds(); n++ {
		at := (float64(n) + 0.2*offsets.Float64()) / s.rate
		id := uint64(len(seqs))
		q := &Seq{ID: id, Prompt: s.system + s.question, MaxTokens: s.out, Shared: s.system, Sink: sink}
		for b := range s.system / s.cfg.BlockSize {
			q.Hashes = append(q.Hashes, (id%uint64(s.prompts))<<16|uint64(b))
		}
		seqs = append(seqs, q)
		loop.At(clock.Time(at*1e9), clock.RankArrival, call{id, func() {
			if err := e.Submit(q); err != nil {
				t.Error(err)
			}
		}})
	}
	loop.Run()
	for _, q := range seqs {
		n := float64(len(seqs)) * 1e6
		ttft += float64(q.FirstToken-q.Arrival) / n
		itl += float64(q.LastToken-q.FirstToken) / float64(q.Output-1) / n
	}
	return ttft, itl
}

// The step times of a profile, apart from the scheduler: stages of real vLLM on
// H100 (inference-sim/sim-to-real-accuracy-validation) against the profile that
// was fitted to these and others. No queue builds up in them, so what differs is
// step time, and the instant at which an arrival joins: the profile was fitted
// to synchronous scheduling, which is bounded here; asynchronous scheduling is
// told beside it. VALIDATION.md says more.
func TestValidationAnalyticStepTime(t *testing.T) {
	const bound = 12 // percent
	for _, s := range readStages(t) {
		name := fmt.Sprintf("%-16s TP %d %4.1f/s", s.model, s.tp, s.rate)
		if math.Abs(float64(s.out)/float64(s.asked)-1) > 0.05 {
			t.Logf("%s left out: answers of %d tokens were measured, %d asked for; what was sent is not known", name, s.out, s.asked)
			continue
		}
		ttft, itl := s.play(t)
		ttft, itl = 100*(ttft/s.ttft-1), 100*(itl/s.itl-1)
		s.cfg.AsyncScheduling = true
		late, _ := s.play(t)
		t.Logf("%s  itl %5.2f ms %+5.1f%%  ttft %5.1f ms %+5.1f%%, asynchronous %+5.1f%%", name, s.itl, itl, s.ttft, ttft, 100*(late/s.ttft-1))
		if math.Abs(ttft) > bound || math.Abs(itl) > bound {
			t.Errorf("%s: mean TTFT is off by %+.1f%%, mean ITL by %+.1f%%, at most %d%% is allowed", name, ttft, itl, bound)
		}
	}
}
