package router

// prefixHash is SGLang's `prefix_hash`: the first tokens of the prompt are the key on
// a hash ring. The owner keeps the request if nothing is in flight or it has at most
// load-factor*(total+1)/n; otherwise the least loaded replica among those within the
// same bound takes it, and if none is, the owner. Ties go to the first. A prompt
// without a full block goes to the least loaded replica; upstream returns no worker
// at all for one without tokens.
type prefixHash struct {
	named
	ring   ring
	tokens int
	load   float64
}

var (
	_ Policy = (*prefixHash)(nil)
	_ Reader = (*prefixHash)(nil)
)

func prefixHashRule() rule {
	return rule{
		Info: Info{
			Name: "prefix-hash",
			Help: "keeps prompts with the same beginning on one replica unless it is too loaded (SGLang prefix_hash)",
			Params: []Param{
				{Name: "load-factor", Default: "1.25", Help: "most requests in flight of the owner, as a multiple of the mean"},
				{Name: "tokens", Default: "256", Help: "tokens of the beginning, in whole KV blocks"},
			},
		},
		build: func(a *args, _ uint64) Policy {
			return &prefixHash{
				ring: ring{points: 150}, load: a.float("load-factor", 0.01, 100), tokens: a.int("tokens", 1, 1<<20), named: a.named(),
			}
		},
	}
}

// Reads implements Reader.
func (p *prefixHash) Reads() Signals { return PrefixHashes }

// Pick implements Policy.
func (p *prefixHash) Pick(r *Request, up []Load) int {
	total := 0
	for i := range up {
		total += up[i].Outstanding
	}
	limit := p.load * float64(total+1) / float64(len(up))
	n := min(len(r.Prefix), max(1, p.tokens/max(1, r.Block)))
	if n == 0 {
		return least(up, -1)
	}
	owner := p.ring.clockwise(r.Prefix[n-1], up)
	if total == 0 || float64(up[owner].Outstanding) <= limit {
		return owner
	}
	if i := least(up, limit); i >= 0 {
		return i
	}
	return owner
}

// least is the first of the replicas with the fewest requests, if these are at most
// the limit; -1: no limit. It returns -1 if there is none.
func least(up []Load, limit float64) int {
	best := -1
	for i := range up {
		if limit >= 0 && float64(up[i].Outstanding) > limit {
			continue
		}
		if best < 0 || up[i].Outstanding < up[best].Outstanding {
			best = i
		}
	}
	return best
}
