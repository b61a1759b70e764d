package knee

import (
	"context"
	"math"
	"slices"
	"testing"

	"goodput/loadgen/rng"
	"goodput/report/stats"
)

// station is several servers with exponential services of mean 1 s and one queue, first
// come first served. The objective is that 95 % wait no longer than limit, in seconds.
type station struct {
	n, servers int
	limit      float64
	// law is how long services last, with a mean of 1 s; the zero value: exponential.
	law hyper
}

// hyper is a mixture of two exponentials with rates a and b, of the first with chance p.
type hyper struct{ p, a, b float64 }

// hyperOf has mean 1, the squared coefficient of variation c > 1, and equal shares of the
// work in either part.
func hyperOf(c float64) hyper {
	p := (1 + math.Sqrt((c-1)/(c+1))) / 2
	return hyper{p, 2 * p, 2 * (1 - p)}
}

func (h hyper) draw(s *rng.Stream) float64 {
	switch {
	case h == hyper{}:
		return s.Exp()
	case s.Float64() < h.p:
		return s.Exp() / h.a
	}
	return s.Exp() / h.b
}

// tail is the chance that a wait of M/H2/1 at rate r is longer than t: the formula of
// Pollaczek and Khinchine for the transform of waits, whose two poles are the roots of a
// quadratic, in partial fractions.
func (h hyper) tail(r, t float64) float64 {
	sum, product := h.a+h.b-r, h.a*h.b-r*(h.a+h.b)+r*(h.p*h.a+(1-h.p)*h.b)
	root := math.Sqrt(sum*sum - 4*product)
	x, y := (sum-root)/2, (sum+root)/2
	part := func(u, v float64) float64 {
		return (1 - r) * (h.a - u) * (h.b - u) / (v - u) / u * math.Exp(-u*t)
	}
	return part(x, y) + part(y, x)
}

var _ Prober = station{}

func (q station) Zero(context.Context) (Zero, error) {
	return Zero{Requests: 30, Good: 30, Feasible: true}, nil
}

func (q station) Trial(_ context.Context, seed uint64, rate float64) (Trial, error) {
	c, err := NewCurtailment(q.n, 0.95)
	if err != nil {
		return Trial{}, err
	}
	gaps, services := rng.New(seed, "gaps", 0), rng.New(seed, "services", 0)
	free := make([]float64, q.servers)
	now := 0.0
	for i := range q.n + q.n/10 {
		now += gaps.Exp() / rate
		first := slices.Index(free, slices.Min(free))
		start := max(free[first], now)
		free[first] = start + q.law.draw(&services)
		if i < q.n/10 {
			continue
		}
		c.Add(start-now <= q.limit)
		if pass, decided := c.Decided(); decided {
			good, bad := c.Counts()
			return Trial{N: q.n, Good: good, Bad: bad, Pass: pass, Stop: Curtailed}, nil
		}
	}
	panic("undecided after all requests")
}

// erlangC is the chance of a wait of k servers at a load of a erlangs, by the recursion of
// Erlang's B.
func erlangC(k int, a float64) float64 {
	b := 1.0
	for i := 1; i <= k; i++ {
		b = a * b / (float64(i) + a*b)
	}
	return b / (1 - a/float64(k)*(1-b))
}

// kneeOf is where P(wait > t) = C(k, a) exp(-(k-a)t) is 5 %.
func kneeOf(servers int, limit float64) float64 {
	lo, hi := 0.0, float64(servers)
	for range 60 {
		if mid := (lo + hi) / 2; erlangC(servers, mid)*math.Exp(-(float64(servers)-mid)*limit) > 0.05 {
			hi = mid
		} else {
			lo = mid
		}
	}
	return lo
}

