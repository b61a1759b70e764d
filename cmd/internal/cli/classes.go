package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/rng"
	"goodput/loadgen/schedule"
	"goodput/report/query"
	"goodput/report/render"
)

// mix is the set of a load of classes: those of all of them, one behind the other.
type mix struct {
	*datasets.Joined
	parts []part
}

// part is one class of a load.
type part struct {
	name string
	plan plan.Plan // its own
	set  datasets.Set
	slo  observe.SLO
	// sessions are what the class is of; nil: single requests. Its set then numbers them.
	sessions *sessionLoad
}

// mixOf is the set as that of a load of classes; nil: it is of one whose requests are
// all alike.
func mixOf(set datasets.Set) *mix {
	m, _ := set.(*mix)
	return m
}

// openMix makes what the classes of the plan ask. Each has a seed of its own, made of its
// name, so that no class changes what the others do.
func openMix(p plan.Plan) (datasets.Set, plan.Plan, error) {
	p = p.WithDefaults(false, 0)
	classes, err := p.Classes()
	if err != nil {
		return nil, p, fmt.Errorf("--class: %w", err)
	}
	m := &mix{}
	for i := range classes {
		one, err := openPart(&classes[i], p.Seed)
		if err != nil {
			return nil, p, fmt.Errorf("class %s: %w", classes[i].Name, err)
		}
		m.parts = append(m.parts, one)
	}
	m.Joined, err = m.join(func(x *part) datasets.Set { return x.set })
	return m, p, err
}

func openPart(c *plan.Class, seed uint64) (part, error) {
	out := part{name: c.Name}
	own := rng.New(seed, "class "+c.Name, 0)
	c.Plan.Seed = own.Uint64()
	set, sessions, p, err := openLoad(c.Plan)
	if err != nil {
		return out, err
	}
	if sessions != nil {
		set = datasets.NewOpenings(sessions, sessions)
	}
	out.set, out.plan, out.sessions = set, p, sessions
	if out.slo, err = observe.ParseSLO(sloItems(&p)); err != nil {
		return out, fmt.Errorf("--goodput: %w", err)
	}
	return out, checkSLO(&p, out.slo, sessions != nil)
}

// join joins a set of each class.
func (m *mix) join(of func(*part) datasets.Set) (*datasets.Joined, error) {
	sets := make([]datasets.Set, len(m.parts))
	for i := range m.parts {
		sets[i] = of(&m.parts[i])
	}
	return datasets.Join(sets...)
}

// String names the classes and what they ask.
func (m *mix) String() string {
	out := make([]string, len(m.parts))
	for i := range m.parts {
		out[i] = m.parts[i].name + ": " + m.parts[i].set.String()
	}
	return strings.Join(out, "; ")
}

// merged superposes one source of each class. first is where the items of each begin.
func (m *mix) merged(first func(k int) int, of func(*part) (schedule.Source, error)) (schedule.Source, error) {
	sources, offsets := make([]schedule.Source, len(m.parts)), make([]uint64, len(m.parts))
	for i := range m.parts {
		var err error
		if sources[i], err = of(&m.parts[i]); err != nil {
			return nil, fmt.Errorf("class %s: %w", m.parts[i].name, err)
		}
		offsets[i] = uint64(first(i))
	}
	return schedule.Merge(sources, offsets), nil
}

// source makes the arrivals of all classes.
func (m *mix) source() (schedule.Source, error) {
	return m.merged(m.First, (*part).source)
}

func (x *part) source() (schedule.Source, error) {
	if x.sessions != nil {
		return sessionArrivals(&x.plan, x.sessions)
	}
	return newSource(&x.plan, x.set)
}

