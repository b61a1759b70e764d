package accuracy

import (
	"fmt"
	"math"
	"path"
	"strings"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/steptime"
	"goodput/fakeengine/trial"
	"goodput/profiles"
	"goodput/profiles/evidence"
)

// StageEngine is the version whose rules stages are run with if their table does not
// say: the stages that were published are of vLLM of about 0.15.1.
const StageEngine = "vllm@0.15"

// StagePrompts is how many whole prompts a stage sends in turn if its table does not say.
// The client of the published stages left the numbers in its profile unread and took its
// defaults, ten groups of ten prompts: its effective configuration says so, and lengths of
// prompts repeat every hundred requests (inference-sim/training@c4f0340:default_args).
const StagePrompts = 100

// StageBound is the relative error of the means of TTFT and of the time per token up to
// which an open-loop stage counts as met.
const StageBound = 0.12

// StageResult is a stage and what an engine made of its load. Times are in ms.
type StageResult struct {
	Stage *evidence.Stage
	// Engine is the version whose rules the engine followed.
	Engine string
	// TTFT and PerToken are predicted means; PerToken is E2E over the tokens of the
	// answer, as the published time per token is.
	TTFT, PerToken          float64
	E2EMean, E2EP90, E2EP99 float64
	// LaterTTFT is the mean if arrivals waited for one step more, or for one less where
	// the version has them wait: whether a server was set so is often not published.
	LaterTTFT float64
	// Contradicted is why the measured time per token is compared as E2E over the answer
	// that was asked for; empty: it is compared as it stands.
	Contradicted string
}

// MeasuredPerToken is what PerToken is held against.
func (r *StageResult) MeasuredPerToken() float64 {
	if r.Contradicted != "" {
		return r.Stage.PerToken()
	}
	return r.Stage.ITL
}

// TTFTError and PerTokenError are relative errors.
func (r *StageResult) TTFTError() float64 { return r.TTFT/r.Stage.TTFT - 1 }

// PerTokenError is that of the time per token.
func (r *StageResult) PerTokenError() float64 { return r.PerToken/r.MeasuredPerToken() - 1 }

// Within says whether both means are within StageBound.
func (r *StageResult) Within() bool {
	return math.Abs(r.TTFTError()) <= StageBound && math.Abs(r.PerTokenError()) <= StageBound
}

// CompareStages runs an engine of its settings, and with the rules of its version, under
// the load of each stage. own, if not nil, stands for the embedded profile of its name.
func CompareStages(stages []evidence.Stage, own *profiles.GPU) ([]StageResult, error) {
	out := make([]StageResult, len(stages))
	for i := range stages {
		r, err := compareStage(&stages[i], own)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stages[i].Where(), err)
		}
		out[i] = r
	}
	return out, nil
}

func compareStage(s *evidence.Stage, own *profiles.GPU) (StageResult, error) {
	r := StageResult{Stage: s, Engine: s.Engine, Contradicted: s.Contradiction()}
	if r.Engine == "" {
		r.Engine = StageEngine
	}
	c, step, err := stageEngine(s, r.Engine, own)
	if err != nil {
		return r, err
	}
	load := trial.Open{
		Rate: s.Rate, Requests: max(1, int(s.Rate*s.Duration)), Input: s.System + s.Question, Shared: s.System, Groups: s.Prompts, Output: s.Output,
		Prompts: s.Distinct,
	}
	if load.Prompts == 0 {
		load.Prompts = StagePrompts
	}
	got, err := trial.RunOpen(c, step, load)
	if err != nil {
		return r, err
	}
	r.TTFT, r.PerToken = 1e3*got.TTFT, 1e3*got.E2E/float64(s.Output)
	r.E2EMean, r.E2EP90, r.E2EP99 = 1e3*got.E2E, 1e3*got.E2EP90, 1e3*got.E2EP99
	c.AsyncScheduling = !c.AsyncScheduling
	if got, err = trial.RunOpen(c, step, load); err != nil {
		return r, err
	}
	r.LaterTTFT = 1e3 * got.TTFT
	return r, nil
}

// stageEngine is the fake engine that stands for the one of a stage.
func stageEngine(s *evidence.Stage, name string, own *profiles.GPU) (engine.Config, steptime.Model, error) {
	version, err := profiles.LoadEngine(name)
	if err != nil {
		return engine.Config{}, nil, err
	}
	gpu, err := stageGPU(s.Hardware, own)
	if err != nil {
		return engine.Config{}, nil, err
	}
	model, err := checkpoint(s.Model)
	if err != nil {
		return engine.Config{}, nil, err
	}
	step, err := steptime.New(gpu, model, s.TP, s.MaxTokens)
	if err != nil {
		return engine.Config{}, nil, err
	}
	if version.HostOverlap.Value {
		step = step.Overlap()
	}
	return engine.Config{
		MaxNumSeqs: s.MaxSeqs, MaxNumBatchedTokens: s.MaxTokens, MaxModelLen: s.System + s.Question + s.Output,
		BlockSize: blockSize, NumGPUBlocks: s.Blocks, PrefixCaching: true, ChunkedPrefill: true,
		AsyncScheduling: version.AsyncScheduling.Value, ReserveFullISL: version.ReserveFullISL.Value,
		PrependUnhashed: version.PrependUnhashed.Value, Watermark: version.Watermark.Value,
		FrontEnd: gpu.FrontEndDelay(),
	}, step, nil
}

func stageGPU(hardware string, own *profiles.GPU) (profiles.GPU, error) {
	name := map[string]string{"H100": "h100-sxm", "A100": "a100-sxm-80gb", "A100-80GB": "a100-sxm-80gb", "MI300X": "mi300x"}[hardware]
	if name == "" {
		return profiles.GPU{}, fmt.Errorf("hardware: no profile of %q: use H100, A100-80GB or MI300X", hardware)
	}
	if own != nil && own.Name == name {
		return *own, nil
	}
	return profiles.LoadGPU(name)
}

// checkpoint finds the profile of a published checkpoint: its name without the owner
// and what follows the size, such as -Instruct.
func checkpoint(name string) (profiles.Model, error) {
	stem := strings.ToLower(path.Base(name))
	for {
		if m, err := profiles.LoadModel(stem); err == nil {
			return m, nil
		}
		cut := strings.LastIndexByte(stem, '-')
		if cut < 0 {
			return profiles.Model{}, fmt.Errorf("model: no profile of the checkpoint %q", name)
		}
		stem = stem[:cut]
	}
}
