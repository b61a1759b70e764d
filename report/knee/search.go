package knee

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"goodput/report/stats"
)

// Stop says what ended a trial.
type Stop string

// The ends of a trial.
const (
	Complete   Stop = "complete"   // all requests of the cohort ended
	Curtailed  Stop = "curtailed"  // the verdict could no longer change
	Unfinished Stop = "unfinished" // the drain was over; what had not ended counts as bad
)

// Trial is what one load of N requests at one rate showed.
type Trial struct {
	Seed uint64
	Rate float64 // requests per second, as scheduled
	// N is the size of the cohort, and Warmup the number of requests before it, which
	// count for nothing. Good met all of the objective and Bad did not; of a trial that
	// was stopped early not all N are known.
	N, Warmup, Good, Bad int
	// Clauses counts for each clause of the objective by itself.
	Clauses []Tally
	// Open: it was held to no objective. Good are then the successes and Bad the rest,
	// and there is no verdict, no attainment and no goodput.
	Open bool
	Pass bool
	Stop Stop
	// Drift: the number in flight grew as it does above capacity (see type Drift).
	Drift bool
	// Invalid says why the trial says nothing of the target, such as that the
	// generator was late; empty: it does.
	Invalid string
	// Verify: the trial was not part of the search but checks it.
	Verify  bool
	Figures Figures
}

// Figures are what the requests of a cohort saw, in ns, as far as they had ended.
// Where a trial was stopped early they are of a part, and of the quicker one.
type Figures struct {
	TTFT, TPOT, E2E stats.Summary
	// Span is the scheduled time from the cohort's first arrival to its last, in
	// seconds, and Delivered the successes per second, of the cohort and around it, from
	// when a tenth of the cohort's had ended until nine tenths had. 0: not all of the
	// cohort is known.
	Span, Delivered float64
	MaxInFlight     int
	// LagP99 is how late the generator was; record.Null: not known.
	LagP99 int64
	// HitRate is the share of the cohort's prompt tokens found in a prefix cache; NaN:
	// not known.
	HitRate float64
}

// Attainment is the share of the cohort that met all of the objective, as far as it is
// certain: between lo and hi. Both are NaN without an objective.
func (t *Trial) Attainment() (lo, hi float64) {
	if t.N == 0 || t.Open {
		return math.NaN(), math.NaN()
	}
	return float64(t.Good) / float64(t.N), 1 - float64(t.Bad)/float64(t.N)
}

// Whole reports whether the end of every request of the cohort is known.
func (t *Trial) Whole() bool { return t.Good+t.Bad == t.N }

// Goodput is the rate of requests that met all of the objective; NaN unless there is
// one and the trial is whole.
func (t *Trial) Goodput() float64 {
	if !t.Whole() || t.N == 0 || t.Open {
		return math.NaN()
	}
	return t.Rate * float64(t.Good) / float64(t.N)
}

// Zero is what requests see that are alone.
type Zero struct {
	// Requests is their number, Good how many met all of the objective. Feasible: they
	// meet it as a whole.
	Requests, Good int
	Feasible       bool
	// Tightest is the tightest objective that they would meet, for people.
	Tightest string
	TTFT     stats.Summary // ns
	TPOT     stats.Summary
	E2E      stats.Summary
}

// Prober runs trials. The same seed has the same arrivals at all rates, but for the
// scale of time, and the same requests. Trial is called by several goroutines at
// once if Config.Parallel says so.
type Prober interface {
	Zero(ctx context.Context) (Zero, error)
	Trial(ctx context.Context, seed uint64, rate float64) (Trial, error)
}