// warmup puts before the arrivals of source what the plan asks for, of each class.
func (m *mix) warmup(source schedule.Source) (preceded, error) {
	out := preceded{set: m, source: source, first: m.First}
	warm := make([]warming, len(m.parts))
	any := false
	for i := range m.parts {
		x := &m.parts[i]
		warm[i].set = x.set
		if x.sessions != nil { // which none precede
			continue
		}
		w, err := newWarming(&x.plan, x.set)
		if err != nil {
			return out, fmt.Errorf("class %s: %w", x.name, err)
		}
		warm[i] = w
		any = any || w.source != nil
		out.lasts = max(out.lasts, w.lasts)
	}
	if !any {
		return out, nil
	}
	k := 0
	all, err := m.join(func(*part) datasets.Set { k++; return warm[k-1].set })
	if err != nil {
		return out, err
	}
	k = 0
	first := func(i int) int { return all.First(i) + m.parts[i].set.Len() }
	before, err := m.merged(first, func(*part) (schedule.Source, error) { k++; return warm[k-1].arrivals(), nil })
	if err != nil {
		return out, err
	}
	if source, err = m.merged(all.First, (*part).source); err != nil {
		return out, err
	}
	out.set, out.first, out.source = all, all.First, schedule.Warm(before, 0, source)
	return out, nil
}

// classes are those of the dispatcher, whose items begin where first says.
func (m *mix) classes(first func(k int) int) ([]dispatch.Class, error) {
	out := make([]dispatch.Class, len(m.parts))
	for i := range m.parts {
		x := &m.parts[i]
		assign, err := newAssignment(&x.plan)
		if err != nil {
			return nil, fmt.Errorf("class %s: %w", x.name, err)
		}
		out[i] = dispatch.Class{
			Name: x.name, First: uint64(first(i)), SLO: x.slo, IgnoreEOS: x.plan.IgnoreEOS, Priority: x.plan.Priority, Assign: assign,
		}
		if x.sessions != nil {
			out[i].Sessions = x.sessions
			out[i].MaxInFlight, out[i].Live, out[i].ContinueOnError = sessionTerms(&x.plan)
		}
	}
	return out, nil
}

// scaled makes endless arrivals of all classes at a rate that they share as they do the
// sum of their own. Items are taken again when all of a class were.
func (m *mix) scaled(rate float64) (schedule.Source, error) {
	return m.merged(m.First, func(x *part) (schedule.Source, error) {
		s := trialSet{x.plan, x.set}
		source, err := s.source(rate * m.share(x))
		if err != nil {
			return nil, err
		}
		return &around{Source: source, n: uint64(x.set.Len()), first: math.MaxUint64, last: math.MaxUint64, from: clock.Never, to: clock.Never}, nil
	})
}

// share is the class's part of the arrivals.
func (m *mix) share(x *part) float64 {
	sum := 0.0
	for i := range m.parts {
		sum += float64(m.parts[i].plan.RequestRate)
	}
	return float64(x.plan.RequestRate) / sum
}

// checkScalable refuses classes whose rates can't be changed together.
func (m *mix) checkScalable() error {
	for i := range m.parts {
		p := &m.parts[i].plan
		if m.parts[i].sessions != nil {
			return fmt.Errorf("class %s: a sweep is of single requests, and it is of sessions: leave it out", m.parts[i].name)
		}
		if p.RequestRate == 0 || p.RequestRate.Inf() {
			return fmt.Errorf("class %s: a sweep changes the rates of all classes by one factor, and this one has none: give it a request-rate", m.parts[i].name)
		}
	}
	return nil
}

// dispersion is that of the sum of independent arrivals: their variances add up.
func (m *mix) dispersion(rate float64) (v float64, known bool) {
	for i := range m.parts {
		x := &m.parts[i]
		share := m.share(x)
		one, ok := dispersion(&x.plan, rate*share)
		if !ok {
			return 0, false
		}
		v += share * one
	}
	return v, true
}

// items are what the first n arrivals ask for.
func (m *mix) items(n int) ([]uint64, error) {
	source, err := m.scaled(1)
	if err != nil {
		return nil, err
	}
	out := make([]uint64, 0, n)
	for range n {
		a, ok := source.Next()
		if !ok {
			break
		}
		out = append(out, a.Item)
	}
	return out, nil
}

