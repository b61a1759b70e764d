package spec_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"goodput/fakeengine/spec"
)

func model(t testing.TB, a spec.Acceptance, k int, seed uint64) *spec.Model {
	t.Helper()
	m, err := spec.New(a, k, seed)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Over the steps of a run whose answers have equal lengths, the shares of accepted
// drafts are the products of the rates, and the tokens of a step their sum and one,
// whatever the spread. Tolerance: four standard errors of a ratio over requests, and
// 0.005 for the steps that go beyond an answer's end.
func TestSharesAreThoseAskedFor(t *testing.T) {
	const requests, tokens = 4000, 300
	for _, c := range []struct {
		name string
		a    spec.Acceptance
		k    int
	}{
		{"flat", spec.Acceptance{Rates: []float64{0.7}, Proposes: 1}, 4},
		{"falling", spec.Acceptance{Rates: []float64{0.8, 0.6, 0.4}, Proposes: 1}, 5},
		{"flat, spread", spec.Acceptance{Rates: []float64{0.7}, Spread: 0.2, Proposes: 1}, 4},
		{"rising, spread", spec.Acceptance{Rates: []float64{0.5, 0.8, 0.95}, Spread: 0.3, Proposes: 1}, 4},
		{"falling, widest spread", spec.Acceptance{Rates: []float64{0.5, 0.4, 0.3}, Spread: 0.45, Proposes: 1}, 4},
		{"nothing beyond two", spec.Acceptance{Rates: []float64{0.5, 0.5, 0}, Spread: 0.1, Proposes: 1}, 4},
		{"always", spec.Acceptance{Rates: []float64{1}, Proposes: 1}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := model(t, c.a, c.k, 7)
			steps := make([]float64, requests)
			hits := make([][]float64, c.k)
			for i := range hits {
				hits[i] = make([]float64, requests)
			}
			all := 0.0
			for id := range uint64(requests) {
				r := m.Request(id)
				for n := 1; n < tokens; {
					accepted := m.Accepted(r, n, c.k)
					for i := range accepted {
						hits[i][id]++
					}
					steps[id]++
					n += accepted + 1
				}
				all += steps[id]
			}
			length := 1.0
			for i := range c.k {
				share, se := ratio(hits[i], steps)
				if want := c.a.Survival(i); math.Abs(share-want) > 4*se+0.005 {
					t.Errorf("draft %d: accepted in a share of %.4f of the steps, want %.4f +- %.4f", i, share, want, se)
				}
				length += share
			}
			if want := c.a.Length(c.k); math.Abs(length-want) > 0.02*want {
				t.Errorf("%.3f tokens a step over %.0f steps, want %.3f", length, all, want)
			}
		})
	}
}

// ratio is sum x by sum y, and its standard error by the delta method.
func ratio(x, y []float64) (r, se float64) {
	var sx, sy, v float64
	for i := range x {
		sx, sy = sx+x[i], sy+y[i]
	}
	r = sx / sy
	for i := range x {
		d := x[i] - r*y[i]
		v += d * d
	}
	return r, math.Sqrt(v) / sy
}

// Requests differ by more than the luck of their draws: without a spread the
// number of accepted first drafts is binomial, with one its variance for n draws is
// n E t(1-t) + n^2 Var t. Among requests the density of t is that of a beta
// distribution times 1+t, so E t^j is (M(j) + M(j+1)) / (1 + M(1)) of its moments M.
func TestSpreadWidensRequests(t *testing.T) {
	const requests, n, p = 4000, 50, 0.7
	variance := func(spread float64) float64 {
		m := model(t, spec.Acceptance{Rates: []float64{p}, Spread: spread, Proposes: 1}, 1, 3)
		var sum, squares float64
		for id := range uint64(requests) {
			r, x := m.Request(id), 0.0
			for at := range n {
				x += float64(m.Accepted(r, at, 1))
			}
			sum, squares = sum+x, squares+x*x
		}
		return squares/requests - (sum/requests)*(sum/requests)
	}
	for _, spread := range []float64{0, 0.05, 0.2, 0.35} {
		moment := func(j int) float64 { return math.Pow(p, float64(j)) }
		if spread > 0 {
			sum := p*(1-p)/(spread*spread) - 1
			moment = func(j int) float64 {
				m := 1.0
				for i := range j {
					m *= (p*sum + float64(i)) / (sum + float64(i))
				}
				return m
			}
		}
		first, second := (moment(1)+moment(2))/(1+p), (moment(2)+moment(3))/(1+p)
		want := n*(first-second) + n*n*(second-first*first)
		if spread > 0.1 && want < 2*n*first*(1-first) {
			t.Errorf("spread %v: variance %.1f is hardly more than binomial", spread, want)
		}
		if got := variance(spread); math.Abs(got-want) > 0.1*want {
			t.Errorf("spread %v: variance %.1f, want %.1f within 10 %%", spread, got, want)
		}
	}
}

