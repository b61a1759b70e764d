package cli

import (
	"fmt"
	"strings"
	"time"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/plan"
	"goodput/profiles"
)

// hardware is what the profiles that a plan names come to.
type hardware struct {
	gpu   profiles.GPU
	model profiles.Model // stored as the plan says
	tp    int
	step  *steptime.Analytic
	table *steptime.Table    // what steps take; nil: step
	draft *steptime.Analytic // nil: no drafter that runs on the GPU

	blocks, blockSize int
	derived           bool   // blocks follows from the GPU's memory
	from              string // the folder of the table
}

// steps is how long the engines' steps take, without drafts.
func (h *hardware) steps() steptime.Model {
	if h.table != nil {
		return h.table
	}
	return h.step
}

// frontEnd is the delay before the scheduler sees a request. Kernel times know of
// none.
func (h *hardware) frontEnd() time.Duration {
	if h.table != nil {
		return 0
	}
	return h.gpu.FrontEndDelay()
}

// loadGPU returns the GPU profile of a name, or of a file, such as goodput profile fit writes.
func loadGPU(name string) (profiles.GPU, error) {
	if !strings.HasSuffix(name, ".yaml") {
		return profiles.LoadGPU(name)
	}
	text, err := readLimited(name, maxProfile)
	if err != nil {
		return profiles.GPU{}, err
	}
	return profiles.ReadGPU(name, text)
}

// newHardware loads the profiles of a plan. Its errors name the flag to change.
func newHardware(p *plan.Plan) (h hardware, err error) {
	h.tp, h.blocks, h.blockSize = p.TP, p.EngineNumGPUBlocks, p.EngineBlockSize
	if h.gpu, err = loadGPU(p.GPU); err != nil {
		return h, fmt.Errorf("--gpu: %w", err)
	}
	checkpoint, err := profiles.LoadModel(p.EngineModel)
	if err != nil {
		return h, fmt.Errorf("--engine-model: %w", err)
	}
	if h.model, err = checkpoint.Stored(p.EngineQuantization, ""); err != nil {
		return h, fmt.Errorf("--engine.quantization: %w", err)
	}
	if h.model, err = h.model.Stored("", p.EngineKVCacheDType); err != nil {
		return h, fmt.Errorf("--engine.kv-cache-dtype: %w", err)
	}
	if h.step, err = steptime.New(h.gpu, h.model, h.tp, p.EngineMaxNumBatchedTokens); err != nil {
		return h, fmt.Errorf("--tp: %w", err)
	}
	if p.EngineHostOverlap {
		h.step = h.step.Overlap()
	}
	if p.EngineStepTable != "" {
		h.from = p.EngineStepTable
		if h.table, err = steptime.LoadTable(h.from, steptime.Deployment{Model: h.model, TP: h.tp, EP: p.EngineDP}); err != nil {
			return h, fmt.Errorf("--engine.step-table: %w", err)
		}
	}
	inMemory, err := h.addDrafter(p)
	if err != nil {
		return h, err
	}
	if h.blocks == 0 {
		h.derived = true
		if h.blocks, err = profiles.KVBlocks(h.gpu, inMemory[0], h.tp, p.EngineGPUMemory, h.blockSize, inMemory[1:]...); err != nil {
			return h, fmt.Errorf("--engine-model: %w", err)
		}
		if p.EngineEnableLora {
			err = h.makeRoom(p.EngineMaxLoras, p.EngineMaxLoraRank)
		}
	}
	return h, err
}

// makeRoom takes the memory of adapters' places from the KV blocks.
func (h *hardware) makeRoom(places, rank int) error {
	block := h.model.KVBytesPerToken(h.tp) * int64(h.blockSize)
	bytes := int64(places) * h.model.AdapterBytes(rank, h.tp)
	if h.blocks -= int((bytes + block - 1) / block); h.blocks < 2 {
		return fmt.Errorf("--engine.max-loras: %d adapters of rank %d take %.1f GB of each GPU, which leaves no room for KV blocks: hold fewer", places, rank, float64(bytes)/1e9)
	}
	return nil
}

// blockBytes is the size of a KV block on all GPUs of an engine.
func (h *hardware) blockBytes() int64 {
	return h.model.KVBytesPerToken(h.tp) * int64(h.blockSize) * int64(h.tp)
}

// offload is a tier of so many GiB in host memory.
func (h *hardware) offload(gib float64) (engine.Offload, error) {
	n := gib * (1 << 30) / float64(h.blockBytes())
	if n < 1 || n >= 1<<31-1 {
		return engine.Offload{}, fmt.Errorf("--engine.kv-offloading-size: %v GiB are %.1f KV blocks of %d bytes: need 1 to %d", gib, n, h.blockBytes(), 1<<31-2)
	}
	return engine.Offload{Blocks: int(n), Copy: h.step.Copy(1, h.blockSize)}, nil
}

// lora is the adapters of an engine.
func (h *hardware) lora(p *plan.Plan) engine.LoRA {
	c := h.step.Adapter(p.EngineMaxLoraRank)
	return engine.LoRA{
		MaxLoras: p.EngineMaxLoras, MaxCPULoras: max(p.EngineMaxLoras, p.EngineMaxCPULoras),
		Fetch: c.Fetch, Load: c.Load, Step: c.Step, Each: c.Each, Token: c.Token,
	}
}

// addDrafter makes what drafts on the GPU, and returns what lies in its memory: the
// model, with a layer more for the drafters that are one, and a draft model.
func (h *hardware) addDrafter(p *plan.Plan) (inMemory []profiles.Model, err error) {
	drafter, flag := h.model, "--tp"
	switch p.EngineSpecMethod {
	case "eagle", "mtp":
		inMemory = append(inMemory, h.model)
		inMemory[0].Layers++
		drafter = steptime.DraftLayer(drafter)
	case "draft_model":
		flag = "--engine.speculative-model"
		if drafter, err = profiles.LoadModel(p.EngineSpecModel); err == nil {
			drafter, err = drafter.Stored("", p.EngineKVCacheDType)
		}
		if err == nil && drafter.Vocab != h.model.Vocab {
			err = fmt.Errorf("%s has %d tokens in its vocabulary, %s has %d: a drafter needs the same",
				drafter.Name, drafter.Vocab, h.model.Name, h.model.Vocab)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		inMemory = append(inMemory, h.model, drafter)
	default:
		return []profiles.Model{h.model}, nil
	}
	if h.draft, err = steptime.New(steptime.DraftGPU(h.gpu), drafter, h.tp, p.EngineMaxNumBatchedTokens); err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return inMemory, nil
}

// String describes one engine.
func (h *hardware) String() string {
	gpus, how := h.gpu.Name, "given"
	if h.table != nil {
		gpus = "the kernel times of " + h.from
	}
	if h.tp > 1 {
		gpus = fmt.Sprintf("%d x %s", h.tp, gpus)
	}
	if h.derived {
		how = "derived"
	}
	return fmt.Sprintf("%s with %s%s, %d KV blocks of %d tokens (%s)", gpus, h.model.Name, h.storage(), h.blocks, h.blockSize, how)
}

// storage says how weights and KV cache are stored where that is not 16 bits.
func (h *hardware) storage() string {
	var out string
	if h.model.Quantization != profiles.Unquantized {
		out += fmt.Sprintf(" (%s)", h.model.Quantization)
	}
	if h.model.KVCacheDType != profiles.KVBFloat16 {
		out += fmt.Sprintf(" (%s KV)", h.model.KVCacheDType)
	}
	return out
}
