package fit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/profiles"
)

// sums is a small step-time form of its own: launches, weights, context, products and
// the host. It is linear in the context.
type sums struct {
	gpu     *profiles.GPU
	model   *profiles.Model
	tp      int
	overlap bool
}

func (s sums) Step(b *Batch) int64 {
	g, tp := s.gpu, float64(s.tp)
	t := float64(s.model.Layers)*g.LayerLaunch.Value + s.model.WeightBytes()/tp/(g.WeightBandwidth.Value*g.HBM.Value)
	t += float64(s.model.KVBytesPerToken(s.tp)) * float64(b.DecodeCtx) / (g.KVBandwidth.Value * g.HBM.Value)
	t += 2 * float64(s.model.ActiveWeights()) / tp * float64(b.Tokens) / (g.MatmulRate.Value * g.Peak.Value)
	if host := g.Step.Value + g.Sequence.Value*float64(b.Seqs); !s.overlap {
		t += host
	}
	return int64(t * 1e12)
}

func build(gpu *profiles.GPU, model *profiles.Model, tp int, overlap bool) (Steps, error) {
	if tp == 7 {
		return nil, errors.New("no seven")
	}
	return sums{gpu, model, tp, overlap}, nil
}

func h100(t testing.TB) profiles.GPU {
	t.Helper()
	g, err := profiles.LoadGPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// measure makes points that a GPU with the given coefficients would have given, from
// two sources, off by a factor that depends on the point alone.
func measure(t testing.TB, truth *profiles.GPU, noise float64) []Point {
	t.Helper()
	m, err := profiles.LoadModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	var out []Point
	for i, batch := range []float64{1, 2, 4, 8, 16, 32, 64, 128} {
		for k, context := range []float64{128, 1024, 8192} {
			for _, kind := range []Kind{DecodeStep, PrefillStep, ClosedLoop} {
				p := Point{
					Kind: kind, Source: []string{"one", "two"}[i%2], Family: "vllm", Version: "vllm 1", Overlap: k == 1,
					Model: m, TP: 1 + k%2, Batch: batch, Input: context, Output: 256, Budget: 8192,
					Config: fmt.Sprint(kind, batch, context),
				}
				s, err := build(truth, &p.Model, p.TP, p.Overlap)
				if err != nil {
					t.Fatal(err)
				}
				p.Seconds = p.Predict(s, 0) * (1 + noise*math.Sin(float64(7*i+3*k+int(kind))))
				out = append(out, p)
			}
		}
	}
	return out
}

func request(t testing.TB, points []Point) Request {
	return Request{Base: h100(t), Name: "mine", Title: "Mine", Date: "2026-11", Points: points, Build: build, Doubt: 3}
}

func TestFitFindsWhatWasMeasured(t *testing.T) {
	truth := h100(t)
	truth.WeightBandwidth.Value, truth.KVBandwidth.Value, truth.MatmulRate.Value = 0.6, 0.5, 0.5
	truth.LayerLaunch.Value, truth.Step.Value = 50e-6, 3e-3
	r, err := Fit(request(t, measure(t, &truth, 0)))
	if err != nil {
		t.Fatal(err)
	}
	if !(r.HeldOut.Median < 0.02 && r.HeldOut.P90 < 0.06) {
		t.Errorf("held-out errors %+v", r.HeldOut)
	}
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"KV", r.GPU.KVBandwidth.Value, 0.5},
		{"matmul", r.GPU.MatmulRate.Value, 0.5},
	} {
		if math.Abs(c.got/c.want-1) > 0.1 {
			t.Errorf("%s %v, want %v", c.name, c.got, c.want)
		}
	}
	if len(r.Sources) != 2 || len(r.Kinds) != 3 {
		t.Errorf("sources %v, kinds %v", r.Sources, r.Kinds)
	}
}

// A tenth of wild points does not move the others.
func TestFitIsRobust(t *testing.T) {
	truth := h100(t)
	truth.KVBandwidth.Value = 0.5
	points := measure(t, &truth, 0.02)
	for i := range points {
		if i%10 == 3 {
			points[i].Seconds *= 30
		}
	}
	r, err := Fit(request(t, points))
	if err != nil {
		t.Fatal(err)
	}
	if r.HeldOut.Median > 0.06 {
		t.Errorf("held-out errors %+v: want small ones but for the wild points", r.HeldOut)
	}
}

