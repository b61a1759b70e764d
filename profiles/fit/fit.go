package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"goodput/profiles"
)

// Request is what to fit.
type Request struct {
	// Base holds the datasheet figures and what the points can't tell, and is the
	// prior of what they can.
	Base profiles.GPU
	// Name and Title are those of the new profile; Date is when it is made, YYYY-MM.
	Name, Title, Date string
	Points            []Point
	Build             Builder
	// Doubt multiplies the logarithms of the priors' spreads; 0 is 1. More: the base
	// is known less well.
	Doubt float64
	// Command is how the profile is made, for the head of the file; empty: not said.
	Command string
	// CoefficientsOnly leaves out the errors, which take ten times as long.
	CoefficientsOnly bool
}

// Result is a fitted profile and how far off it is.
type Result struct {
	GPU profiles.GPU
	// Command is that of the request.
	Command string
	// Fitted are the coefficients that were moved.
	Fitted []Coefficient
	// GPU has the errors and sources of the base if CoefficientsOnly was asked for.
	//
	// InSample is over the points that it was fitted to, HeldOut over the same points,
	// each predicted by a fit without its configuration.
	InSample, HeldOut Errors
	// Impossible is how many points were left out because the hardware could not have
	// been so fast, at its peak rates: their unit or configuration is wrong.
	Impossible int
	// Kinds and Families split HeldOut up, Sources is what a fit without the source
	// predicts of it; only where there are several.
	Kinds, Families, Sources []Group
}

// Group is the error of some of the points.
type Group struct {
	Name string
	Errors
}

// TooFew is why points can't carry a fit.
type TooFew struct{ Why string }

func (e *TooFew) Error() string { return e.Why }

const (
	leastPoints  = 8
	leastConfigs = 5
)

// check refuses points on which a fit would say nothing.
func check(points []Point) error {
	if len(points) < leastPoints {
		return &TooFew{fmt.Sprintf("%d points: need %d or more; measure more batch sizes, prompt lengths or rates", len(points), leastPoints)}
	}
	configs, values := map[string]bool{}, map[float64]bool{}
	batches, lengths := map[float64]bool{}, map[float64]bool{}
	for i := range points {
		p := &points[i]
		if !(p.Seconds > 0) || math.IsInf(p.Seconds, 0) {
			return fmt.Errorf("point %d (%s of %s) is %v s: need more than 0", i+1, p.Kind, p.Config, p.Seconds)
		}
		configs[p.Config], values[p.Seconds] = true, true
		batches[p.Batch], lengths[p.Input] = true, true
	}
	switch {
	case len(configs) < leastConfigs:
		return &TooFew{fmt.Sprintf("%d points of %d configurations: need %d different ones or more; measure other batch sizes, prompt lengths or rates", len(points), len(configs), leastConfigs)}
	case len(values) == 1:
		return &TooFew{fmt.Sprintf("all %d points measured the same time: a fit would say nothing", len(points))}
	case len(batches) == 1 && len(lengths) == 1:
		return &TooFew{"all points have the same batch and length: vary one of them"}
	}
	return nil
}

