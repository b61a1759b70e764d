package dispatch

import (
	"fmt"
	"math"
	"sort"
	"strconv"

	"goodput/loadgen/rng"
	"goodput/loadgen/target"
)

// Rule picks the adapter of a request; the names are those of vllm bench serve,
// and zipf.
type Rule string

// The rules.
const (
	Random     Rule = "random"      // each with the same chance
	RoundRobin Rule = "round-robin" // one after the other, in order of intended time
	Zipf       Rule = "zipf"        // adapter n with a chance in proportion to 1/n
	ByTenant   Rule = "tenant"      // that of the session's tenant, by its number; without a tenant the base model
)

// Assignment gives requests their adapters and cache salts. What a request gets
// depends on its number and the seed alone. It is immutable.
type Assignment struct {
	adapters []string
	rule     Rule
	below    []float64 // Zipf: the chance of an adapter up to this one
	salts    []string
	isolated bool // tenants have their own
	seed     uint64
}

// NewAssignment assigns one of the adapters by the rule, and one of so many salts
// at random. Without adapters requests are for the base model; 0 salts: none.
func NewAssignment(adapters []string, rule Rule, salts int, seed uint64) (*Assignment, error) {
	a := &Assignment{adapters: adapters, rule: rule, seed: seed}
	switch {
	case len(adapters) > math.MaxUint16:
		return nil, fmt.Errorf("%d adapters are more than the %d that can be told apart: name fewer", len(adapters), math.MaxUint16)
	case salts < 0:
		return nil, fmt.Errorf("%d cache salts: need 0 or more", salts)
	case rule == Zipf:
		a.below = make([]float64, len(adapters))
		sum := 0.0
		for i := range a.below {
			sum += 1 / float64(i+1)
			a.below[i] = sum
		}
	case rule != Random && rule != RoundRobin && rule != ByTenant:
		return nil, fmt.Errorf("adapters cannot be assigned by %q: use %s, %s, %s or %s", rule, Random, RoundRobin, Zipf, ByTenant)
	}
	for i := range salts {
		a.salts = append(a.salts, "tenant-"+strconv.Itoa(i+1))
	}
	return a, nil
}

// Isolated is the assignment in which the requests of each tenant carry a salt of its
// own, so that tenants share no cached prefixes.
func (a *Assignment) Isolated() *Assignment {
	out := *a
	out.isolated = true
	return &out
}

// FillFor is Fill for a request of a session of this tenant; 0: of none.
func (a *Assignment) FillFor(tenant uint32, r *target.Request) {
	a.Fill(r)
	if tenant == 0 {
		return
	}
	if n := len(a.adapters); n > 0 && a.rule == ByTenant {
		i := int((tenant - 1) % uint32(n))
		r.Adapter = target.Adapter{Name: a.adapters[i], Number: uint16(i + 1)}
	}
	if a.isolated {
		r.CacheSalt = "tenant-" + strconv.FormatUint(uint64(tenant), 10)
	}
}

// Fill sets the adapter and the salt of r, whose Seq is set.
func (a *Assignment) Fill(r *target.Request) {
	if n := len(a.adapters); n > 0 && a.rule != ByTenant {
		i := a.pick(r.Seq, n)
		r.Adapter = target.Adapter{Name: a.adapters[i], Number: uint16(i + 1)}
	}
	if n := len(a.salts); n > 0 {
		s := rng.New(a.seed, "cache salt", r.Seq)
		r.CacheSalt = a.salts[s.IntN(n)]
	}
}

func (a *Assignment) pick(seq uint64, n int) int {
	if a.rule == RoundRobin {
		return int(seq % uint64(n))
	}
	s := rng.New(a.seed, "adapter", seq)
	if a.rule == Random {
		return s.IntN(n)
	}
	x := s.Float64() * a.below[n-1]
	return min(sort.Search(n, func(i int) bool { return a.below[i] > x }), n-1)
}
