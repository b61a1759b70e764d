package router

// weighted is nginx's smooth weighted round-robin: every pick adds each replica's
// weight to its account, takes the largest account (the first of equals) and takes
// the sum of the weights off it. Weights of 5, 1, 1 give A A B A C A A.
type weighted struct {
	named
	weights []float64
	account table[float64]
}

var _ Policy = (*weighted)(nil)

func weightedRule() rule {
	return rule{
		Info: Info{
			Name:   "weighted-round-robin",
			Help:   "takes the replicas in turn in proportion to weights, evenly spread (nginx)",
			Params: []Param{{Name: "weights", Default: "1", Help: "weight of each replica, such as 5/1/1; the last one holds for all further ones"}},
		},
		build: func(a *args, _ uint64) Policy {
			return &weighted{weights: a.floats("weights", 0.001, 1e6), named: a.named()}
		},
	}
}

// Pick implements Policy.
func (p *weighted) Pick(_ *Request, up []Load) int {
	sum, best := 0.0, -1
	for i := range up {
		w := of(p.weights, up[i].ID)
		sum += w
		account := p.account.at(up[i].ID)
		if *account += w; best < 0 || *account > *p.account.at(up[best].ID) {
			best = i
		}
	}
	*p.account.at(up[best].ID) -= sum
	return best
}
