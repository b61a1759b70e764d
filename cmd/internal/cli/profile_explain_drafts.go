package cli

import (
	"goodput/fakeengine/spec"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/plan"
)

// drafting is the speculative decoding of an explained step; nil: none.
type drafting struct {
	k    int
	with *steptime.Drafted // target and drafter; nil: the drafter costs the GPU nothing
	a    spec.Acceptance
}

func newDrafting(p *plan.Plan, h *hardware) (*drafting, error) {
	if p.EngineSpecMethod == "" {
		return nil, nil
	}
	var s engineSetup
	steps, err := s.speculate(p, h)
	if err != nil {
		return nil, err
	}
	method, err := spec.ParseMethod(p.EngineSpecMethod)
	if err != nil {
		return nil, err
	}
	d := drafting{k: p.EngineSpecTokens}
	if d.a, _, err = acceptance(p, method); err != nil {
		return nil, err
	}
	d.with, _ = steps.(*steptime.Drafted)
	return &d, nil
}

// drafts is how many an answer has in a step.
func (d *drafting) drafts() int {
	if d == nil {
		return 0
	}
	return d.k
}

// length is the mean number of tokens that a step gives an answer, steps for which
// the drafter has nothing among them.
func (d *drafting) length() float64 {
	if d == nil {
		return 1
	}
	return 1 + d.a.Proposes*(d.a.Length(d.k)-1)
}

// tpot is the time of an output token of the answers alone, in milliseconds: the mean
// time of their steps, drafted for or not, over the tokens that the mean step gives.
func (d *drafting) tpot(h *hardware, s shape) float64 {
	plain := s.step(0, 0, 0)
	if d == nil {
		return ms(h.step.Step(&plain))
	}
	drafted := s.step(d.k, 0, 0)
	mean := d.a.Proposes*ms(d.step(h, &drafted)) + (1-d.a.Proposes)*ms(d.step(h, &plain))
	return mean / d.length()
}

// step is the duration of b with the passes of the drafter, in picoseconds.
func (d *drafting) step(h *hardware, b *steptime.Batch) int64 {
	if d == nil || d.with == nil {
		return h.step.Step(b)
	}
	return d.with.Step(b)
}

// floor is the least that step could be.
func (d *drafting) floor(h *hardware, b *steptime.Batch) int64 {
	if d == nil || d.with == nil {
		return h.step.Floor(b)
	}
	return d.with.Floor(b)
}