func TestFewerDraftsAreAPrefix(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := rapid.IntRange(1, spec.MaxDrafts).Draw(rt, "k")
		m := model(t, spec.Acceptance{Rates: []float64{0.8}, Spread: 0.2, Proposes: 0.5}, k, rapid.Uint64().Draw(rt, "seed"))
		r := m.Request(rapid.Uint64().Draw(rt, "id"))
		n, d := rapid.IntRange(0, 1<<20).Draw(rt, "n"), rapid.IntRange(0, k).Draw(rt, "d")
		if got, all := m.Accepted(r, n, d), m.Accepted(r, n, k); got != min(all, d) {
			rt.Fatalf("%d of %d drafts accepted, %d of %d", got, d, all, k)
		}
		if got := m.Proposed(r, n); got != 0 && got != k {
			rt.Fatalf("%d drafts proposed, want 0 or %d", got, k)
		}
	})
}

// The verdict on a draft depends on the seed, the sequence and the position alone,
// so models that were used differently agree, and other names do not.
func TestDrawsAreCounterBased(t *testing.T) {
	a := spec.Acceptance{Rates: []float64{0.8}, Spread: 0.2, Proposes: 0.7}
	m, other := model(t, a, 5, 1), model(t, a, 5, 1)
	for id := range uint64(100) { // in another order, and with draws between
		other.Accepted(other.Request(99-id), 3, 5)
	}
	same := func(x, y spec.Request) (n int) {
		for at := range 1000 {
			if m.Accepted(x, at, 5) == other.Accepted(y, at, 5) && m.Proposed(x, at) == other.Proposed(y, at) {
				n++
			}
		}
		return n
	}
	if n := same(m.Request(5), other.Request(5)); n != 1000 {
		t.Errorf("%d of 1,000 draws agree, want all", n)
	}
	if n := same(m.Request(5), other.Request(6)); n > 700 {
		t.Errorf("%d of 1,000 draws of different sequences agree", n)
	}
	reseeded := model(t, a, 5, 2)
	if m.Request(5) == reseeded.Request(5) {
		t.Error("another seed gives the same request")
	}
}

func TestProposedShare(t *testing.T) {
	m := model(t, spec.Acceptance{Rates: []float64{0.5}, Proposes: 0.3}, 4, 1)
	r, n := m.Request(1), 0
	for at := range 10_000 {
		n += m.Proposed(r, at) / 4
	}
	if share := float64(n) / 10_000; math.Abs(share-0.3) > 0.02 {
		t.Errorf("drafts in a share of %.3f of the steps, want 0.3", share)
	}
	if m.Always() {
		t.Error("a drafter that proposes now and then is said to propose always")
	}
}

// The package documentation's claim: the measured rates of n-gram drafts on code
// edits are those of a beta distribution with nothing but its spread.
func TestLookupOnCodeIsBeta(t *testing.T) {
	a, err := spec.Workload("code", spec.NGram)
	if err != nil {
		t.Fatal(err)
	}
	p := a.Rates[0]
	sum := p*(1-p)/(a.Spread*a.Spread) - 1
	for i, got := range a.Rates {
		// Of those with i accepted, the mean of the posterior distribution.
		if want := (p*sum + float64(i)) / (sum + float64(i)); math.Abs(got-want) > 0.02 {
			t.Errorf("draft %d: measured rate %.3f, the beta distribution's %.3f", i, got, want)
		}
	}
}

