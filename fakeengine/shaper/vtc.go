package shaper

import (
	"slices"

	"goodput/loadgen/clock"
)

// vtc is the Virtual Token Counter of Sheng et al., Fairness in Serving Large Language
// Models (OSDI 2024). Each tenant has a counter of what it was served: input tokens at
// admission, output tokens as they are made, the latter at twice the price. The oldest
// request of the tenant with the smallest counter goes on next. A tenant that comes back
// is lifted to the smallest counter of those that wait, so that it saves up no credit
// while it asks for nothing.
//
// The authors' code lifts nobody when nobody else waits, so credit is saved up then
// (variant upstream). The paper lifts to the counter of the tenant that was the last to
// have none waiting (fixed).
type vtc struct {
	named
	input, output float64
	fixed         bool
	most, room    int
	used, waiting int
	index         map[uint64]int
	tenants       []tenant // in order of their first requests
	left          float64  // counter of the tenant that was the last to leave
}

// tenant is one with its requests that wait.
type tenant struct {
	served float64
	wait   []*Request
}

var (
	_ Shaper = (*vtc)(nil)
	_ Meter  = (*vtc)(nil)
)

func vtcEntry() entry {
	return entry{
		Info: Info{
			"vtc", "lets so many requests through, of the tenant first that was served the fewest tokens (VTC, OSDI 2024)",
			[]Param{
				inFlight(), queue(),
				{"input", "1", "price of an input token"},
				{"output", "2", "price of an output token"},
				{"variant", "upstream", "upstream, in which a tenant alone saves up credit, or fixed"},
			},
		},
		build: func(a *args, _ uint64) Shaper {
			return &vtc{
				most: a.int("in-flight", 1, most), room: a.int("queue", 0, most),
				input: a.float("input", 0, 1e6), output: a.float("output", 0, 1e6),
				fixed: a.choice("variant", "upstream", "fixed") == "fixed", index: map[uint64]int{}, named: a.named(),
			}
		},
	}
}

// of is the account of a tenant.
func (v *vtc) of(r *Request) *tenant {
	i, ok := v.index[r.Tenant]
	if !ok {
		i = len(v.tenants)
		v.index[r.Tenant] = i
		v.tenants = append(v.tenants, tenant{})
	}
	return &v.tenants[i]
}

// least is the tenant that waits and was served least, the first one of equals; -1: none
// waits.
func (v *vtc) least() int {
	at := -1
	for i := range v.tenants {
		if t := &v.tenants[i]; len(t.wait) > 0 && (at < 0 || t.served < v.tenants[at].served) {
			at = i
		}
	}
	return at
}

// Offer implements Shaper.
func (v *vtc) Offer(r *Request, _ clock.Time) Decision {
	if v.waiting >= v.room && v.used >= v.most {
		return full(noRoom)
	}
	t := v.of(r)
	if len(t.wait) == 0 {
		if least := v.least(); least >= 0 {
			t.served = max(t.served, v.tenants[least].served)
		} else if v.fixed {
			t.served = max(t.served, v.left)
		}
	}
	t.wait = append(t.wait, r)
	v.waiting++
	return Decision{Kind: Hold}
}

// Next implements Shaper.
func (v *vtc) Next(clock.Time) (*Request, Decision, bool) {
	i := v.least()
	if i < 0 || v.used >= v.most {
		return nil, Decision{}, false
	}
	t := &v.tenants[i]
	r := t.wait[0]
	t.wait = slices.Delete(t.wait, 0, 1)
	t.served += v.input * float64(r.InTokens)
	v.used++
	v.waiting--
	if len(t.wait) == 0 {
		v.left = t.served
	}
	return r, Decision{}, true
}

// Tokens implements Meter.
func (v *vtc) Tokens(r *Request, n int) { v.of(r).served += v.output * float64(n) }

// Done implements Shaper.
func (v *vtc) Done(*Request, clock.Time) { v.used-- }

// Cancel implements Shaper.
func (v *vtc) Cancel(r *Request) {
	t := v.of(r)
	if i := slices.Index(t.wait, r); i >= 0 {
		t.wait = slices.Delete(t.wait, i, i+1)
		v.waiting--
	}
}