// Fit chooses the coefficients. Points that can't carry a fit are a *TooFew. It is
// deterministic.
func Fit(q Request) (Result, error) {
	var r Result
	var err error
	if q.Points, r.Impossible, err = possible(&q); err != nil {
		return Result{}, err
	}
	if err := check(q.Points); err != nil {
		return Result{}, err
	}
	vary := free(&q.Base, q.Points)
	for i := range vary {
		if q.Doubt > 0 {
			vary[i].spread = math.Pow(vary[i].spread, q.Doubt)
		}
	}
	if len(vary) == 0 {
		return Result{}, &TooFew{"the points depend on no coefficient"}
	}
	r.Fitted, r.Command = vary, q.Command
	if r.GPU, err = solve(&q.Base, vary, q.Points, q.Build); err != nil {
		return Result{}, err
	}
	for i := range vary {
		for _, c := range vary[i].of(&r.GPU) {
			c.Value = significant(c.Value)
		}
	}
	in, err := logErrors(&r.GPU, q.Points, q.Build)
	if err != nil {
		return Result{}, err
	}
	if q.CoefficientsOnly {
		r.InSample = sumUp(in)
		return r, nil
	}
	out, err := heldOut(&q.Base, vary, q.Points, q.Build)
	if err != nil {
		return Result{}, err
	}
	r.InSample, r.HeldOut = sumUp(in), sumUp(out)
	r.Kinds = groups(q.Points, out, func(p *Point) string { return p.Kind.String() })
	r.Families = groups(q.Points, out, func(p *Point) string { return p.Family })
	if r.Sources, err = leaveEachOut(&q, vary); err != nil {
		return Result{}, err
	}
	describe(&r, &q, out)
	return r, nil
}

// possible leaves out single steps that were measured to be faster than the hardware.
func possible(q *Request) (points []Point, out int, err error) {
	for i := range q.Points {
		p := &q.Points[i]
		if p.Kind == DecodeStep || p.Kind == PrefillStep {
			s, err := q.Build(&q.Base, &p.Model, p.TP, p.Overlap)
			if err != nil {
				return nil, 0, fmt.Errorf("%s on %d GPUs: %w", p.Model.Name, p.TP, err)
			}
			if limit, ok := s.(Bounded); ok && p.Seconds < p.Predict(floors{limit}, 0) {
				out++
				continue
			}
		}
		points = append(points, *p)
	}
	return points, out, nil
}

// floors takes the least time of a step for its time.
type floors struct{ of Bounded }

// Step implements Steps.
func (f floors) Step(b *Batch) int64 { return f.of.Floor(b) }

// leaveEachOut leaves out each source, as long as the others can carry a fit.
func leaveEachOut(q *Request, vary []Coefficient) ([]Group, error) {
	var out []Group
	for _, source := range distinct(q.Points, func(p *Point) string { return p.Source }) {
		rest := slices.DeleteFunc(slices.Clone(q.Points), func(p Point) bool { return p.Source == source })
		if check(rest) != nil {
			continue
		}
		e, err := withoutSource(&q.Base, vary, q.Points, q.Build, source)
		if err != nil {
			return nil, err
		}
		out = append(out, Group{source, sumUp(e)})
	}
	return out, nil
}

func groups(points []Point, logs []float64, name func(*Point) string) []Group {
	var out []Group
	for _, n := range distinct(points, name) {
		var e []float64
		for i := range points {
			if name(&points[i]) == n {
				e = append(e, logs[i])
			}
		}
		out = append(out, Group{n, sumUp(e)})
	}
	return out
}