// describe prints what the classes ask, and when.
func (m *mix) describe(w io.Writer, s *session) {
	for i := range m.parts {
		x := &m.parts[i]
		fmt.Fprintf(w, "class      %s: %s\n", x.name, x.set)
		if x.sessions != nil {
			x.describeSessions(w, s.plan.SessionsDrain)
			continue
		}
		d := datasets.Describe(x.set, x.set.Len())
		most := ""
		if x.plan.Duration > 0 && (x.plan.NumPrompts > 0 || x.set.Timed()) {
			most = "up to "
		}
		fmt.Fprintf(w, "           %s%d requests, mean %.1f tokens in, %.1f out", most, d.Items, d.MeanIn(), d.MeanOut())
		part := &session{plan: x.plan, set: x.set}
		expectHits(w, part, d.Items)
		for _, note := range traceNotes(x.set) {
			fmt.Fprintf(w, "           %s\n", note)
		}
		fmt.Fprintf(w, "           %s\n", x.terms())
	}
	describeWarmup(w, &s.plan)
	fmt.Fprintf(w, "target     %s\n", s.targetText)
}

// describeSessions prints what a class of sessions asks, and when.
func (x *part) describeSessions(w io.Writer, drain time.Duration) {
	fmt.Fprintf(w, "           %d sessions\n", x.sessions.Sessions())
	for _, note := range sessionNotes(x.sessions.recorded, drain) {
		fmt.Fprintf(w, "           %s\n", note)
	}
	fmt.Fprintf(w, "           %s\n", x.terms())
}

// terms are when the requests of a class come, and what they are promised.
func (x *part) terms() string {
	out := x.plan.ArrivalText()
	if slo := x.slo.String(); slo != "" {
		out += ", SLO " + slo
	}
	if x.plan.Priority != 0 {
		out += fmt.Sprintf(", priority %d", x.plan.Priority)
	}
	return out
}

// tightest is the least bound of the time to the first token that anybody was promised;
// 0: nobody was.
func tightest(p *plan.Plan, slo observe.SLO) time.Duration {
	list, _ := p.Classes() // checked with the plan
	out := slo.TTFT
	if len(list) > 0 {
		out = 0
	}
	for i := range list {
		one, _ := observe.ParseSLO(sloItems(&list[i].Plan))
		if one.TTFT > 0 && (out == 0 || one.TTFT < out) {
			out = one.TTFT
		}
	}
	return out
}

// promiseOfAll names what the requests of all classes are promised; "": those of one are
// promised nothing.
func promiseOfAll(p *plan.Plan) string {
	list, _ := p.Classes() // checked with the plan
	for i := range list {
		if len(list[i].Plan.Goodput) == 0 {
			return ""
		}
	}
	return "what each class is promised"
}

// noteFree writes down which classes are promised nothing where others are.
func noteFree(p *plan.Plan, load map[string]string) {
	list, _ := p.Classes() // checked with the plan
	var requests, all []string
	for i := range list {
		slo, _ := observe.ParseSLO(sloItems(&list[i].Plan))
		if slo.OfRequests() == (observe.SLO{}) {
			requests = append(requests, list[i].Name)
		}
		if slo == (observe.SLO{}) {
			all = append(all, list[i].Name)
		}
	}
	for key, free := range map[string][]string{record.LoadFree: requests, record.LoadFreeSessions: all} {
		if n := len(free); n > 0 && n < len(list) {
			load[key] = strings.Join(free, ",")
		}
	}
}

// loadClasses reads the figures of each class of a run.
func loadClasses(r *render.Report, p *plan.Plan) error {
	list, err := p.Classes()
	if err != nil {
		return fmt.Errorf("the run's plan: --class: %w", err)
	}
	for i := range list {
		c := &list[i]
		slo, err := observe.ParseSLO(sloItems(&c.Plan))
		if err != nil {
			return fmt.Errorf("the run's plan: class %s: %w", c.Name, err)
		}
		out := render.Class{Name: c.Name, SLO: slo.String(), Priority: c.Plan.Priority}
		f, err := query.Load(r.Dir, query.Scope{Label: "class", Value: c.Name})
		if err != nil && !errors.Is(err, query.ErrEmpty) {
			return err
		}
		out.Figures = f
		r.Classes = append(r.Classes, out)
	}
	return loadProbes(r, p)
}
