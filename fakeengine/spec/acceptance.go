package spec

import (
	"errors"
	"fmt"
	"math"
)

// MaxDrafts bounds the drafts of one step.
const MaxDrafts = 32

// Acceptance describes how well drafts do in a run of many requests.
type Acceptance struct {
	// Rates[i] is the share of the steps with the first i drafts accepted in which
	// draft i is accepted too, 0 to 1. Positions beyond take the last one. A step of
	// any request counts the same, as in vLLM's counters.
	Rates []float64
	// Spread is how much requests differ: the standard deviation, over the same steps,
	// of the share of first drafts that their request has accepted; 0: all requests
	// are alike.
	Spread float64
	// Proposes is the share of steps for which the drafter has a draft at all: 1 for
	// a model, less for a look-up that may find nothing.
	Proposes float64
}

func (a *Acceptance) validate() error {
	if len(a.Rates) == 0 {
		return errors.New("no acceptance rates: need one for the first draft at least")
	}
	if len(a.Rates) > MaxDrafts {
		return fmt.Errorf("%d acceptance rates: at most %d, one for each draft of a step", len(a.Rates), MaxDrafts)
	}
	for i, r := range a.Rates {
		if !(r >= 0 && r <= 1) {
			return fmt.Errorf("acceptance rate %d is %v: need a share, 0 to 1", i+1, r)
		}
	}
	if !(a.Proposes > 0 && a.Proposes <= 1) {
		return fmt.Errorf("a drafter that proposes in a share of %v of the steps: need more than 0, and at most 1", a.Proposes)
	}
	// Shares with mean m deviate by sqrt(m(1-m)) if each is either 0 or 1.
	if most := maxSpread * math.Sqrt(a.Rates[0]*(1-a.Rates[0])); !(a.Spread >= 0 && (a.Spread == 0 || a.Spread <= most)) {
		return fmt.Errorf("a spread of %v: with a first rate of %v need 0 (all requests alike) to %.3g", a.Spread, a.Rates[0], most)
	}
	return nil
}

// maxSpread keeps the shapes of the beta distribution above about 0.1.
const maxSpread = 0.9

// rate is the rate at position i.
func (a *Acceptance) rate(i int) float64 { return a.Rates[min(i, len(a.Rates)-1)] }

// Survival is the share of steps with a draft in which draft i, from 0, is
// accepted, and so all before it: the product of the rates up to it.
func (a *Acceptance) Survival(i int) float64 {
	p := 1.0
	for j := range i + 1 {
		p *= a.rate(j)
	}
	return p
}

// Length is the mean number of tokens that a step with k drafts yields, the
// target's own included: vLLM's mean acceptance length.
func (a *Acceptance) Length(k int) float64 {
	sum := 1.0
	for i := range k {
		sum += a.Survival(i)
	}
	return sum
}
