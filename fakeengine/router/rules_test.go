package router

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"goodput/loadgen/clock"
)

// rule builds a policy of a type.
func ruleOf[T Policy](t *testing.T, spec string) T {
	t.Helper()
	p, err := New(spec, 5)
	if err != nil {
		t.Fatal(err)
	}
	return p.(T)
}

// loads makes replicas with so many requests in flight.
func loads(outstanding ...int) []Load {
	up := make([]Load, len(outstanding))
	for i, a := range outstanding {
		up[i] = Load{ID: i, Outstanding: a}
	}
	return up
}

func at(d time.Duration) clock.Time { return clock.Time(d) }

func picks(p Policy, up []Load, n int) (out []int) {
	for range n {
		out = append(out, p.Pick(&Request{InTokens: 1}, up))
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-5, 1e-4), cmp.AllowUnexported(dynamoLoad{})); d != "" {
		t.Errorf("%s:\n%s", what, d)
	}
}

func TestSmoothWeights(t *testing.T) {
	same(t, "5,1,1", picks(ruleOf[*weighted](t, "weighted-round-robin:weights=5/1/1"), loads(0, 0, 0), 7), []int{0, 0, 1, 0, 2, 0, 0})
	same(t, "3,2", picks(ruleOf[*weighted](t, "weighted-round-robin:weights=3/2"), loads(0, 0), 5), []int{0, 1, 0, 1, 0})
}

func TestDeadlines(t *testing.T) {
	var e edf
	weight := func(id int) float64 { return []float64{2, 1}[id] }
	e.sync(loads(0, 0), weight)
	var got []int
	for range 9 {
		got = append(got, e.next(weight))
	}
	same(t, "weights 2, 1", got, []int{0, 1, 0, 0, 1, 0, 0, 1, 0})
}

func TestEnvoyWeights(t *testing.T) {
	p := ruleOf[*envoyLeastRequest](t, "envoy-least-request:weights=2/4/1")
	p.join(0, loads(0, 0, 0))
	p.up = loads(4, 3, 0)
	same(t, "weights", []float64{p.weight(0), p.weight(1), p.weight(2)}, []float64{0.4, 1, 1})
	for _, c := range []struct {
		age        time.Duration
		aggression float64
		want       float64
	}{{6 * time.Second, 1, 0.1}, {6 * time.Second, 2, 0.3162}, {30 * time.Second, 1, 0.5}, {3 * time.Second, 1, 0.1}, {time.Minute, 1, 1}} {
		same(t, c.age.String(), slowStart(c.age, time.Minute, c.aggression), c.want)
	}
}

// Of two replicas sampled with replacement the busier one gets a quarter.
func TestEnvoySamples(t *testing.T) {
	got := picks(ruleOf[*envoyLeastRequest](t, "envoy-least-request"), loads(4, 2), 20_000)
	busier := 0
	for _, i := range got {
		if i == 0 {
			busier++
		}
	}
	if share := float64(busier) / float64(len(got)); math.Abs(share-0.25) > 0.015 {
		t.Errorf("the busier one gets %v", share)
	}
}

func TestORCAWeights(t *testing.T) {
	same(t, "with errors", orcaWeight(100, 5, 0.8, 1), 117.647)
	same(t, "without", orcaWeight(100, 0, 0.8, 1), 125.0)
	p := &envoyCSWRR{valid: []float64{100, 125, 200}}
	same(t, "of a new one", p.median(), 125.0)
	p.valid = nil
	same(t, "without reports", p.median(), 1.0)
}

// A replica that reports for less than the blackout has the median weight; then its
// own, by which a fast one gets more.
func TestCSWRRBlackout(t *testing.T) {
	p := ruleOf[*envoyCSWRR](t, "envoy-cswrr")
	up := loads(0, 0)
	up[0].KVUsed, up[1].KVUsed = 0.2, 0.8
	second := func(s int) (shares [2]int) {
		for k := range 100 {
			now := at(time.Duration(s)*time.Second + time.Duration(k)*10*time.Millisecond)
			i := p.Pick(&Request{At: now}, up)
			shares[i]++
			p.Done(&Request{}, i, &End{At: now, Status: 200})
		}
		return shares
	}
	if s := second(0); s != [2]int{50, 50} {
		t.Errorf("in the blackout: %v", s)
	}
	for s := 1; s < 15; s++ {
		second(s)
	}
	if s := second(15); s[0] < 70 {
		t.Errorf("after it: %v, want most for the one at a fifth of its capacity", s)
	}
}