// distinct values, sorted.
func distinct(points []Point, of func(*Point) string) []string {
	var out []string
	for i := range points {
		if v := of(&points[i]); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// significant keeps four digits: more would claim what no measurement says, and
// differ between machines.
func significant(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// describe writes into the profile where its figures come from.
func describe(r *Result, q *Request, logs []float64) {
	g := &r.GPU
	g.Name, g.Title = q.Name, q.Title
	source := "fit of the step-time form (fakeengine/steptime) to " + strings.Join(distinct(q.Points, func(p *Point) string { return p.Source }), "; ")
	versions := strings.Join(distinct(q.Points, func(p *Point) string { return p.Version }), ", ")
	median, p90 := significant(r.HeldOut.Median), significant(r.HeldOut.P90)
	moved := map[*profiles.Coefficient]bool{}
	for _, c := range r.Fitted {
		n := 0
		for i := range q.Points {
			if c.needs(&q.Points[i]) {
				n++
			}
		}
		for _, v := range c.of(g) {
			moved[v] = true
			*v = profiles.Coefficient{
				Value: v.Value, Unit: v.Unit, Source: source, Date: q.Date, EngineVersion: versions, Points: n,
				Error: &median, ErrorP90: &p90, Status: profiles.Fitted, Note: identified(&c, &q.Base, g),
			}
		}
	}
	for _, c := range coefficients() {
		if strings.HasPrefix(c.Name, "fp8.") && g.FP8 == nil {
			continue
		}
		for _, v := range c.of(g) {
			// Points, source and errors of the base were of another set.
			if q.Base.Name != q.Name && !moved[v] && v.Status == profiles.Fitted {
				*v = profiles.Coefficient{
					Value: v.Value, Unit: v.Unit, Source: v.Source, Date: v.Date, EngineVersion: v.EngineVersion,
					Status: profiles.Assumed, Note: "taken over: the points do not depend on it",
				}
			}
		}
	}
	steps := errorsOf(q.Points, logs, func(p *Point) bool { return p.Kind != FirstToken })
	first := errorsOf(q.Points, logs, func(p *Point) bool { return p.Kind == FirstToken })
	g.ITLError = q.expected(g.ITLError, steps, versions, source)
	g.TTFTError = q.expected(g.TTFTError, first, versions, source)
	g.Covered = coverage(q.Points)
}

// identified says how far the points moved a coefficient from its prior.
func identified(c *Coefficient, base, g *profiles.GPU) string {
	if math.Abs(c.surprise(c.Value(g)/c.Value(base))) < 0.05 {
		return "did not move from its prior: the points hardly depend on it"
	}
	return fmt.Sprintf("prior %.4g", c.Value(base))
}

func errorsOf(points []Point, logs []float64, want func(*Point) bool) Errors {
	var e []float64
	for i := range points {
		if want(&points[i]) {
			e = append(e, logs[i])
		}
	}
	return sumUp(e)
}

// guess is the error to expect where nobody knows.
const guess = 0.25

// expected is the error to expect. Too few points tell nothing: then it stays as it
// is, and becomes a guess in a profile of another name.
func (q *Request) expected(old profiles.Coefficient, e Errors, versions, source string) profiles.Coefficient {
	switch {
	case e.Points < leastPoints && q.Name == q.Base.Name:
		return old
	case e.Points < leastPoints:
		return profiles.Coefficient{Value: max(old.Value, guess), Source: "a guess", Date: q.Date, Status: profiles.Assumed, Note: "nothing was compared with it"}
	}
	median, p90 := significant(e.Median), significant(e.P90)
	return profiles.Coefficient{
		Value: median, Source: "each configuration predicted by a fit without it; " + source, Date: q.Date, EngineVersion: versions,
		Points: e.Points, Error: &median, ErrorP90: &p90, Status: profiles.Measured,
		Note: fmt.Sprintf("median absolute relative error; 90th percentile %.2g", p90),
	}
}

// coverage is what enough of the points had.
func coverage(points []Point) profiles.Coverage {
	count := func(has func(*Point) bool) int {
		n := 0
		for i := range points {
			if has(&points[i]) {
				n++
			}
		}
		return n
	}
	c := profiles.Coverage{
		Families: distinct(points, func(p *Point) string { return p.Family }),
		TP:       []int{}, Quantization: []profiles.Quantization{},
		Experts: count(experts) >= enough,
	}
	for i := range points {
		tp, q := points[i].TP, points[i].Model.Quantization
		if !slices.Contains(c.TP, tp) && count(func(p *Point) bool { return p.TP == tp }) >= enough {
			c.TP = append(c.TP, tp)
		}
		if !slices.Contains(c.Quantization, q) && count(func(p *Point) bool { return p.Model.Quantization == q }) >= enough {
			c.Quantization = append(c.Quantization, q)
		}
		if points[i].Kind != PrefillStep && points[i].Kind != Burst {
			c.MaxBatch = max(c.MaxBatch, int(points[i].Batch))
		}
	}
	slices.Sort(c.TP)
	slices.Sort(c.Quantization)
	return c
}
