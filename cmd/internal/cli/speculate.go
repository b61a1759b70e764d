package cli

import (
	"fmt"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/spec"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/plan"
)

// speculate sets up speculative decoding, if the plan has it, and returns the
// model of the engines' steps, drafting included.
func (s *engineSetup) speculate(p *plan.Plan, h *hardware) (steptime.Model, error) {
	if p.EngineSpecMethod == "" {
		return h.steps(), nil
	}
	k := p.EngineSpecTokens
	method, err := spec.ParseMethod(p.EngineSpecMethod)
	if err != nil {
		return nil, fmt.Errorf("--engine.speculative-method: %w", err)
	}
	a, what, err := acceptance(p, method)
	if err != nil {
		return nil, err
	}
	model, err := spec.New(a, k, p.Seed)
	if err != nil {
		return nil, fmt.Errorf("--engine.speculative-acceptance: %w", err)
	}
	s.config.Speculation = engine.Speculation{
		Model: model, Lookahead: method.Lookahead(k),
		AdmissionLookahead: p.EngineSpecAdmission, DropLastHit: method.DropsLastHit(),
	}
	often := ""
	if !model.Always() {
		often = fmt.Sprintf(" in %.3g %% of steps", 100*a.Proposes)
	}
	s.text += fmt.Sprintf(", %s drafts %d tokens%s (%s: acceptance length %.2f expected)", method, k, often, what, a.Length(k))
	if h.draft == nil {
		return h.steps(), nil
	}
	return steptime.NewDrafted(h.step, h.draft, k)
}

// acceptance is how well drafts do by the plan, and what that rests on.
func acceptance(p *plan.Plan, method spec.Method) (a spec.Acceptance, what string, err error) {
	a, err = spec.Workload(p.EngineSpecWorkload, method)
	if err != nil {
		return a, "", fmt.Errorf("--engine.speculative-workload: %w", err)
	}
	rates, err := plan.ParseShares(p.EngineSpecRates)
	if err != nil || rates == nil {
		return a, p.EngineSpecWorkload, err
	}
	a.Rates, a.Spread = rates, p.EngineSpecSpread
	return a, "acceptance as given", nil
}