// Config says how to search.
type Config struct {
	// Seeds are searched each by itself.
	Seeds []uint64
	// Verify are further seeds, with which the knee is checked outside its bracket.
	Verify []uint64
	// Tolerance is the width of the last bracket, such as 0.05.
	Tolerance float64
	// Start is the first rate; Min and Max bound the search, in requests per second.
	Start, Min, Max float64
	// Parallel is the number of trials that may run at once, at least 1.
	Parallel int
	// Repeats is how often more a trial is run that the generator spoiled. All of them
	// are kept; a verdict comes from a valid one alone.
	Repeats int
	// Progress, if not nil, is called after each trial, by one goroutine at a time.
	Progress func(Trial)
}

// Outcome is how a search ended.
type Outcome string

// The outcomes.
const (
	OK           Outcome = "ok"
	Infeasible   Outcome = "slo-infeasible" // not even a lone request, or the lowest rate, meets it
	Censored     Outcome = "censored"       // the knee is above what could be tried
	NonMonotone  Outcome = "non-monotone"   // a higher rate passed where a lower one failed
	Inconclusive Outcome = "inconclusive"   // trials were spoiled by the generator
)

// SeedKnee is the result of one seed.
type SeedKnee struct {
	Seed    uint64
	Outcome Outcome
	// Rate is the geometric mean of the last bracket Lo to Hi: the highest rate that
	// passed and the lowest that failed. When censored Lo is the highest that passed
	// and Rate and Hi are NaN; when infeasible all are 0.
	Rate, Lo, Hi float64
	Why          string
	// Spoiled: the generator ended the search, and not the target.
	Spoiled bool
}

// Knee is the result of a search.
type Knee struct {
	Outcome Outcome
	// Rate is the geometric mean over the seeds, Lo and Hi the interval between
	// seeds at 95 %, NaN for one seed. They are of the seeds whose outcome is OK, and
	// NaN if not all are.
	Rate, Lo, Hi float64
	Seeds        []SeedKnee
	Trials       []Trial
	Zero         Zero
	Why          string
}

// Validate checks a configuration.
func (c *Config) Validate() error {
	switch {
	case len(c.Seeds) == 0:
		return fmt.Errorf("a search needs at least one seed")
	case !(c.Tolerance >= 0.001 && c.Tolerance <= 1):
		return fmt.Errorf("tolerance %v: must be from 0.001 to 1 (0.1 %% to 100 %%)", c.Tolerance)
	case !(c.Min > 0) || !(c.Max > c.Min) || math.IsInf(c.Max, 0):
		return fmt.Errorf("rates from %v to %v: the lower must be above 0 and below the upper", c.Min, c.Max)
	case !(c.Start >= c.Min && c.Start <= c.Max):
		return fmt.Errorf("first rate %v is not within %v to %v", c.Start, c.Min, c.Max)
	case c.Parallel < 1:
		return fmt.Errorf("%d trials at once: need at least 1", c.Parallel)
	case c.Repeats < 0:
		return fmt.Errorf("%d repeats of a spoiled trial: need 0 or more", c.Repeats)
	}
	return nil
}

// Find searches. It returns an error when a trial could not be run at all, with
// what was found until then.
func Find(ctx context.Context, p Prober, c Config) (Knee, error) {
	nan := math.NaN()
	k := Knee{Rate: nan, Lo: nan, Hi: nan}
	if err := c.Validate(); err != nil {
		return k, err
	}
	var err error
	if k.Zero, err = p.Zero(ctx); err != nil {
		return k, fmt.Errorf("probing without load: %w", err)
	}
	if !k.Zero.Feasible {
		k.Outcome, k.Rate = Infeasible, 0
		k.Why = fmt.Sprintf("%d of %d requests met the objective when alone", k.Zero.Good, k.Zero.Requests)
		return k, nil
	}
	s := searcher{prober: p, config: c}
	first, err := s.seed(ctx, c.Seeds[0], c.Start, 2)
	k.Seeds, k.Trials = []SeedKnee{first.knee}, first.trials
	if err != nil {
		return k, err
	}
	start := first.knee.Rate
	switch {
	case start > 0:
	case first.knee.Lo > 0:
		start = first.knee.Lo
	case first.knee.Outcome == Infeasible:
		start = c.Min
	default: // nothing is known: far below, a trial would take hours
		start = c.Start
	}
	rest, err := s.each(ctx, c.Seeds[1:], func(seed uint64) (searched, error) { return s.seed(ctx, seed, start, 1.25) })
	for _, r := range rest {
		k.Seeds, k.Trials = append(k.Seeds, r.knee), append(k.Trials, r.trials...)
	}
	if err != nil {
		return k, err
	}
	k.summarise()
	if k.Outcome != OK {
		return k, nil
	}
	return k, s.verify(ctx, &k)
}

