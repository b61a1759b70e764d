package accuracy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/steptime"
	"goodput/profiles"
	"goodput/profiles/evidence"
)

// Skipped is why a row can't be predicted.
type Skipped struct{ Why string }

// Error is the reason.
func (s *Skipped) Error() string { return s.Why }

func skip(format string, args ...any) error { return &Skipped{fmt.Sprintf(format, args...)} }

// hardware is what a step-time model is made for.
type hardware struct {
	gpu, model string
	dtype, kv  string // as the table spells them
	tp         int
	family     string // of the engine
	overlap    bool   // the engine prepares a step while the last one runs
}

// setup is the fake engine that stands for the real ones of some rows.
type setup struct {
	kind  string // of GPU
	gpu   profiles.GPU
	model profiles.Model
	tp    int
	step  *steptime.Analytic
	// foreign is the family of the engine if the profile was not made for it.
	foreign string
	overlap bool
	err     error
}

// tableTokens is the length of a step up to which its time is looked up.
const tableTokens = 8192

func (r *runner) setupOf(p *evidence.Point) (*setup, error) {
	name, err := gpuOf(p)
	if err != nil {
		return nil, err
	}
	if p.Replicas > 1 || p.GPUs > p.TP {
		return nil, skip("%d GPUs in %d replicas: one engine is compared", p.GPUs, max(p.Replicas, 1))
	}
	h := hardware{name, p.ModelKey, p.DType, p.KVDType, p.TP, profiles.Family(p.Engine, p.EngineVersion), profiles.Overlaps(p.Engine, p.EngineVersion)}
	s := r.setups[h]
	if s == nil {
		s = &setup{kind: name, tp: p.TP, overlap: h.overlap}
		s.err = s.load(h, r.own)
		r.setups[h] = s
	}
	return s, s.err
}

func (s *setup) load(h hardware, own *profiles.GPU) error {
	gpu, made, err := profiles.LoadGPUUnder(h.gpu, h.family)
	if err != nil {
		return skip("no profile of the GPU %s", h.gpu)
	}
	if s.gpu = gpu; own != nil && own.Name == gpu.Name {
		s.gpu, made = *own, slices.Contains(own.Covered.Families, h.family)
	}
	if !made {
		s.foreign = h.family
	}
	if s.model, err = modelOf(h); err != nil {
		return err
	}
	if s.step, err = steptime.New(s.gpu, s.model, h.tp, tableTokens); err != nil {
		return skip("%v", err)
	}
	if h.overlap {
		s.step = s.step.Overlap()
	}
	return nil
}

// gaps is what the measurements behind the profile did not have.
func (s *setup) gaps(batch int) []string {
	out := s.gpu.Covered.Gaps(&s.model, s.tp, batch)
	if s.foreign != "" {
		out = append(out, "engines like "+s.foreign)
	}
	return out
}

// gpuOf names the kind of a row's GPU as profiles do.
func gpuOf(p *evidence.Point) (string, error) {
	switch p.GPU {
	case "H100-SXM-80GB":
		return "h100-sxm", nil
	case "A800-SXM-80GB":
		// An A100 with slower links, which one GPU alone does not use.
		if p.TP > 1 {
			return "", skip("no profile of the links of the A800")
		}
		return "a100-sxm-80gb", nil
	}
	return strings.ToLower(p.GPU), nil
}

func modelOf(h hardware) (profiles.Model, error) {
	m, err := profiles.LoadModel(h.model)
	if err != nil {
		return m, skip("no profile of the model %s", h.model)
	}
	quantization, err := quantizationOf(h.dtype)
	if err != nil {
		return m, err
	}
	kv := profiles.KVBFloat16
	if strings.HasPrefix(h.kv, "fp8") {
		kv = profiles.KVFP8
	}
	if m, err = m.Stored(string(quantization), string(kv)); err != nil {
		return m, skip("%v", err)
	}
	return m, nil
}

func quantizationOf(dtype string) (profiles.Quantization, error) {
	switch {
	case dtype == "bf16" || dtype == "fp16":
		return profiles.Unquantized, nil
	case dtype == "fp8" || dtype == "fp8_block":
		return profiles.FP8, nil
	case dtype == "awq-int4" || dtype == "w4a16":
		return profiles.AWQ, nil
	case strings.HasPrefix(dtype, "mxfp4"):
		return profiles.MXFP4, nil
	}
	return "", skip("no storage of weights like %s", dtype)
}

// What published runs are taken to have left at its default.
const (
	memoryShare = 0.9 // of the GPU's memory that the engine may use
	blockSize   = 16  // tokens
	engineName  = "vllm@0.19"
)

func (s *setup) blocks() (int, error) {
	n, err := profiles.KVBlocks(s.gpu, s.model, s.tp, memoryShare, blockSize)
	if err != nil {
		return 0, skip("%v", err)
	}
	return n, nil
}

// engine is the configuration for a load of so many requests at once; longest is
// the most tokens of prompt and answer, budget those of a step, 0 for the default.
func (s *setup) engine(clients, longest, budget int) (engine.Config, error) {
	blocks, err := s.blocks()
	if err != nil {
		return engine.Config{}, err
	}
	version, err := profiles.LoadEngine(engineName)
	if err != nil {
		return engine.Config{}, err
	}
	limits := version.StepLimits(&s.gpu)
	if budget == 0 {
		budget = limits.MaxNumBatchedTokens
	}
	return engine.Config{
		MaxNumSeqs:          max(limits.MaxNumSeqs, clients), // servers under test are set up for the load
		MaxNumBatchedTokens: budget,
		MaxModelLen:         longest, BlockSize: blockSize, NumGPUBlocks: blocks, ChunkedPrefill: true,
		AsyncScheduling: s.overlap, ReserveFullISL: version.ReserveFullISL.Value,
		PrependUnhashed: version.PrependUnhashed.Value, Watermark: version.Watermark.Value,
		FrontEnd: s.gpu.FrontEndDelay(),
	}, nil
}

// possible reports a measured time, in ms, in which the GPU could not do b at its
// peak rates.
func (s *setup) possible(p *evidence.Point, field string, measured float64, b *steptime.Batch) error {
	floor := ms(s.step.Floor(b))
	if measured == 0 || measured >= floor {
		return nil
	}
	gpus := s.kind
	if s.tp > 1 {
		gpus = fmt.Sprintf("%d x %s", s.tp, s.kind)
	}
	return &evidence.Error{
		File: p.File, Line: p.Line, Field: field,
		Why: fmt.Sprintf("%.4g ms is less than the %.4g ms that %s needs for %s at its peak rates: are the unit, the model, dtype and tp right?", measured, floor, gpus, s.model.Name),
	}
}

// decodes is a step of n answers that attend to so many tokens each.
func decodes(n int, context float64) steptime.Batch {
	var b steptime.Batch
	for range n {
		b.Add(tokens(context)-1, 1)
	}
	b.Emit = n
	return b
}

// prompts is a step that computes n prompts whole, of total tokens.
func prompts(n int, total float64) steptime.Batch {
	var b steptime.Batch
	for i := range n {
		b.Add(0, max(1, (tokens(total)+i)/n))
	}
	b.Emit = n
	return b
}

func tokens(mean float64) int { return max(1, int(math.Round(mean))) }

// ms converts picoseconds.
func ms(ps int64) float64 { return float64(ps) / 1e9 }
