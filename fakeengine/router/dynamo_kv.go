package router

import (
	"math"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// dynamoKV is the cost function of NVIDIA Dynamo's KV router:
//
//	cost = scale*max(raw - credit, 0) + decode + requests*active requests
//	raw = (active prefill tokens + the prompt's)/block
//	credit = overlap/(1 + decay*excess) * blocks of the prompt in the replica's cache
//	excess = (active prefill blocks - those of the least busy)/blocks of the prompt
//
// decode are the blocks of requests in flight, those that they share counted once,
// and active prefill tokens those of prompts that were sent and have not been
// answered. The least cost wins, equals by
// chance; with a temperature replica i is drawn with the weight
// exp(-(cost-least)/((most-least)*temperature)). policy=lmetric multiplies instead:
// max(raw - credit, 0)*(decode+1).
type dynamoKV struct {
	named
	overlap, decay, scale, requests, temperature float64
	lmetric, events                              bool

	index  approximate
	busy   table[dynamoLoad]
	rand   rng.Stream
	best   best
	costs  []float64 // scratch
	weight []float64 // scratch
}

// dynamoLoad is what the router has sent to one replica.
type dynamoLoad struct {
	prefill int // tokens of prompts without an answer
	own     int // blocks that no hash names
	shared  map[uint64]int32
}

// decode is the number of blocks of requests in flight.
func (l *dynamoLoad) decode() int { return l.own + len(l.shared) }

// hold counts a request's blocks, and drop takes them off.
func (l *dynamoLoad) hold(r *Request) {
	l.own += max(0, blocksOf(r)-len(r.Prefix))
	for _, hash := range r.Prefix {
		if l.shared == nil {
			l.shared = make(map[uint64]int32)
		}
		l.shared[hash]++
	}
}

func (l *dynamoLoad) drop(r *Request) {
	l.own -= max(0, blocksOf(r)-len(r.Prefix))
	for _, hash := range r.Prefix {
		if l.shared[hash]--; l.shared[hash] == 0 {
			delete(l.shared, hash)
		}
	}
}

var (
	_ Policy  = (*dynamoKV)(nil)
	_ Reader  = (*dynamoKV)(nil)
	_ Learner = (*dynamoKV)(nil)
	_ Starter = (*dynamoKV)(nil)
)

func dynamoKVRule() rule {
	return rule{
		Info: Info{
			Name: "dynamo-kv",
			Help: "takes the replica with the least blocks to compute and to hold (NVIDIA Dynamo KV router)",
			Params: []Param{
				{Name: "overlap", Default: "1", Help: "overlap_score_credit: how much a cached block counts"},
				{Name: "decay", Default: "0", Help: "how fast the credit falls with prefill work above the least busy replica's"},
				{Name: "scale", Default: "1", Help: "weight of blocks to compute"},
				{Name: "requests", Default: "0", Help: "weight of a request in flight"},
				{Name: "temperature", Default: "0", Help: "above 0: draw by a softmax over the range of costs"},
				{Name: "policy", Default: "cost", Help: "cost, or lmetric: blocks to compute times those to hold"},
				{Name: "index", Default: "events", Help: "what is in caches: events (what engines tell) or approx (prompts that it sent)"},
			},
		},
		build: func(a *args, seed uint64) Policy {
			return &dynamoKV{
				overlap: a.float("overlap", 0, 100), decay: a.float("decay", 0, 1e6), scale: a.float("scale", 0, 1e6),
				requests: a.float("requests", 0, 1e6), temperature: a.float("temperature", 0, 1e6),
				lmetric: a.choice("policy", "cost", "lmetric") == "lmetric",
				events:  a.choice("index", "events", "approx") == "events",
				index:   approximate{most: 1 << 17, stride: 1, fixed: true},
				rand:    rng.New(seed, "router/dynamo-kv", 0), best: best{rand: rng.New(seed, "router/dynamo-kv/tie", 0)},
				named: a.named(),
			}
		},
	}
}

// Reads implements Reader.
func (p *dynamoKV) Reads() Signals {
	if p.events {
		return EngineCache | PrefixHashes
	}
	return PrefixHashes
}

// Pick implements Policy.
func (p *dynamoKV) Pick(r *Request, up []Load) int {
	block := float64(max(1, r.Block))
	least := math.MaxInt
	for i := range up {
		least = min(least, p.busy.at(up[i].ID).prefill)
	}
	var matched []int
	if !p.events {
		matched = p.index.match(r, up)
	}
	p.costs = p.costs[:0]
	for i := range up {
		s := p.busy.at(up[i].ID)
		device := float64(up[i].Cached) / block
		if matched != nil {
			device = float64(matched[i])
		}
		c := dynamoCost{
			raw:    float64(s.prefill+r.InTokens) / block,
			device: device, decode: float64(s.decode()), active: float64(up[i].Outstanding),
			excess: float64(s.prefill-least) / float64(max(1, r.InTokens)),
		}
		p.costs = append(p.costs, p.cost(c))
	}
	if p.temperature > 0 {
		return p.draw()
	}
	p.best.none()
	for i, c := range p.costs {
		p.best.offer(i, c)
	}
	return p.best.at
}

// dynamoCost is what the cost of one replica is made of, in blocks.
type dynamoCost struct{ raw, device, decode, active, excess float64 }

func (p *dynamoKV) cost(c dynamoCost) float64 {
	compute := max(c.raw-p.overlap/(1+p.decay*c.excess)*c.device, 0)
	if p.lmetric {
		return compute * (c.decode + 1)
	}
	return p.scale*compute + c.decode + p.requests*c.active
}

// draw takes a replica by the softmax of the costs.
func (p *dynamoKV) draw() int {
	p.weight = softmax(p.weight[:0], p.costs, p.temperature)
	u := p.rand.Float64()
	for i, w := range p.weight {
		if u -= w; u < 0 {
			return i
		}
	}
	return len(p.weight) - 1
}

// softmax appends the chance of each cost; equal costs have equal chances. The range
// of the costs scales the temperature, so that one expensive outlier flattens the
// choice among the rest.
func softmax(dst, costs []float64, temperature float64) []float64 {
	least, most := costs[0], costs[0]
	for _, c := range costs {
		least, most = min(least, c), max(most, c)
	}
	sum := 0.0
	for _, c := range costs {
		w := 1.0
		if most > least {
			w = math.Exp(-(c - least) / ((most - least) * temperature))
		}
		sum += w
		dst = append(dst, w)
	}
	for i := range dst {
		dst[i] /= sum
	}
	return dst
}

// blocksOf is the number of blocks of a prompt, the last one rounded up.
func blocksOf(r *Request) int {
	block := max(1, r.Block)
	return (r.InTokens + block - 1) / block
}

// Placed implements Learner.
func (p *dynamoKV) Placed(r *Request, id int) {
	s := p.busy.at(id)
	s.prefill += r.InTokens
	s.hold(r)
	if !p.events {
		p.index.placed(r, id)
	}
}

// FirstToken implements Starter.
func (p *dynamoKV) FirstToken(r *Request, id int, _ clock.Time) { p.busy.at(id).prefill -= r.InTokens }

// Done implements Learner.
func (p *dynamoKV) Done(r *Request, id int, e *End) {
	s := p.busy.at(id)
	s.drop(r)
	if !e.FirstToken.Known() {
		s.prefill -= r.InTokens
	}
}