func TestRing(t *testing.T) {
	g := ring{n: 3, of: []point{{10, 0}, {40, 1}, {80, 2}}}
	up := loads(0, 0, 0)
	for _, c := range []struct {
		key       uint64
		clockwise int
	}{{45, 2}, {90, 0}, {40, 1}} {
		same(t, "clockwise", g.clockwise(c.key, up), c.clockwise)
	}
	// On a ring of 100 places: 45 is nearer to 40, 90 to 80, 40 is at 40.
	scale := uint64(math.MaxUint64/100 + 1)
	g = ring{n: 3, of: []point{{10 * scale, 0}, {40 * scale, 1}, {80 * scale, 2}}}
	for _, c := range []struct {
		key     uint64
		nearest int
	}{{45, 1}, {90, 2}, {40, 1}, {99, 0}, {60, 1}} {
		same(t, "nearest", g.nearest(c.key*scale, up), c.nearest)
	}
}

func TestMaglevTable(t *testing.T) {
	permutations := [][2]uint64{{3, 4}, {0, 2}, {3, 1}}
	build := func(of ...int) []int32 {
		return maglevTable(nil, 7, len(of), func(i int) (uint64, uint64) { p := permutations[of[i]]; return p[0], p[1] })
	}
	same(t, "all", build(0, 1, 2), []int32{1, 0, 1, 0, 2, 2, 0})
	// Without the second one its places go to others, as index 1 of the two left.
	same(t, "two", build(0, 2), []int32{0, 0, 0, 0, 1, 1, 1})
}

func TestBound(t *testing.T) {
	same(t, "1.25 of 9 on 4", bound(loads(3, 3, 2, 1), 1.25), 4)
}

// A bounded ring never lets a replica go above its bound.
func TestBoundedHashHolds(t *testing.T) {
	p := ruleOf[*boundedHash](t, "bounded-hash:key=session")
	up := loads(make([]int, 5)...)
	for k := range 1000 {
		most := bound(up, 1.25)
		i := p.Pick(&Request{Session: uint64(k%2 + 1)}, up) // two keys for five replicas
		if up[i].Outstanding++; up[i].Outstanding > most {
			t.Fatalf("replica %d has %d, above %d", i, up[i].Outstanding, most)
		}
	}
}

func TestPrefixHashSpills(t *testing.T) {
	p := ruleOf[*prefixHash](t, "prefix-hash")
	up := loads(0, 0, 0, 0)
	r := &Request{InTokens: 512, Block: 16}
	for key := uint64(1); r.Prefix == nil || p.Pick(r, up) != 0; key++ { // a key that the first one owns
		r.Prefix = slices.Repeat([]uint64{mix(key)}, 32)
	}
	for _, c := range []struct {
		loads []int
		want  int
	}{{[]int{30, 5, 5, 5}, 1}, {[]int{15, 10, 10, 10}, 1}, {[]int{14, 11, 10, 10}, 0}} {
		same(t, "spill", p.Pick(r, loads(c.loads...)), c.want)
	}
	same(t, "no block", p.Pick(&Request{InTokens: 3, Block: 16}, loads(3, 1, 2, 1)), 1)
}

