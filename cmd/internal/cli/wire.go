package cli

import (
	"fmt"

	"goodput/datasets"
	"goodput/fakeengine/disagg"
	"goodput/fakeengine/engine"
	"goodput/fakeengine/fault"
	"goodput/fakeengine/pool"
	"goodput/fakeengine/router"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/plan"
	"goodput/loadgen/target"
)

// openDataset makes the generated set that the plan names, and resolves the plan's
// remaining defaults with what the set turned out to be.
func openDataset(p plan.Plan) (datasets.Set, plan.Plan, error) {
	p = p.WithDefaults(false, 0)
	var set datasets.Set
	var err error
	n := p.NumPrompts
	if n == 0 {
		if n, err = arriving(&p, p.RequestRate); err != nil {
			return nil, p, err
		}
	}
	switch p.DatasetName {
	case "prefix_repetition":
		set, err = openPrefixRepetition(&p, n)
	case "shared_prefix":
		set, err = datasets.NewSharedPrefix(datasets.SharedPrefix{
			Groups: p.SharedGroups, GlobalLen: p.SharedGlobal, Tenants: p.SharedTenants, TenantLen: p.SharedTenant, SystemLen: p.SharedSystem,
			QuestionLen: p.SharedQuestion, OutputLen: p.SharedOutput, RangeRatio: p.SharedRange, Turns: p.SharedTurns,
			Zipf: p.SharedZipf, NumPrompts: n, Seed: p.Seed, Shuffle: !p.DisableShuffle,
		})
	case "rag":
		set, err = datasets.NewRAG(datasets.RAG{
			Documents: p.RAGDocuments, K: p.RAGTopK, DocumentLen: p.RAGDocument, RangeRatio: p.RAGRange, SystemLen: p.RAGSystem,
			QuestionLen: p.RAGQuestion, OutputLen: p.RAGOutput, Zipf: p.RAGZipf, ByRank: p.RAGOrder == "rank", NumPrompts: n, Seed: p.Seed,
		})
	default:
		set, err = datasets.NewRandom(datasets.Random{
			InputLen: p.RandomInput, OutputLen: p.RandomOutput, PrefixLen: p.RandomPrefix, RangeRatio: p.RandomRange.Input, OutputRatio: &p.RandomRange.Output,
			NumPrompts: n, Seed: p.Seed,
		})
	}
	return set, p, err
}

// openPrefixRepetition makes n prompts of groups with a prefix each. A target for the
// hit rate decides the plan's suffix.
func openPrefixRepetition(p *plan.Plan, n int) (datasets.Set, error) {
	c := datasets.PrefixRepetition{
		PrefixLen: p.PrefixLen, SuffixLen: p.SuffixLen, NumPrefixes: p.NumPrefixes, OutputLen: p.PrefixOutput,
		NumPrompts: n, Zipf: p.PrefixZipf, Seed: p.Seed, Shuffle: !p.DisableShuffle,
	}
	if p.PrefixTargetHit > 0 {
		suffix, err := c.SuffixFor(p.PrefixTargetHit, p.EngineBlockSize)
		if err != nil {
			return nil, fmt.Errorf("--prefix-repetition-target-hit: %w", err)
		}
		p.SuffixLen, c.SuffixLen = suffix, suffix
	}
	return datasets.NewPrefixRepetition(c)
}

// newAssignment gives requests their adapters and cache salts; nil: they have none.
func newAssignment(p *plan.Plan) (*dispatch.Assignment, error) {
	if len(p.LoraModules) == 0 && p.CacheSalts == 0 && !p.TenantSalts {
		return nil, nil
	}
	names, err := plan.Adapters(p.LoraModules)
	if err != nil {
		return nil, fmt.Errorf("--lora-modules: %w", err)
	}
	a, err := dispatch.NewAssignment(names, dispatch.Rule(p.LoraAssignment), p.CacheSalts, p.Seed)
	if err == nil && p.TenantSalts {
		a = a.Isolated()
	}
	return a, err
}

// scopes tells with whom item i can share prefixes, if requests are sent in the
// order of the items; nil: with all.
func scopes(p *plan.Plan) func(i int) uint64 {
	a, err := newAssignment(p)
	if a == nil || err != nil {
		return nil
	}
	return func(i int) uint64 {
		r := target.Request{Seq: uint64(i)}
		a.Fill(&r)
		return r.Scope()
	}
}

