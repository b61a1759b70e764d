package cli

import (
	"fmt"

	"goodput/fakeengine/spec"
	"goodput/loadgen/plan"
	"goodput/profiles"
)

// preset sets what one layer of the plan (file, environment or flags) implies by
// naming an engine version, a GPU or a drafter; empty: it names none. It comes before the
// layer's other values, so that these win, and after the layers below, so that a
// version named on the command line replaces the switches of a recorded plan.
func preset(p *plan.Plan, engine, gpu, drafter string) error {
	if engine == "" && gpu == "" && drafter == "" {
		return nil
	}
	if drafter != "" {
		p.EngineSpecMethod = drafter
	}
	if engine != "" {
		p.Engine = engine
	}
	if gpu != "" {
		p.GPU = gpu
	}
	if _, err := plan.GPUs(p.GPU); err != nil {
		return fmt.Errorf("--gpu: %w", err)
	}
	e, err := profiles.LoadEngine(p.Engine)
	if err != nil {
		return fmt.Errorf("--engine: %w", err)
	}
	g, err := loadGPU(plan.FirstGPU(p.GPU))
	if err != nil {
		return fmt.Errorf("--gpu: %w", err)
	}
	if engine != "" {
		p.EngineAsync, p.EngineHostOverlap = e.AsyncScheduling.Value, e.HostOverlap.Value
	}
	if !ahead(p.EngineSpecMethod) {
		p.EngineAsync, p.EngineHostOverlap = false, false
	}
	if engine == "" && gpu == "" {
		return nil
	}
	limits := e.StepLimits(&g)
	p.EngineMaxNumBatchedTokens, p.EngineMaxNumSeqs = limits.MaxNumBatchedTokens, limits.MaxNumSeqs
	if engine == "" {
		return nil
	}
	p.EngineReserveFullISL = e.ReserveFullISL.Value
	p.EnginePrependUnhashed = e.PrependUnhashed.Value
	p.EngineSpecAdmission = e.SpeculativeAdmission.Value
	p.EngineWatermark = e.Watermark.Value
	return nil
}

// ahead reports whether vLLM schedules ahead of the named drafter by default. An
// unknown one is for the plan's own check.
func ahead(drafter string) bool {
	m, err := spec.ParseMethod(drafter) // fails for no drafter, too
	return err != nil || m.Async()
}

const drafterKey = "engine.speculative-method"

// flag is the value of a field on the command line, or empty.
func (p *planFlags) flag(key string) string {
	if values := p.given[key]; len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

// environment is the value of a field of this command in the environment, or
// empty; a flag hides it.
func (p *planFlags) environment(env *Env, key string) string {
	for _, f := range p.fields {
		if f.Key == key && p.flag(key) == "" {
			return env.Getenv(f.Env())
		}
	}
	return ""
}