func TestPeakEWMA(t *testing.T) {
	p := ruleOf[*ewma](t, "peak-ewma")
	s := p.state.at(0)
	s.observe(0.100, at(0), p.tau, true)
	s.observe(0.020, at(5*time.Second), p.tau, true)
	same(t, "average", s.value*1000, 68.522)
	same(t, "cost of two in flight", p.cost(&Load{Outstanding: 2}, at(5*time.Second))*1000, 205.567)
	same(t, "idle for ten seconds", p.cost(&Load{}, at(15*time.Second))*1000, 25.208)
	s.observe(0.500, at(16*time.Second), p.tau, true)
	same(t, "a peak", s.value, 0.5)
	if idle, busy := p.cost(&Load{ID: 1}, 0), p.cost(&Load{ID: 1, Outstanding: 3}, 0); idle != 0 || busy != unmeasured+3 {
		t.Errorf("never measured: %v idle, %v busy", idle, busy)
	}
}

func TestByEngine(t *testing.T) {
	up := []Load{{ID: 0, KVUsed: .9}, {ID: 1, KVUsed: .5}, {ID: 2, KVUsed: .2, Waiting: 40}}
	same(t, "least-kv sees no queue", ruleOf[*byEngine](t, "least-kv").Pick(nil, up), 2)
	// vLLM's balancer of ranks: 4*waiting + running, 6 < 7.
	ranks := []Load{{ID: 0, Waiting: 1, Running: 2}, {ID: 1, Running: 7}}
	same(t, "4w + r", ruleOf[*byEngine](t, "kv-queue:waiting=4,running=1,kv=0").Pick(nil, ranks), 0)
	stale := []Load{{ID: 0, Running: 2, Since: 5}, {ID: 1, Running: 3}}
	same(t, "stale", ruleOf[*leastReported](t, "least-reported").Pick(nil, stale), 0)
	same(t, "own requests since", ruleOf[*leastReported](t, "least-reported:own=1").Pick(nil, stale), 1)
}

func TestLLMDScores(t *testing.T) {
	same(t, "queue", []float64{spread(0, 0, 10), spread(4, 0, 10), spread(10, 0, 10), spread(3, 3, 3)}, []float64{1, .6, 0, 1})
	same(t, "active", []float64{idle(0, 6), idle(3, 6), idle(6, 6), idle(5, 5)}, []float64{1, .5, 0, 0})
	// Default weights: 4.6, 2.2, 2.2.
	p := ruleOf[*llmD](t, "llm-d:index=precise")
	up := []Load{{ID: 0, KVUsed: .9, Cached: 80}, {ID: 1, Waiting: 4, KVUsed: .5}, {ID: 2, Waiting: 10, KVUsed: .2, Cached: 20}}
	r := &Request{InTokens: 100}
	same(t, "pick", p.Pick(r, up), 0)
	same(t, "score", -p.best.cost, 4.6)
	// One waiting request costs as much as a prefix hit of two thirds.
	for _, c := range []struct{ cached, want int }{{60, 1}, {70, 0}} {
		up := []Load{{ID: 0, Waiting: 1, KVUsed: .5, Cached: c.cached}, {ID: 1, KVUsed: .5}}
		same(t, "break-even", p.Pick(r, up), c.want)
	}
}

// Upstream, a replica without the first block still scores, and one block too many
// drops the beginning.
func TestApproximateIndex(t *testing.T) {
	h := func(first uint64, n int) *Request {
		r := &Request{Block: 64, InTokens: 64 * n}
		for i := range n {
			r.Prefix = append(r.Prefix, first+uint64(i))
		}
		return r
	}
	for _, c := range []struct {
		fixed bool
		want  []int
	}{{false, []int{2, 3}}, {true, []int{2, 3}}} {
		x := approximate{most: 4, stride: 1, fixed: c.fixed}
		x.placed(h(1, 3), 0)
		x.placed(h(100, 2), 0) // 5 blocks for 4 places
		x.placed(h(1, 3), 1)
		same(t, "counts", x.match(h(1, 3), loads(0, 0)), c.want)
	}
	for _, c := range []struct {
		fixed bool
		want  int
	}{{false, 0}, {true, 2}} {
		x := approximate{most: 4, stride: 1, fixed: c.fixed}
		x.placed(h(1, 3), 0)
		x.placed(h(100, 2), 0)
		same(t, "alone", x.match(h(1, 3), loads(0)), []int{c.want})
	}
}

