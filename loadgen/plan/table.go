package plan

// checkTable checks what kernel tables can't be combined with: what takes a time that
// only a GPU profile knows, or has ranks step at different times.
func (p *Plan) checkTable(v *checker) {
	const dp = "engine.data-parallel-size"
	v.within(dp, p.EngineDP, 1, 64)
	v.ok(p.EngineEP == (p.EngineDP > 1), "engine.enable-expert-parallel",
		"engines step together if they share experts, and share them if there are several: give it together with --"+dp+" of 2 or more")
	if p.EngineStepTable == "" {
		v.ok(p.EngineDP == 1, dp, "it is for measured kernel times: give --engine.step-table, or more --replicas that step by themselves")
		return
	}
	const by = "measured kernel times do not tell how long it takes: leave it out, or leave out --engine.step-table"
	v.ok(p.EngineNumGPUBlocks > 0, "engine.num-gpu-blocks", "how many KV blocks has an engine? kernel times of --engine.step-table do not tell, and --gpu need not be the GPU that was measured")
	v.ok(p.EngineSpecMethod == "" || p.EngineSpecMethod == "ngram", "engine.speculative-method", by)
	v.ok(!p.EngineEnableLora, "engine.enable-lora", by)
	v.ok(p.EngineKVOffloading == 0, "engine.kv-offloading-size", by)
	v.ok(!p.Split(), "prefill-replicas", by)
	if p.EngineDP == 1 {
		return
	}
	const together = "not with --" + dp + ", whose replicas step together"
	v.ok(p.Replicas%max(p.EngineDP, 1) == 0, "replicas", "%d are no multiple of --%s, %d", p.Replicas, dp, p.EngineDP)
	v.ok(p.EngineSpecMethod == "", "engine.speculative-method", together)
	v.ok(p.EngineStepJitter == 0, "engine.step-jitter", together)
	v.ok(p.Faults == "", "faults", together)
}
