package agent_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"goodput/datasets"
	"goodput/datasets/agent"
)

// The published traces behind chat and toolagent have few figures. What else a preset
// must come to follows from its parameters in closed form, written down here a second
// time so that neither side can drift alone.

// cutLognormal is a lognormal distribution that is drawn again above most.
type cutLognormal struct{ median, sigma, most float64 }

// below is the chance of no more than x before the cut.
func (c cutLognormal) below(x float64) float64 {
	return distuv.LogNormal{Mu: math.Log(c.median), Sigma: c.sigma}.CDF(x)
}

// mean is E[X | X <= most] = e^(μ+σ²/2) Φ(z-σ) / Φ(z), where z = (ln most - μ)/σ.
func (c cutLognormal) mean() float64 {
	z := math.Log(c.most/c.median) / c.sigma
	return c.median * math.Exp(c.sigma*c.sigma/2) * distuv.UnitNormal.CDF(z-c.sigma) / distuv.UnitNormal.CDF(z)
}

func (c cutLognormal) quantile(q float64) float64 {
	return distuv.LogNormal{Mu: math.Log(c.median), Sigma: c.sigma}.Quantile(q * c.below(c.most))
}

// claim is a figure of a preset, and where what it should be comes from.
type claim struct {
	name, from  string
	got, wanted float64
	within      float64 // relative
}

const (
	published = "published"
	derived   = "derived"
)

func hold(t *testing.T, claims []claim) {
	t.Helper()
	for _, c := range claims {
		t.Logf("%-16s %12.5g want %12.5g (%+.1f %%), %s", c.name, c.got, c.wanted, 100*(c.got/c.wanted-1), c.from)
		if !(math.Abs(c.got-c.wanted) <= c.within*c.wanted) {
			t.Errorf("%s is %.5g, want %.5g within %.1f %% (%s)", c.name, c.got, c.wanted, 100*c.within, c.from)
		}
	}
}

func aggregates(t *testing.T, preset string, prefix int) (figures, *agent.Set) {
	t.Helper()
	set, err := agent.New(plain(t, preset), aggregated, 1)
	if err != nil {
		t.Fatal(err)
	}
	return measure(set, prefix), set
}

// aggregated is the number of sessions that aggregates are of.
const aggregated = 12_000