func TestStateOf(t *testing.T) {
	const x, y, z = 1, 2, 3
	for _, c := range []struct {
		name             string
		running, waiting []uint16
		want             float64
	}{{"has it", []uint16{x}, nil, 1}, {"has room", []uint16{y}, nil, .8}, {"is full", []uint16{y, z}, nil, 0}, {"waits for it", []uint16{y}, []uint16{x}, .6}} {
		same(t, c.name, loraScore(StateOf(x, c.running, c.waiting, 2)), c.want)
	}
	same(t, "no adapter", StateOf(0, []uint16{x}, nil, 2), AdapterUnknown)
}

func TestDynamoCost(t *testing.T) {
	p := ruleOf[*dynamoKV](t, "dynamo-kv")
	workers := []dynamoCost{{raw: 10, device: 2, decode: 10}, {raw: 10, device: 5, decode: 5}, {raw: 10, device: 8, decode: 9}}
	costs := func(p *dynamoKV) (out []float64) {
		for _, c := range workers {
			out = append(out, p.cost(c))
		}
		return out
	}
	same(t, "the documentation's three workers", costs(p), []float64{18, 10, 11})
	same(t, "lmetric", costs(ruleOf[*dynamoKV](t, "dynamo-kv:policy=lmetric")), []float64{88, 30, 20})
	same(t, "T=0.5", softmax(nil, []float64{18, 10, 11}, .5), []float64{.0707, .5224, .4069})
	same(t, "T=1", softmax(nil, []float64{18, 10, 11}, 1), []float64{.1635, .4444, .3922})
	same(t, "two", softmax(nil, []float64{10, 11}, .5), []float64{.8808, .1192})
	same(t, "an outlier flattens", softmax(nil, []float64{10, 11, 110}, .5), []float64{.4727, .4633, .0640})
	busy := dynamoCost{raw: 20, device: 8, decode: 9, excess: 1}
	same(t, "decay", ruleOf[*dynamoKV](t, "dynamo-kv:decay=1").cost(busy), 25.0)
	same(t, "no decay", p.cost(busy), 21.0)
}

// The whole rule, from requests that were sent: worker 1 has 5 blocks cached.
func TestDynamoPicks(t *testing.T) {
	p := ruleOf[*dynamoKV](t, "dynamo-kv")
	for id, blocks := range []int{10, 5, 9} {
		r := &Request{InTokens: 16 * blocks, Block: 16}
		p.Placed(r, id)
		p.FirstToken(r, id, 0)
	}
	up := loads(1, 1, 1)
	up[0].Cached, up[1].Cached, up[2].Cached = 32, 80, 128
	r := &Request{InTokens: 160, Block: 16}
	same(t, "pick", p.Pick(r, up), 1)
	same(t, "costs", p.costs, []float64{18, 10, 11})
	p.Placed(r, 1)
	p.Done(r, 1, &End{FirstToken: clock.Never})
	same(t, "given back", *p.busy.at(1), dynamoLoad{own: 5})
	// Blocks that requests share are held once.
	s := p.busy.at(2)
	one, two := &Request{InTokens: 40, Block: 16, Prefix: []uint64{1, 2}}, &Request{InTokens: 48, Block: 16, Prefix: []uint64{1, 2, 3}}
	s.hold(one)
	s.hold(two)
	same(t, "shared", s.decode(), 9+4)
	s.drop(one)
	same(t, "one less", s.decode(), 9+3)
}

func TestCacheAwareImbalance(t *testing.T) {
	for _, c := range []struct {
		most, least int
		want        bool
	}{{70, 5, true}, {70, 6, false}, {300, 230, false}} {
		same(t, "imbalanced", imbalanced(loads(c.most, c.least), 64, 1.5), c.want)
	}
}

func TestCacheAwareThreshold(t *testing.T) {
	prompt := func(shared int) *Request { // of 100 blocks of one token
		r := &Request{InTokens: 100, Block: 1}
		for i := range 100 {
			h := uint64(i + 1)
			if i >= shared {
				h += 1000 * uint64(shared+1)
			}
			r.Prefix = append(r.Prefix, h)
		}
		return r
	}
	for _, c := range []struct{ shared, want int }{{30, 1}, {31, 0}} {
		p := ruleOf[*cacheAware](t, "cache-aware")
		p.Pick(prompt(100), loads(0, 9)) // a miss: to the least loaded, 0
		same(t, "pick", p.Pick(prompt(c.shared), loads(9, 0)), c.want)
	}
}