func TestFindKneeOfMMk(t *testing.T) {
	for _, servers := range []int{1, 4, 16} {
		q := station{n: 20_000, servers: servers, limit: 2}
		want := kneeOf(servers, q.limit)
		c := config(1, 2, 3, 4, 5)
		c.Tolerance, c.Start = 0.02, float64(servers)/2
		k, err := Find(context.Background(), q, c)
		if err != nil {
			t.Fatal(err)
		}
		if k.Outcome != OK || k.Lo > want || k.Hi < want || math.Abs(k.Rate/want-1) > 0.05 {
			t.Errorf("%d servers: %s %.4f [%.4f, %.4f], want %.4f", servers, k.Outcome, k.Rate, k.Lo, k.Hi, want)
		}
	}
}

// Paired knees: of servers that are 5 % slower the knee is lower by what theory says, to
// 2 %, with trials whose knees differ between seeds by more than that.
func TestPairedKnees(t *testing.T) {
	find := func(slower float64) Knee {
		c := config(1, 2, 3, 4, 5)
		c.Tolerance, c.Start, c.Verify = 0.01, 0.5, nil
		k, err := Find(context.Background(), slowed{station{n: 1000, servers: 4, limit: 2}, slower}, c)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	base, slow := find(1), find(1.05)
	var knees, ratios []float64
	for i := range base.Seeds {
		knees = append(knees, math.Log(base.Seeds[i].Rate))
		ratios = append(ratios, math.Log(slow.Seeds[i].Rate/base.Seeds[i].Rate))
	}
	single, err1 := stats.Mean(knees, 0.95)
	paired, err2 := stats.Mean(ratios, 0.95)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	want := math.Log(kneeOf(4, 2/1.05) / 1.05 / kneeOf(4, 2))
	if math.Abs(paired.Value-want) > 0.02 || paired.Hi > 0 || paired.SD > single.SD/2 {
		t.Errorf("the logarithm of the ratio is %.4f, sd %.4f, want %.4f; the sd of one knee is %.4f", paired.Value, paired.SD, want, single.SD)
	}
}

// slowed is a station whose time goes by a factor slower.
type slowed struct {
	station
	factor float64
}

func (q slowed) Trial(ctx context.Context, seed uint64, rate float64) (Trial, error) {
	inner := q.station
	inner.limit /= q.factor
	return inner.Trial(ctx, seed, rate*q.factor)
}

// The knee of a queue whose services vary more than exponential ones, by the analytic
// distribution of waits.
func TestFindKneeOfMG1(t *testing.T) {
	law := hyperOf(4)
	// Against the mean wait, r/(1-r) * (1+c)/2: the formula of Pollaczek and Khinchine.
	mean := 0.0
	for i := range 200_000 {
		mean += law.tail(0.6, (float64(i)+0.5)/1000) / 1000
	}
	if want := 0.6 / 0.4 * 5 / 2; math.Abs(mean/want-1) > 0.001 {
		t.Fatalf("the mean of the waits is %.4f, want %.4f", mean, want)
	}
	const limit = 8.0
	lo, want := 0.0, 0.99
	for range 60 {
		if mid := (lo + want) / 2; law.tail(mid, limit) > 0.05 {
			want = mid
		} else {
			lo = mid
		}
	}
	c := config(1, 2, 3, 4, 5)
	c.Tolerance, c.Start = 0.02, 0.5
	k, err := Find(context.Background(), station{n: 40_000, servers: 1, limit: limit, law: law}, c)
	if err != nil {
		t.Fatal(err)
	}
	if k.Outcome != OK || k.Lo > want || k.Hi < want || math.Abs(k.Rate/want-1) > 0.05 {
		t.Errorf("%s %.4f [%.4f, %.4f], want %.4f", k.Outcome, k.Rate, k.Lo, k.Hi, want)
	}
	t.Logf("CV² 4: knee at %.3f [%.3f, %.3f], by the law %.3f", k.Rate, k.Lo, k.Hi, want)
	// With CV² of 1 the mixture is exponential, and the knee that of M/M/1.
	if a, b := hyperOf(1+1e-9).tail(0.7, 2), 0.7*math.Exp(-0.3*2); math.Abs(a/b-1) > 1e-3 {
		t.Errorf("P(W > 2) of M/M/1: %v, want %v", a, b)
	}
}