// searcher has what the seeds share.
type searcher struct {
	prober Prober
	config Config
	lock   sync.Mutex // of Progress
}

// searched is what came out of one seed.
type searched struct {
	knee   SeedKnee
	trials []Trial
}

// each runs a function for each seed, as many at once as allowed; results are in
// the order of the seeds. After an error it starts no more.
func (s *searcher) each(ctx context.Context, seeds []uint64, run func(uint64) (searched, error)) ([]searched, error) {
	out := make([]searched, len(seeds))
	errs := make([]error, len(seeds))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make(chan struct{}, s.config.Parallel)
	var all sync.WaitGroup
	for i, seed := range seeds {
		slots <- struct{}{}
		if ctx.Err() != nil {
			errs[i] = ctx.Err()
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			if out[i], errs[i] = run(seed); errs[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// bracket is the state of one seed's search: the highest rate that passed and the
// lowest that failed; 0: none yet.
type bracket struct{ lo, hi float64 }

// seed searches with one seed, from a rate that is multiplied or divided by a
// factor until it is bracketed.
func (s *searcher) seed(ctx context.Context, seed uint64, rate, factor float64) (out searched, err error) {
	c := &s.config
	out.knee = SeedKnee{Seed: seed, Outcome: OK}
	var b bracket
	for b.lo == 0 || b.hi == 0 || b.hi/b.lo > 1+c.Tolerance {
		t, err := s.trial(ctx, seed, rate, &out)
		if err != nil {
			return out, err
		}
		if t.Invalid != "" {
			out.knee.spoiled(b, t)
			return out, nil
		}
		if t.Pass {
			b.lo = rate
		} else {
			b.hi = rate
		}
		var ended bool
		if rate, ended = out.knee.next(b, factor, c); ended {
			return out, nil
		}
	}
	out.knee.Lo, out.knee.Hi, out.knee.Rate = b.lo, b.hi, math.Sqrt(b.lo*b.hi)
	return out, nil
}

// next is the rate to try, or the end of the search at one of its bounds.
func (k *SeedKnee) next(b bracket, factor float64, c *Config) (rate float64, ended bool) {
	switch {
	case b.hi == 0 && b.lo >= c.Max:
		k.Outcome, k.Lo, k.Rate, k.Hi = Censored, b.lo, math.NaN(), math.NaN()
		k.Why = fmt.Sprintf("the objective holds at the highest rate of the search, %.4g/s", c.Max)
		return 0, true
	case b.lo == 0 && b.hi <= c.Min:
		k.Outcome = Infeasible
		k.Why = fmt.Sprintf("the objective is missed at the lowest rate of the search, %.4g/s", c.Min)
		return 0, true
	case b.hi == 0:
		return min(b.lo*factor, c.Max), false
	case b.lo == 0:
		return max(b.hi/factor, c.Min), false
	}
	return math.Sqrt(b.lo * b.hi), false
}

// spoiled ends a search at a trial that says nothing of the target.
func (k *SeedKnee) spoiled(b bracket, t Trial) {
	k.Spoiled = true
	k.Outcome, k.Lo, k.Rate, k.Hi = Inconclusive, b.lo, math.NaN(), math.NaN()
	if b.lo > 0 {
		k.Outcome = Censored // it holds up to there at least
	}
	k.Why = fmt.Sprintf("the trial at %.4g/s was spoiled: %s", t.Rate, t.Invalid)
}

// trial runs a trial, and again as long as it is spoiled and repeats are left. All go to
// out; the last one is returned.
func (s *searcher) trial(ctx context.Context, seed uint64, rate float64, out *searched) (t Trial, err error) {
	for range s.config.Repeats + 1 {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		if t, err = s.prober.Trial(ctx, seed, rate); err != nil {
			return t, fmt.Errorf("trial at %.4g/s with seed %d: %w", rate, seed, err)
		}
		t.Seed, t.Rate = seed, rate
		s.report(t)
		if out.trials = append(out.trials, t); t.Invalid == "" {
			break
		}
	}
	return t, nil
}

func (s *searcher) report(t Trial) {
	if s.config.Progress == nil {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.config.Progress(t)
}

// summarise puts the seeds together.
func (k *Knee) summarise() {
	k.Outcome = OK
	logs := make([]float64, 0, len(k.Seeds))
	for _, s := range k.Seeds {
		if s.Outcome == OK {
			logs = append(logs, math.Log(s.Rate))
			continue
		}
		if k.Outcome == OK || k.Outcome == Censored && s.Outcome != Censored { // the worst of the others
			k.Outcome, k.Why = s.Outcome, fmt.Sprintf("seed %d: %s", s.Seed, s.Why)
		}
	}
	if k.Outcome != OK {
		if k.Outcome == Infeasible && len(logs) == 0 {
			k.Rate = 0
		}
		return
	}
	in, err := stats.Mean(logs, 0.95)
	if err != nil { // rates are positive and finite
		k.Outcome, k.Why = Inconclusive, err.Error()
		return
	}
	k.Rate, k.Lo, k.Hi = math.Exp(in.Value), math.Exp(in.Lo), math.Exp(in.Hi)
	k.monotone()
}

// verify tries fresh seeds on both sides of the knee.
func (s *searcher) verify(ctx context.Context, k *Knee) error {
	off := 2 * s.config.Tolerance
	results, err := s.each(ctx, s.config.Verify, func(seed uint64) (out searched, err error) {
		for _, rate := range []float64{k.Rate / (1 + off), k.Rate * (1 + off)} {
			if _, err = s.trial(ctx, seed, rate, &out); err != nil {
				break
			}
		}
		for i := range out.trials {
			out.trials[i].Verify = true
		}
		return out, err
	})
	for _, r := range results {
		k.Trials = append(k.Trials, r.trials...)
	}
	k.monotone()
	return err
}

// monotone looks for a seed that passed at a higher rate than it failed at.
func (k *Knee) monotone() {
	for i := range k.Trials {
		failed := &k.Trials[i]
		if failed.Pass || failed.Invalid != "" {
			continue
		}
		at := slices.IndexFunc(k.Trials, func(t Trial) bool {
			return t.Pass && t.Invalid == "" && t.Seed == failed.Seed && t.Rate > failed.Rate
		})
		if at >= 0 {
			k.Outcome = NonMonotone
			k.Why = fmt.Sprintf("seed %d passed at %.4g/s and failed at %.4g/s: look at the trials, no single rate is the knee",
				failed.Seed, k.Trials[at].Rate, failed.Rate)
			return
		}
	}
}

// Passed is the highest rate that passed with every seed; 0: there is none.
func (k *Knee) Passed() float64 {
	least := math.Inf(1)
	for _, s := range k.Seeds {
		least = min(least, s.Lo)
	}
	if math.IsInf(least, 1) || math.IsNaN(least) {
		return 0
	}
	return least
}

// Spoiled reports whether the generator, and not the target, ended a search.
func (k *Knee) Spoiled() bool {
	return slices.ContainsFunc(k.Seeds, func(s SeedKnee) bool { return s.Spoiled })
}