func TestTree(t *testing.T) {
	// "abcdef" of replica 1 and "abcxyz" of replica 2, as blocks of one character.
	word := func(s string) (out []uint64) {
		h := uint64(7)
		for _, c := range s {
			h = mix(h ^ uint64(c))
			out = append(out, h)
		}
		return out
	}
	var tr tree
	tr.insert(word("abcdef"), 1)
	tr.insert(word("abcxyz"), 2)
	same(t, "sizes", []int{*tr.size.at(1), *tr.size.at(2)}, []int{6, 6})
	n, node := tr.match(word("abcq"))
	same(t, "abcq", []int{n, int(node.last)}, []int{3, 1})
	n, node = tr.match(word("abcdeZ"))
	same(t, "abcdeZ", []int{n, int(node.tenants[0].id)}, []int{5, 1})
	tr.evict(1, 3)
	tr.evict(2, 3)
	same(t, "after eviction", []int{*tr.size.at(1), *tr.size.at(2), len(tr.nodes)}, []int{3, 3, 3})
	_, node = tr.match(word("abcdef"))
	same(t, "left at c", len(node.tenants), 2)
}

func TestStackQPS(t *testing.T) {
	p := ruleOf[*stackQPS](t, "production-stack-qps")
	now := at(time.Minute)
	for i, n := range []int{30, 18} {
		for range n {
			p.Placed(&Request{At: now}, i)
		}
	}
	same(t, "an unseen one first", p.Pick(&Request{At: now}, loads(0, 0, 9)), 2)
	p.Placed(&Request{At: now}, 2)
	for range 30 {
		p.Placed(&Request{At: now}, 2)
	}
	same(t, "the fewest", p.Pick(&Request{At: now}, loads(0, 0, 9)), 1)
	same(t, "all are old", p.Pick(&Request{At: now.Add(2 * time.Minute)}, loads(0, 0, 9)), 0)
}

func TestStackPrefixFollows(t *testing.T) {
	p := ruleOf[*stackPrefix](t, "production-stack-prefixaware")
	r := &Request{InTokens: 48, Block: 16, Prefix: []uint64{1, 2, 3}}
	first := p.Pick(r, loads(0, 0, 0))
	for range 20 {
		same(t, "the same", p.Pick(r, loads(99, 99, 99)), first)
	}
}

func TestAIBrix(t *testing.T) {
	same(t, "unknown rate attracts", drainTime(10, 0) < drainTime(2, 3), true)
	p := ruleOf[*aibrixPrefix](t, "aibrix-prefix-cache")
	r := &Request{InTokens: 32, Block: 16, Prefix: []uint64{1, 2}}
	p.Placed(r, 2)
	same(t, "follows", p.Pick(r, loads(1, 3, 2)), 2)
	same(t, "gated: 20 > 17.33, a gap of 19", p.Pick(r, loads(1, 2, 20)), 0)
	p.Placed(r, 3)
	p.Placed(&Request{InTokens: 16, Block: 16, Prefix: []uint64{1}}, 1)
	// 2, 2, 2, 9: 9 is above 3.75 + 3.03, so the best match is passed over.
	p = ruleOf[*aibrixPrefix](t, "aibrix-prefix-cache")
	p.Placed(r, 3)
	p.Placed(&Request{InTokens: 16, Block: 16, Prefix: []uint64{1}}, 1)
	same(t, "next match", p.Pick(r, loads(2, 2, 2, 9)), 1)
}