func TestWorkloads(t *testing.T) {
	length := func(name string, m spec.Method) float64 {
		a, err := spec.Workload(name, m)
		if err != nil {
			t.Fatal(err)
		}
		model(t, a, 8, 0)
		return a.Length(3)
	}
	for _, name := range spec.Methods() {
		m, err := spec.ParseMethod(name)
		if err != nil || m.String() != name {
			t.Fatalf("method %q: %v, %v", name, m, err)
		}
		for _, w := range spec.Workloads() {
			if n := length(w, m); !(n > 1 && n < 4) {
				t.Errorf("%s on %s: %.2f tokens a step with 3 drafts", name, w, n)
			}
		}
		if code, low := length("code", m), length("low-overlap", m); code < low+0.2 {
			t.Errorf("%s: %.2f tokens a step on code, %.2f on text of low overlap", name, code, low)
		}
	}
	for _, c := range []struct {
		name   string
		k      int
		length float64 // as published
	}{{"chat", 10, 3.64}, {"code", 3, 2.94}, {"summarise", 7, 2.63}, {"low-overlap", 5, 2.359}} {
		a, err := spec.Workload(c.name, spec.Eagle)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Length(c.k); math.Abs(got-c.length) > 0.025 {
			t.Errorf("%s with %d drafts: %.3f tokens a step, the source has %.3f", c.name, c.k, got, c.length)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name string
		a    spec.Acceptance
		k    int
		want string
	}{
		{"no rates", spec.Acceptance{Proposes: 1}, 1, "no acceptance rates"},
		{"too many", spec.Acceptance{Rates: make([]float64, 33), Proposes: 1}, 1, "33 acceptance rates"},
		{"above one", spec.Acceptance{Rates: []float64{0.5, 1.5}, Proposes: 1}, 1, "rate 2 is 1.5"},
		{"not a number", spec.Acceptance{Rates: []float64{math.NaN()}, Proposes: 1}, 1, "rate 1 is NaN"},
		{"no proposals", spec.Acceptance{Rates: []float64{0.5}}, 1, "share of 0 of the steps"},
		{"wider than possible", spec.Acceptance{Rates: []float64{0.5}, Spread: 0.5, Proposes: 1}, 1, "0 (all requests alike) to 0.45"},
		{"spread of nothing", spec.Acceptance{Rates: []float64{1}, Spread: 0.1, Proposes: 1}, 1, "to 0"},
		{"no drafts", spec.Acceptance{Rates: []float64{0.5}, Proposes: 1}, 0, "0 drafts a step"},
		{"many drafts", spec.Acceptance{Rates: []float64{0.5}, Proposes: 1}, 33, "need 1 to 32"},
	} {
		if _, err := spec.New(c.a, c.k, 0); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	if _, err := spec.Workload("poetry", spec.Eagle); err == nil || !strings.Contains(err.Error(), "chat, code, summarise, low-overlap") {
		t.Errorf("an unknown workload: %v", err)
	}
	if _, err := spec.ParseMethod("medusa"); err == nil || !strings.Contains(err.Error(), "ngram, eagle, mtp, draft_model") {
		t.Errorf("an unknown method: %v", err)
	}
}

func TestDrawsDoNotAllocate(t *testing.T) {
	m := model(t, spec.Acceptance{Rates: []float64{0.7}, Spread: 0.2, Proposes: 0.5}, 4, 1)
	n, sum := 0, 0
	if got := testing.AllocsPerRun(1000, func() {
		r := m.Request(uint64(n))
		sum += m.Accepted(r, n, 4) + m.Proposed(r, n)
		n++
	}); got != 0 {
		t.Errorf("%v allocations a draw, want 0", got)
	}
}

func BenchmarkAccepted(b *testing.B) {
	m := model(b, spec.Acceptance{Rates: []float64{0.7}, Spread: 0.2, Proposes: 1}, 4, 1)
	r := m.Request(1)
	b.ReportAllocs()
	sum := 0
	for n := 0; b.Loop(); n++ {
		sum += m.Accepted(r, n, 4)
	}
}

func ExampleModel() {
	a, err := spec.Workload("code", spec.Eagle)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := spec.New(a, 3, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := m.Request(1) // sequence 1
	for output := 1; output < 10; {
		n := m.Accepted(r, output, m.Drafts())
		fmt.Printf("behind token %d: %d of %d drafts accepted\n", output, n, m.Drafts())
		output += n + 1
	}
	fmt.Printf("%.2f tokens a step over many requests\n", a.Length(3))
	// Output:
	// behind token 1: 1 of 3 drafts accepted
	// behind token 3: 2 of 3 drafts accepted
	// behind token 6: 3 of 3 drafts accepted
	// 2.94 tokens a step over many requests
}
