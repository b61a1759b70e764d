package cli

import (
	"fmt"
	"math"
	"sort"
	"time"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
	"goodput/report/knee"
	"goodput/report/stats"
)

// trialEvery is how often a trial looks at its backlog, in loop time.
const trialEvery = 500 * time.Millisecond

// figures are the times of requests.
type figures struct {
	ttft, tpot, e2e stats.Sample
	prompt, cached  int64
	told            bool
}

// add takes the times of a request, if it is a success.
func (f *figures) add(r *record.Request) {
	if r.Outcome != record.OK {
		return
	}
	for _, m := range []struct {
		to *stats.Sample
		v  int64
	}{{&f.ttft, r.TTFT()}, {&f.tpot, r.TPOT()}, {&f.e2e, r.E2E()}} {
		if m.v != record.Null {
			m.to.Add(m.v)
		}
	}
	if r.PromptTokens >= 0 && r.CachedTokens >= 0 {
		f.prompt, f.cached, f.told = f.prompt+int64(r.PromptTokens), f.cached+int64(r.CachedTokens), true
	}
}

// trialLoad is the load of one trial under way, on the loop's goroutine. As an event it
// looks at the backlog.
type trialLoad struct {
	runner *trialRunner
	x      *session
	d      *dispatch.Dispatcher
	source *around
	out    *knee.Trial

	judge   *knee.Judge
	tight   time.Duration // bound of the time to the first token; 0: none
	drift   *knee.Drift   // nil: what a backlog does is not known of these arrivals
	stopped bool

	figures figures
	recent  float64      // E2E of successes, in ns: a mean over some tens
	ended   int          // their number
	watched bool         // drift looks
	ends    stats.Sample // when the cohort's successes ended
	all     []clock.Time // when any success ended, in that order
	lag     stats.Sample
	sent    span       // when requests were due, and when they were sent
	until   clock.Time // when the wait for the cohort ends; Never: not all have arrived
}

// span holds the first and the last instant of two kinds.
type span struct {
	due, sent [2]clock.Time
	any       bool
}

func (s *span) add(due, sent clock.Time) {
	if !s.any {
		s.due, s.sent, s.any = [2]clock.Time{due, due}, [2]clock.Time{sent, sent}, true
		return
	}
	s.due = [2]clock.Time{min(s.due[0], due), max(s.due[1], due)}
	s.sent = [2]clock.Time{min(s.sent[0], sent), max(s.sent[1], sent)}
}

func newTrialLoad(p *prober, x *session, source *around, out *knee.Trial) (*trialLoad, error) {
	l := &trialLoad{runner: p.trialRunner, x: x, source: source, out: out, until: clock.Never}
	var err error
	if l.judge, err = p.objective.Judge(out.N); err != nil {
		return nil, err
	}
	l.tight = p.objective.FirstToken(p.slo.TTFT)
	if v, known := dispersed(&x.plan, x.set, out.Rate); known {
		l.drift = knee.NewDrift(v, math.NaN())
	}
	return l, nil
}

// Entity implements clock.Event: there is one.
func (l *trialLoad) Entity() uint64 { return 0 }

// Fire looks at the backlog.
func (l *trialLoad) Fire(now clock.Time) {
	if l.stopped {
		return
	}
	c := l.d.Counts()
	arrived, inFlight := int(c.Scheduled), int(c.InFlight)
	l.out.Figures.MaxInFlight = max(l.out.Figures.MaxInFlight, inFlight)
	switch {
	case l.until.Known() && now >= l.until:
		l.judge.Unfinished(l.out.N - l.judge.Known())
		l.stop(knee.Unfinished)
		return
	case !l.until.Known() && arrived >= l.out.Warmup+l.out.N:
		wait := l.runner.plan.Drain
		if q, ok := l.figures.e2e.Quantile(0.99); ok {
			wait = max(wait, 3*time.Duration(q))
		}
		l.until = now.Add(wait)
	}
	if l.drift != nil && l.growing(now, arrived, inFlight) {
		l.out.Drift = true
	}
	l.x.loop.At(now.Add(trialEvery), clock.RankSample, l)
}

// growing reports whether the backlog grows as it does above capacity. Those in flight
// grow in number, too, before requests have come and gone twice.
func (l *trialLoad) growing(now clock.Time, arrived, inFlight int) bool {
	if l.ended == 0 || arrived <= l.out.Warmup || now < 2*clock.Time(l.recent) && !l.watched {
		return false
	}
	l.watched = true
	return l.drift.Look(arrived, inFlight)
}

// take takes the row of a request that ended.
func (l *trialLoad) take(r *record.Request) {
	if l.stopped {
		return
	}
	if v := r.Lag(); v != record.Null && l.x.stamp != nil {
		l.lag.Add(v)
		l.sent.add(r.Intended, r.Dispatched)
	}
	if !r.Final {
		return
	}
	if r.Outcome == record.OK {
		if v := r.E2E(); v != record.Null {
			l.ended++
			l.all = append(l.all, l.x.loop.Now())
			l.recent += (float64(v) - l.recent) / float64(min(l.ended, 32))
		}
	}
	if i := r.Seq - int64(l.out.Warmup); i < 0 || i >= int64(l.out.N) {
		return
	}
	l.figures.add(r)
	if r.Outcome == record.OK {
		l.ends.Add(int64(l.x.loop.Now()))
	}
	l.judge.Add(r)
	if l.judge.Known() == l.out.N {
		l.stop(knee.Complete)
		return
	}
	// A pass is certain only near the end: in virtual time the rest costs less than its
	// figures are worth.
	if pass, decided := l.judge.Decided(); decided && !l.runner.whole && (!pass || l.x.stamp != nil) {
		l.stop(knee.Curtailed)
	}
}