func TestLiteLLM(t *testing.T) {
	for _, c := range []struct {
		fixed bool
		want  float64
	}{{false, 0.91}, {true, 0.1}} {
		var s litellmSamples
		for range 10 {
			s.add(1, c.fixed)
		}
		for range 100 {
			s.add(.1, c.fixed)
		}
		same(t, "ten slow samples, a hundred fast ones", s.mean(), c.want)
	}
	same(t, "free is dearest", ruleOf[*litellmCost](t, "litellm-cost:prices=0/3").Pick(nil, loads(0, 0)), 1)
	same(t, "fixed", ruleOf[*litellmCost](t, "litellm-cost:prices=0/3,variant=fixed").Pick(nil, loads(0, 0)), 0)
	u := ruleOf[*litellmUsage](t, "litellm-usage:tpm=100")
	u.Done(&Request{InTokens: 60}, 0, &End{Status: 200})
	u.Done(&Request{InTokens: 40}, 1, &End{Status: 200})
	same(t, "fewest tokens", u.Pick(&Request{InTokens: 20}, loads(0, 0)), 1)
	same(t, "within the limit", u.Pick(&Request{InTokens: 61}, loads(0, 0)), None)
	same(t, "another minute", u.Pick(&Request{InTokens: 61, At: at(time.Minute)}, loads(0)), 0)
	shuffle := picks(ruleOf[*litellmShuffle](t, "litellm-simple-shuffle:weights=9/1"), loads(0, 0), 10_000)
	ones := 0
	for _, i := range shuffle {
		ones += i
	}
	if math.Abs(float64(ones)/10_000-0.1) > 0.015 {
		t.Errorf("a tenth of the weight gets %d of 10000", ones)
	}
}

func TestAPIMPriority(t *testing.T) {
	p := ruleOf[*apimPriority](t, "apim-priority:priorities=1/2")
	up := loads(0, 0)
	pick := func(s float64) int { return p.Pick(&Request{At: at(time.Duration(s * float64(time.Second)))}, up) }
	for s := range 3 {
		same(t, "closed", pick(float64(s)), 0)
		p.Done(&Request{}, 0, &End{At: at(time.Duration(s) * time.Second), Status: 429})
	}
	same(t, "open from 2 s on", []int{pick(2), pick(11.9), pick(12)}, []int{1, 1, 0})
	for range 3 {
		p.Done(&Request{}, 0, &End{At: at(20 * time.Second), Status: 503})
		p.Done(&Request{}, 1, &End{At: at(20 * time.Second), Status: 500})
		p.Done(&Request{}, 1, &End{At: at(20 * time.Second), Status: 400}) // not the backend's fault
	}
	same(t, "all open", pick(21), None)
	same(t, "until the first one closes", p.RetryAfter(at(21*time.Second)), 9*time.Second)

	p = ruleOf[*apimPriority](t, "apim-priority:priorities=1/2,failures=1,retry-after=accept")
	p.Done(&Request{}, 0, &End{At: at(0), Status: 429, RetryAfter: 45 * time.Second})
	p.Done(&Request{}, 1, &End{At: at(0), Status: 503})
	same(t, "for as long as the backend asks, or else the trip", []int{pick(9), pick(11), pick(44.9), pick(45)}, []int{None, 1, 1, 0})
}

// A refused request is drawn for again among the others, and so often.
func TestLiteLLMFailover(t *testing.T) {
	p := ruleOf[*litellmShuffle](t, "litellm-simple-shuffle:weights=9/1/1,failover=2")
	r := &Request{Refused: []int{0}}
	if !p.Again(r, 1, 503) || p.Again(r, 1, 400) {
		t.Error("503 is tried again, and 400 is not")
	}
	got := [3]int{}
	for range 1000 {
		got[p.Pick(r, loads(0, 0, 0))]++
	}
	if got[0] > 0 || got[1] < 430 || got[1] > 570 {
		t.Errorf("picks are %v, want half at each of the two that did not refuse", got)
	}
	r.Refused = []int{0, 2}
	same(t, "the last one", p.Pick(r, loads(0, 0, 0)), 1)
	same(t, "no more", p.Again(r, 1, 503), false)
	r.Refused = []int{0, 2, 1}
	same(t, "nobody is left", p.Pick(r, loads(0, 0, 0)), None)
}
