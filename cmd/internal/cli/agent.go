package cli

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"goodput/datasets"
	"goodput/datasets/agent"
	"goodput/datasets/trace"
	"goodput/loadgen/plan"
	"goodput/loadgen/schedule"
)

// agentConfigName is the copy of --agent-config in a run directory.
const agentConfigName = "agent.yaml"

// sessionSet is a set of sessions with a name.
type sessionSet interface {
	datasets.SessionSet
	fmt.Stringer
}

// sessionLoad is a load of sessions.
type sessionLoad struct {
	sessionSet
	agent  *agent.Set // nil: they are recorded
	config []byte     // of --agent-config; nil: none
	// recorded are the sessions of a trace; nil: they are generated.
	recorded *trace.Sessions
	// past is where the sessions come from that are underway at first; nil: none are.
	past     *agent.Set
	underway *datasets.Population
}

// openLoad makes what the plan asks: a set of requests, or sessions.
func openLoad(p plan.Plan) (datasets.Set, *sessionLoad, plan.Plan, error) {
	switch {
	case p.Mixed():
		set, p, err := openMix(p)
		return set, nil, p, err
	case plan.IsAgent(p.DatasetName):
		sessions, p, err := openSessions(p)
		return nil, sessions, p, err
	case plan.IsTrace(p.DatasetName):
		return openTrace(p)
	}
	set, p, err := openDataset(p)
	return set, nil, p, err
}

// openSessions plans the sessions of --dataset-name agent, and resolves the plan's
// remaining defaults.
func openSessions(p plan.Plan) (*sessionLoad, plan.Plan, error) {
	p = p.WithDefaults(false, 0)
	c, err := agent.Preset(p.AgentPreset)
	if err != nil {
		return nil, p, fmt.Errorf("--agent-preset: %w", err)
	}
	var text []byte
	if p.AgentConfig != "" {
		text, err = readLimited(p.AgentConfig, plan.MaxFile)
		if err == nil {
			c, err = c.With(text)
		}
		if err != nil {
			return nil, p, fmt.Errorf("--agent-config: %w", err)
		}
	}
	n := p.NumSessions
	switch {
	case n > 0:
	case p.SessionsConcurrency > 0:
		n = mostConcurrent
	default:
		if n, err = arriving(&p, p.SessionsRate); err != nil {
			return nil, p, err
		}
	}
	set, err := agent.New(c, n, p.Seed)
	if err != nil {
		return nil, p, err
	}
	load := &sessionLoad{sessionSet: set, agent: set, config: text}
	if p.StationaryStart {
		if err = load.populate(c, &p); err != nil {
			return nil, p, err
		}
	}
	return load, p, load.scope(agent.Scope(p.AgentScope), p.Seed)
}

// mostConcurrent is the number of sessions of a closed loop that only --duration ends.
const mostConcurrent = 1 << 30

// sessionArrivals makes the arrivals of sessions; nil: those of a closed loop.
func sessionArrivals(p *plan.Plan, set *sessionLoad) (schedule.Source, error) {
	if p.SessionsConcurrency > 0 {
		return nil, nil
	}
	first := 0
	if set.underway != nil {
		first = set.underway.Underway()
	}
	c, err := generated(p, p.SessionsRate, set.Sessions()-first)
	if err != nil {
		return nil, err
	}
	if set.recorded != nil && set.recorded.Timed() {
		c.Len, c.Times = c.N, set.recorded.At
	}
	if err := checkSpan(c, "--sessions-rate"); err != nil {
		return nil, err
	}
	source, err := schedule.New(c)
	if err != nil || first == 0 {
		return source, err
	}
	return &behind{n: uint64(first), then: source}, nil
}

// previewed is the most sessions that a dry run plans.
const previewed = 12_000

// expected are the figures of a plan before it runs.
type expected struct {
	live                        bool // answers are quoted as they come
	sessions, requests, threads int
	in, hit, out                int64
	unique                      int64
	steps                       []int
	wall                        []time.Duration
}

// preview plans the first sessions that arrive, and takes each answer to come at the
// pace. Threads of a session are walked on one critical path.
func preview(set datasets.SessionSet, block int, live bool, pace datasets.Pace) expected {
	e := expected{live: live}
	course := datasets.NewCourse(pace)
	var s datasets.Session
	seen := map[uint64]bool{}
	for i := range min(set.Sessions(), previewed) {
		set.Session(i, &s)
		e.sessions++
		e.threads += len(s.Threads)
		e.requests += s.Steps()
		e.steps = append(e.steps, s.Steps())
		e.wall = append(e.wall, course.Run(&s))
		for k := range s.Threads {
			e.walk(&s, k, block, seen)
		}
	}
	slices.Sort(e.steps)
	slices.Sort(e.wall)
	return e
}

// walk adds thread k: a step finds what it keeps of the prompt before it, and a first
// step the content that sessions before it had.
func (e *expected) walk(s *datasets.Session, k, block int, seen map[uint64]bool) {
	t := &s.Threads[k]
	before := 0
	if t.Parent >= 0 && t.Spawn >= 0 {
		before = e.computed(&s.Threads[t.Parent].Steps[t.Spawn])
	}
	for n := range t.Steps {
		st := &t.Steps[n]
		hit := min(st.Keep, before)
		if st.Keep == 0 {
			hit = leading(st.Append, seen)
		}
		hit = min(hit, st.In-1) / block * block
		e.in += int64(st.In)
		e.out += int64(st.Out)
		e.hit += int64(hit)
		e.unique += int64(st.In-hit) + int64(st.Out)
		before = e.computed(st)
	}
}