// engineSetup is what every engine of a pool has in common.
type engineSetup struct {
	config engine.Config
	mix    *gpuMix // nil: all engines are alike
	step   func(replica int) steptime.Model
	text   string      // for people
	kv     disagg.Link // between two of them
	// derived: the number of KV blocks follows from the GPU's memory.
	derived bool
	// faults is what goes wrong with them, and script the text that says so.
	faults fault.Script
	script []byte
	// blockBytes is the size of a KV block on all GPUs of an engine.
	blockBytes int64
}

// newEngineSetup derives the engines from the plan's profiles.
func newEngineSetup(p *plan.Plan) (engineSetup, error) {
	if p.MixedReplicas() > 0 {
		return newMixedSetup(p)
	}
	var out engineSetup
	h, err := newHardware(p)
	if err != nil {
		return out, err
	}
	out.blockBytes = h.blockBytes()
	out.config = engine.Config{
		MaxNumSeqs: p.EngineMaxNumSeqs, MaxNumBatchedTokens: p.EngineMaxNumBatchedTokens,
		MaxModelLen: p.EngineMaxModelLen, BlockSize: p.EngineBlockSize, NumGPUBlocks: h.blocks,
		PrefixCaching: p.EnginePrefixCaching, ChunkedPrefill: p.EngineChunkedPrefill,
		ReserveFullISL: p.EngineReserveFullISL, LongPrefillThreshold: p.EngineLongPrefill,
		Watermark: p.EngineWatermark, FrontEnd: h.frontEnd(),
		AsyncScheduling: p.EngineAsync, PrependUnhashed: p.EnginePrependUnhashed,
	}
	c := &out.config
	if p.EngineKVOffloading > 0 {
		if c.Offload, err = h.offload(p.EngineKVOffloading); err != nil {
			return out, err
		}
	}
	if p.EngineEnableLora {
		c.LoRA = h.lora(p)
	}
	if p.EnginePolicy == "priority" {
		c.Policy = engine.Priority
	}
	if p.EngineBatching == "static" {
		c.Batching = engine.Static
	}
	if c.MaxModelLen == 0 {
		c.MaxModelLen = h.model.MaxLen
	}
	if !c.ChunkedPrefill && c.Batching == engine.Continuous && c.MaxNumBatchedTokens < c.MaxModelLen {
		return out, fmt.Errorf("--engine.enable-chunked-prefill: without it a prompt of up to %d tokens must fit into one step of %d: lower --engine.max-model-len or raise --engine.max-num-batched-tokens",
			c.MaxModelLen, c.MaxNumBatchedTokens)
	}
	out.text = p.Engine + " on " + h.String()
	if p.EngineDP > 1 {
		out.text += fmt.Sprintf(", each %d in step", p.EngineDP)
	}
	model, err := out.speculate(p, &h)
	if err != nil {
		return out, err
	}
	if out.step, err = steptime.Jittered(model, p.EngineStepJitter, p.Chance()); err != nil {
		return out, fmt.Errorf("--engine.step-jitter: %w", err)
	}
	out.derived = h.derived
	if out.faults, out.script, err = readFaults(p); err != nil {
		return out, err
	}
	out.kv, err = h.link(p)
	return out, err
}

// newPool makes the in-process target.
func newPool(p *plan.Plan, setup engineSetup, loop clock.Loop) (*pool.Pool, error) {
	policy, err := router.New(p.Router, p.Chance())
	if err != nil {
		return nil, fmt.Errorf("--router: %w", err)
	}
	routers := pool.Routers{Seed: p.Chance(), Scrape: p.Scrape, Stagger: p.ScrapeStagger}
	for i := 1; i < p.Routers; i++ {
		// Routers that drew the same chances would err together.
		another, err := router.New(p.Router, p.Chance()+uint64(i)<<32)
		if err != nil {
			return nil, fmt.Errorf("--router: %w", err)
		}
		routers.Policies = append(routers.Policies, another)
	}
	if err := admitCanary(p, &routers); err != nil {
		return nil, err
	}
	prefill, err := newPrefill(p, &setup)
	if err != nil {
		return nil, err
	}
	scale, err := scaling(p)
	if err != nil {
		return nil, err
	}
	shapers, err := newShapers(p)
	if err != nil {
		return nil, err
	}
	return pool.New(pool.Config{
		Shapers: shapers, Replicas: answering(p), Scale: scale, Prefill: prefill, Engine: setup.config, Vary: setup.mix.vary(), Name: setup.mix.namer(), Step: setup.step, Policy: policy, Routers: routers, Loop: loop,
		TTFTTimeout: p.TTFTTimeout, RequestTimeout: p.RequestTimeout, Faults: setup.faults,
	})
}