// TestChatAggregates: the conversations of Mooncake's trace have 1.49 turns in the mean
// and 126 s from the start of one to that of the next in the median, prompts that begin
// with 6,000 tokens in the median, and answers of 343 in the mean and 350 in the median.
//
// With T turns (geometric, p = 1/1.49), a first text of I tokens behind the prefix,
// users' texts of U and answers of A, turn k asks with P + I + kU + (k-1)A tokens, of
// which the last turn's are in the cache, or P in the first. So a session has in sum
//
//	E[T](P+I) + U E[T(T+1)]/2 + A E[T(T-1)]/2 tokens in, and found of them
//	P + (E[T]-1)(P+I) + U E[T(T-1)]/2 + A E[(T-1)(T-2)]/2
//
// with E[T(T+1)] = 2/p², E[T(T-1)] = 2q/p² and E[(T-1)(T-2)] = 2q²/p². The window of
// 128,000 tokens ends so few of them that it is left out.
func TestChatAggregates(t *testing.T) {
	const prefix, p, q = 512.0, 1 / 1.49, 1 - 1/1.49
	init := cutLognormal{6000, 1.2, 100_000}
	short, long := cutLognormal{20, 1, math.Inf(1)}, cutLognormal{3500, 0.9, 60_000}
	human := cutLognormal{120, 1, 900}
	i, u := init.mean(), 0.75*short.mean()+0.25*long.mean()
	// Answers are normal above 10.
	a := (10 - 340.0) / 150
	above := 1 - distuv.UnitNormal.CDF(a)
	answer := 340 + 150*distuv.UnitNormal.Prob(a)/above
	answerP50 := 340 + 150*distuv.UnitNormal.Quantile(1-above/2)
	in := (prefix+i)/p + u/(p*p) + answer*q/(p*p)
	found := prefix + (1/p-1)*(prefix+i) + u*q/(p*p) + answer*q*q/(p*p)

	f, set := aggregates(t, "chat", prefix)
	single, gaps, firsts := 0.0, []float64(nil), []float64(nil)
	var s datasets.Session
	for n := range set.Sessions() {
		set.Session(n, &s)
		steps := s.Threads[0].Steps
		if len(steps) == 1 {
			single++
		}
		for k := range steps {
			if k > 0 {
				gaps = append(gaps, steps[k].Wait.Seconds()+1+float64(steps[k-1].Out)/40.7)
			}
		}
		if first := &steps[0]; len(first.Append) > 1 {
			firsts = append(firsts, float64(first.Append[1].Tokens)) // behind the prefix
		}
	}
	hold(t, []claim{
		{"turns mean", published, mean(f.steps), 1.49, 0.05},
		{"first text p50", published, quantile(firsts, .5), 6000, 0.05},
		{"output mean", published, mean(f.out), 343, 0.05},
		{"output p50", published, quantile(f.out, .5), 350, 0.05},
		{"gap p50", published, quantile(gaps, .5), 126, 0.05},
		{"single turns", derived, single / aggregated, p, 0.05},
		{"turns p90", derived, quantile(f.steps, .9), math.Ceil(math.Log(.1) / math.Log(q)), 0},
		{"turns p99", derived, quantile(f.steps, .99), math.Ceil(math.Log(.01) / math.Log(q)), 0},
		{"first text p90", derived, quantile(firsts, .9), init.quantile(.9), 0.05},
		{"input mean", derived, mean(f.in), in * p, 0.05},
		{"growth mean", derived, mean(f.growth), u + answer, 0.05},
		{"output mean", derived, mean(f.out), answer, 0.05},
		{"output p50", derived, quantile(f.out, .5), answerP50, 0.05},
		{"planned hit", derived, f.hit / f.sumIn, found / in, 0.05},
		{"live hit", derived, f.hitLive / f.sumIn, (found + answer*(1/p-1)) / in, 0.05},
		{"uncached mean", derived, mean(f.uncached), (in - found) * p, 0.05},
		{"tokens in", derived, f.sumIn / aggregated, in, 0.05},
		{"tokens out", derived, f.sumOut / aggregated, answer / p, 0.05},
		{"wall mean", derived, mean(f.wall), (1+answer/40.7)/p + human.mean()*(1/p-1), 0.05},
	})
	if f.compacted > 0 {
		t.Errorf("%d sessions were compacted, want none", f.compacted)
	}
}

// TestToolAgentAggregates: of Mooncake's trace of tools and agents three means are
// published: 8,596 tokens in, 182 out, and 59 % of the former found in a cache. A
// tenant's share of 20 by Zipf's law is k^-0.6 over their sum.
func TestToolAgentAggregates(t *testing.T) {
	const prefix = 5100.0
	user, answer := cutLognormal{2000, 1.06, 60_000}, cutLognormal{100, 1.1, 4000}
	in := prefix + user.mean()
	harmonic := 0.0
	for k := 1.0; k <= 20; k++ {
		harmonic += math.Pow(k, -0.6)
	}

	f, set := aggregates(t, "toolagent", prefix)
	var asked [21]float64
	var s datasets.Session
	for n := range set.Sessions() {
		set.Session(n, &s)
		asked[s.Tenant]++
	}
	hold(t, []claim{
		{"input mean", published, mean(f.in), 8596, 0.05},
		{"output mean", published, mean(f.out), 182, 0.05},
		{"planned hit", published, f.hit / f.sumIn, 0.59, 0.05},
		{"steps mean", derived, mean(f.steps), 1, 0},
		{"input mean", derived, mean(f.in), in, 0.05},
		{"input p50", derived, quantile(f.in, .5), prefix + user.quantile(.5), 0.05},
		{"input p90", derived, quantile(f.in, .9), prefix + user.quantile(.9), 0.05},
		{"uncached mean", derived, mean(f.uncached), user.mean(), 0.05},
		{"uncached p90", derived, quantile(f.uncached, .9), user.quantile(.9), 0.05},
		{"output mean", derived, mean(f.out), answer.mean(), 0.05},
		{"output p50", derived, quantile(f.out, .5), answer.quantile(.5), 0.05},
		{"output p90", derived, quantile(f.out, .9), answer.quantile(.9), 0.05},
		{"planned hit", derived, f.hit / f.sumIn, prefix / in, 0.05},
		{"wall mean", derived, mean(f.wall), 1 + answer.mean()/40.7, 0.05},
		{"first tenant", derived, asked[1] / aggregated, 1 / harmonic, 0.05},
		{"last tenant", derived, asked[20] / aggregated, math.Pow(20, -0.6) / harmonic, 0.1},
	})
}
