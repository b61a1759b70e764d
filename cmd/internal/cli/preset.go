package cli

import (
	"fmt"

	"goodput/loadgen/plan"
	"goodput/profiles"
)

// preset sets what one layer of the plan (file, environment or flags) implies by
// naming an engine version or a GPU; empty: it names none. It comes before the
// layer's other values, so that these win, and after the layers below, so that a
// version named on the command line replaces the switches of a recorded plan.
func preset(p *plan.Plan, engine, gpu string) error {
	if engine == "" && gpu == "" {
		return nil
	}
	if engine != "" {
		p.Engine = engine
	}
	if gpu != "" {
		p.GPU = gpu
	}
	e, err := profiles.LoadEngine(p.Engine)
	if err != nil {
		return fmt.Errorf("--engine: %w", err)
	}
	g, err := profiles.LoadGPU(p.GPU)
	if err != nil {
		return fmt.Errorf("--gpu: %w", err)
	}
	limits := e.StepLimits(&g)
	p.EngineMaxNumBatchedTokens, p.EngineMaxNumSeqs = limits.MaxNumBatchedTokens, limits.MaxNumSeqs
	if engine == "" {
		return nil
	}
	p.EngineAsync = e.AsyncScheduling.Value
	p.EngineReserveFullISL = e.ReserveFullISL.Value
	p.EnginePrependUnhashed = e.PrependUnhashed.Value
	p.EngineWatermark = e.Watermark.Value
	return nil
}

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