// computed is how much of a step's context the next one can find: the prompt, and of
// a live answer all but the last token, which nothing computes before it is quoted.
func (e *expected) computed(st *datasets.Step) int {
	if e.live {
		return st.In + st.Out - 1
	}
	return st.In
}

// leading is the length of the leading spans that were seen, and notes all.
func leading(spans []datasets.Span, seen map[uint64]bool) int {
	n, unbroken := 0, true
	for _, s := range spans {
		if s.Private {
			break
		}
		if unbroken = unbroken && seen[s.Key]; unbroken {
			n += s.Tokens
		}
		// Only what comes first can be shared with other sessions, and it comes in
		// few kinds.
		seen[s.Key] = true
	}
	return n
}

// writePreview prints the expected figures.
func writePreview(w io.Writer, p *plan.Plan, set *sessionLoad) error {
	pace := paceOf(p)
	e := preview(set.arriving(), p.EngineBlockSize, p.LiveHistory(), pace)
	per := func(n int64) float64 { return float64(n) / float64(e.sessions) }
	var all time.Duration
	for _, d := range e.wall {
		all += d
	}
	mean := all.Seconds() / float64(e.sessions)
	fmt.Fprintf(w, "dataset    %s\n", set)
	fmt.Fprintf(w, "planned    %d sessions of %d threads and %d requests\n", e.sessions, e.threads, e.requests)
	fmt.Fprintf(w, "steps      mean %.1f, p50 %d, p90 %d, p99 %d a session\n", per(int64(e.requests)), at(e.steps, .5), at(e.steps, .9), at(e.steps, .99))
	fmt.Fprintf(w, "tokens     %.4g in and %.4g out a session, %.0f in and %.0f out a request\n",
		per(e.in), per(e.out), float64(e.in)/float64(e.requests), float64(e.out)/float64(e.requests))
	if set.recorded != nil && set.recorded.PrefixesUnknown() {
		fmt.Fprintln(w, "planned hit unknown: the trace does not say which prompts begin alike")
	} else {
		fmt.Fprintf(w, "planned hit %.1f %% of the prompt tokens\n", 100*float64(e.hit)/float64(e.in))
	}
	if err := writePoolHit(w, p, set); err != nil {
		return err
	}
	fmt.Fprintf(w, "duration   mean %.4g s, p50 %.4g s, p90 %.4g s a session, with answers of %v and %.1f tokens/s\n",
		mean, at(e.wall, .5).Seconds(), at(e.wall, .9).Seconds(), pace.Delay, pace.Rate)
	if r := float64(p.SessionsRate); r > 0 && !math.IsInf(r, 1) {
		fmt.Fprintf(w, "offered    %.4g requests/s, %.4g prompt tokens/s of which %.4g uncached, %.4g output tokens/s\n",
			r*per(int64(e.requests)), r*per(e.in), r*per(e.in-e.hit), r*per(e.out))
		fmt.Fprintf(w, "live       %.4g sessions, when as many end as arrive\n", r*mean)
	}
	if n := p.SessionsConcurrency; n > 0 {
		fmt.Fprintf(w, "closed-loop %d sessions are live at all times: at this pace %.4g sessions and %.4g requests end a second\n", n, float64(n)/mean, float64(n)/mean*per(int64(e.requests)))
	}
	if u := set.underway; u != nil {
		fmt.Fprintf(w, "underway   %s\n", populationText(u))
	}
	fmt.Fprintf(w, "KV cache   %.4g tokens of distinct content a session\n", per(e.unique))
	if set.agent == nil {
		return nil
	}
	for _, d := range set.agent.Realised(20_000) {
		fmt.Fprintf(w, "  %-26s mean %-8.4g %s\n", d.Name, d.Mean, d.Dist)
	}
	return nil
}

// at is the quantile q of sorted values.
func at[T any](sorted []T, q float64) T {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// describeSessions prints, before the run, what is about to be offered to whom.
func describeSessions(w io.Writer, s *session) {
	fmt.Fprintf(w, "dataset    %s\n", s.sessions)
	upTo := ""
	if s.plan.Duration > 0 && s.plan.NumSessions > 0 {
		upTo = "up to "
	}
	switch n := s.sessions.arriving().Sessions(); {
	case s.plan.SessionsConcurrency > 0 && s.plan.NumSessions == 0:
		fmt.Fprintf(w, "           sessions for %v (--plan tells what to expect of them)\n", s.plan.Duration)
	default:
		fmt.Fprintf(w, "           %s%d sessions (--plan tells what to expect of them)\n", upTo, n)
	}
	if u := s.sessions.underway; u != nil {
		fmt.Fprintf(w, "           %s\n", populationText(u))
	}
	for _, note := range sessionNotes(s.sessions.recorded, s.plan.SessionsDrain) {
		fmt.Fprintf(w, "           %s\n", note)
	}
	fmt.Fprintf(w, "target     %s\n", s.targetText)
	switch r := s.plan.SessionsRate; {
	case r.Inf():
		fmt.Fprintln(w, "arrivals   all sessions at once")
	case s.plan.SessionsConcurrency > 0:
		fmt.Fprintf(w, "arrivals   closed-loop: %d sessions are live at all times, and one begins where another ends\n", s.plan.SessionsConcurrency)
	case r == 0:
		fmt.Fprintf(w, "arrivals   %s, as recorded; later steps as those before them end\n", s.plan.Arrival)
	default:
		fmt.Fprintf(w, "arrivals   %s, %s sessions/s; later steps as those before them end\n", s.plan.Arrival, r)
	}
	if n := s.plan.MaxLiveSessions; n > 0 {
		fmt.Fprintf(w, "           at most %d are live: %s\n", n, map[string]string{"queue": "others wait", "drop": "others are dropped"}[s.plan.SessionsOverflow])
	}
}