func TestFitIsDeterministic(t *testing.T) {
	truth := h100(t)
	truth.LayerLaunch.Value = 40e-6
	text := func() string {
		r, err := Fit(request(t, measure(t, &truth, 0.05)))
		if err != nil {
			t.Fatal(err)
		}
		y, err := r.YAML()
		if err != nil {
			t.Fatal(err)
		}
		return string(y)
	}
	one := text()
	if diff := cmp.Diff(one, text()); diff != "" {
		t.Errorf("(-one +two):\n%s", diff)
	}
	for _, want := range []string{"name: mine", "status: fitted", "error_p90: ", "points: ", "engine_version: vllm 1", "one; two"} {
		if !strings.Contains(one, want) {
			t.Errorf("the profile lacks %q:\n%s", want, one)
		}
	}
	if strings.Contains(one, "expert_share:\n  value: 0.889\n  source: fit of the step-time form (fakeengine/steptime) to one") {
		t.Error("experts were fitted to dense models")
	}
}

func TestFitRefuses(t *testing.T) {
	truth := h100(t)
	all := measure(t, &truth, 0.05)
	same := make([]Point, 40)
	for i := range same {
		same[i] = all[0]
	}
	constant := slices.Clone(all)
	for i := range constant {
		constant[i].Seconds = 1
	}
	negative := slices.Clone(all)
	negative[5].Seconds = -1
	seven := slices.Clone(all)
	seven[5].TP = 7
	for _, c := range []struct {
		name   string
		points []Point
		few    bool
		want   string
	}{
		{"none", nil, true, "0 points: need 8"},
		{"too few", all[:7], true, "7 points: need 8"},
		{"one configuration", same, true, "40 points of 1 configurations"},
		{"one time", constant, true, "measured the same time"},
		{"negative time", negative, false, "is -1 s"},
		{"no such engine", seven, false, "no seven"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Fit(request(t, c.points))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			if _, few := errors.AsType[*TooFew](err); few != c.few {
				t.Errorf("%T", err)
			}
		})
	}
}

// bounded steps could never be faster than 1 s.
type bounded struct{ sums }

func (bounded) Floor(*Batch) int64 { return 1e12 }

func TestFitLeavesOutTheImpossible(t *testing.T) {
	truth := h100(t)
	q := request(t, measure(t, &truth, 0.05))
	steps := 0
	for i := range q.Points {
		if q.Points[i].Kind != ClosedLoop {
			steps++
			q.Points[i].Seconds = min(q.Points[i].Seconds, 0.9)
		}
	}
	q.Build = func(gpu *profiles.GPU, model *profiles.Model, tp int, overlap bool) (Steps, error) {
		return bounded{sums{gpu, model, tp, overlap}}, nil
	}
	r, err := Fit(q)
	if err != nil {
		t.Fatal(err)
	}
	if r.Impossible != steps || r.HeldOut.Points != len(q.Points)-steps {
		t.Errorf("%d left out and %d fitted, want %d and %d", r.Impossible, r.HeldOut.Points, steps, len(q.Points)-steps)
	}
}

// Whatever the optimiser tries, coefficients stay between their bounds, and 0 is the
// prior.
func TestFactorsStayInBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := rapid.SampledFrom(coefficients()).Draw(rt, "coefficient")
		prior := c.lo * math.Pow(c.hi/c.lo, rapid.Float64Range(0.01, 0.99).Draw(rt, "prior"))
		move := rapid.Float64Range(-1e6, 1e6).Draw(rt, "move")
		if v := prior * c.factor(prior, move); !(v >= c.lo*0.999999 && v <= c.hi*1.000001) {
			rt.Errorf("%s: %v from a prior of %v, want %v to %v", c.Name, v, prior, c.lo, c.hi)
		}
		if f := c.factor(prior, 0); math.Abs(f-1) > 1e-9 {
			rt.Errorf("%s: factor %v at rest", c.Name, f)
		}
	})
}

func TestKernelsRefusesOthers(t *testing.T) {
	if _, err := Kernels(h100(t), "rtx4090"); err == nil || !strings.Contains(err.Error(), "rtx4090") {
		t.Errorf("error %v", err)
	}
}