// stop ends the trial. A server is then waited for, without what is still to come.
func (l *trialLoad) stop(why knee.Stop) {
	l.stopped, l.out.Stop = true, why
	if l.x.stamp == nil {
		l.x.loop.Stop()
		return
	}
	l.d.Interrupt()
	l.d.Interrupt()
}

// finish writes down what came out.
func (l *trialLoad) finish() {
	out := l.out
	if !l.stopped { // the schedule is over, and the wait for answers is, too
		l.judge.Unfinished(out.N - l.judge.Known())
		out.Stop = knee.Unfinished
	}
	joint := l.judge.Joint()
	out.Good, out.Bad = joint.Good, joint.Bad
	if !out.Open {
		out.Clauses = l.judge.Tallies()
		out.Pass, _ = l.judge.Decided()
	}
	f := &out.Figures
	f.TTFT, f.TPOT, f.E2E = l.figures.ttft.Summary(), l.figures.tpot.Summary(), l.figures.e2e.Summary()
	f.LagP99, f.HitRate = record.Null, math.NaN()
	if l.figures.told && l.figures.prompt > 0 {
		f.HitRate = float64(l.figures.cached) / float64(l.figures.prompt)
	}
	if from, to := l.source.from, l.source.to; to.Known() && to > from && l.judge.Known() >= out.N {
		f.Span = to.Sub(from).Seconds()
		f.Delivered = l.delivered()
	}
	if why := l.judge.Empty(); why != "" && out.Stop == knee.Complete {
		out.Invalid = why
	}
	l.checkGenerator()
}

// delivered is the rate of all successes while the middle of the cohort's ended: before,
// a trial that begins with nothing in flight delivers too little. Those of the cohort
// alone would be too few, as the ends of others come in between.
func (l *trialLoad) delivered() float64 {
	from, ok := l.ends.Quantile(0.1)
	to, _ := l.ends.Quantile(0.9)
	if !ok || to <= from {
		return 0
	}
	after := func(t int64) int {
		return sort.Search(len(l.all), func(i int) bool { return l.all[i] > clock.Time(t) })
	}
	return float64(after(to)-after(from)) / (float64(to-from) / 1e9)
}

// leastLag is the lateness that no measurement is spoiled by.
const leastLag = 5 * time.Millisecond

// checkGenerator says whether the generator was late or slow.
func (l *trialLoad) checkGenerator() {
	q, ok := l.lag.Quantile(0.99)
	if !ok {
		return
	}
	l.out.Figures.LagP99 = q
	if limit := max(leastLag, l.tight/20); time.Duration(q) > limit {
		l.out.Invalid = fmt.Sprintf("the generator was late: lag P99 %.1f ms, more than %.1f ms", float64(q)/1e6, float64(limit)/1e6)
		return
	}
	due, sent := l.sent.due[1]-l.sent.due[0], l.sent.sent[1]-l.sent.sent[0]
	if slack := clock.Time(leastLag); float64(due) < 0.99*float64(sent-slack) {
		l.out.Invalid = fmt.Sprintf("the generator was slow: it sent at %.1f %% of the intended rate", 100*float64(due)/float64(sent))
	}
}

// dispersed is the dispersion of the arrivals of a load.
func dispersed(p *plan.Plan, set datasets.Set, rate float64) (v float64, known bool) {
	if m := mixOf(set); m != nil {
		return m.dispersion(rate)
	}
	return dispersion(p, rate)
}

// dispersion is the variance of the number of arrivals over its mean, in the long run,
// of the plan's process at a rate; known is false for recorded times.
func dispersion(p *plan.Plan, rate float64) (v float64, known bool) {
	name, b, err := p.Process()
	if err != nil {
		return 0, false
	}
	shape := float64(p.Burstiness)
	switch schedule.Process(name) {
	case schedule.Poisson:
		return 1, true
	case schedule.Constant:
		return 0, true
	case schedule.Gamma:
		return 1 / shape, true
	case schedule.Weibull:
		if math.IsInf(shape, 1) {
			return 0, true
		}
		mean := math.Gamma(1 + 1/shape)
		return math.Gamma(1+2/shape)/(mean*mean) - 1, true
	case schedule.MMPP:
		// 1 + 2*variance of the rate * its correlation time / mean rate.
		on, off := b.Burst.Seconds(), b.Calm.Seconds()
		share := on / (on + off)
		calm := rate / (share*b.Factor + 1 - share)
		swing := calm * (b.Factor - 1)
		return 1 + 2*share*(1-share)*swing*swing*(on*off/(on+off))/rate, true
	}
	return 0, false
}
