package cli

import (
	"fmt"

	"goodput/fakeengine/pool"
	"goodput/fakeengine/router"
	"goodput/loadgen/plan"
	"goodput/loadgen/rng"
	"goodput/loadgen/target"
)

// canaryArms are the names that rows have of the two routers of a plan with a canary.
var canaryArms = [2]string{"baseline", "canary"}

// canarySide says which of the two routers a request comes to: a pure function of the
// seed and of the request, or of its session. nil: there is no canary.
func canarySide(p *plan.Plan) func(*target.Request) int {
	if p.Canary == "" {
		return nil
	}
	coins := rng.Of(p.Seed, "canary")
	sessions := p.CanaryBy == plan.CanaryBySession
	return func(r *target.Request) int {
		id := r.Seq
		if sessions {
			id = r.Session
		}
		coin := coins.Stream(id)
		return int(coin.Uint64() >> 63)
	}
}

// canaryArm names the arm of a request's row; nil: the run has one arm.
func canaryArm(p *plan.Plan) func(*target.Request) string {
	side := canarySide(p)
	if side == nil {
		return nil
	}
	return func(r *target.Request) string { return canaryArms[side(r)] }
}

// admitCanary puts the second router before the pool.
func admitCanary(p *plan.Plan, to *pool.Routers) error {
	if p.Canary == "" {
		return nil
	}
	policy, err := router.New(p.Canary, p.Chance()+1<<32)
	if err != nil {
		return fmt.Errorf("--canary: %w", err)
	}
	to.Policies, to.By = append(to.Policies, policy), canarySide(p)
	return nil
}
