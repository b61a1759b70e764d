package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"time"

	"goodput/datasets"
	"goodput/datasets/agent"
	"goodput/fakeengine/pool"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/monitor"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/rng"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
	"goodput/loadgen/target/openai"
	"goodput/loadgen/vitals"
)

// startLead is the time between opening the run's files and instant 0 of a real
// run, so that the first arrivals are not late for want of an open file.
const startLead = 20 * time.Millisecond

// session is one run, composed.
type session struct {
	plan plan.Plan
	set  datasets.Set // nil: the load is sessions
	slo  observe.SLO
	dir  string
	log  io.Writer
	// arm and trial are the place of the run in a comparison; empty and 0 outside one.
	arm   string
	trial int32

	loop       clock.Runner
	stamp      clock.Stamper // nil in virtual time: only the loop knows the time
	target     target.Target
	targetText string
	pool       *pool.Pool        // nil: the target is a URL
	kvBlocks   int               // of the caches of the pool's engines together; 0: none, or not known
	facts      map[string]string // of the target, for the manifest
	faults     []byte            // the script; nil: none
	spans      *spanIntake       // nil: nobody was to send any
	metrics    *metrics          // nil: engines are not asked how they are
	close      func()

	vitals    *vitals.Watch     // while a run in real time goes on
	fared     *record.Generator // what it saw; nil: nothing
	exhausted func() (files, ports int64)

	interrupts <-chan os.Signal
	release    func() // interrupts end the program again

	sessions *sessionLoad // nil: the load is set
	ended    *record.SessionLog

	writer     *record.Writer
	dispatcher *dispatch.Dispatcher
	monitor    *monitor.Monitor
	live       liveFlags
	steering   *steering // nil: the rate stays as planned
	views      *views
	epoch      time.Time // wall time of instant 0; zero in virtual time
}

// newSession makes everything that can fail before the first file is written.
func newSession(env *Env, p plan.Plan, set datasets.Set, slo observe.SLO) (*session, error) {
	s := &session{plan: p, set: set, slo: slo, dir: runDir(&p), log: env.Stderr, close: func() {}}
	if p.InPool() && p.Speed.Virtual() {
		s.loop = clock.NewVirtual()
	} else {
		speed := 1.0
		if !p.Speed.Virtual() {
			speed = float64(p.Speed)
		}
		r, err := clock.NewReal(clock.Speed(speed))
		if err != nil {
			return nil, err
		}
		s.loop, s.stamp = r, r
	}
	switch {
	case p.Null():
		s.target, s.targetText = target.NewNull(s.stamp), "none: every request is answered at once, in this process"
		return s, nil
	case p.Remote():
		return s, s.connect(env)
	}
	setup, err := newEngineSetup(&p)
	if err != nil {
		return nil, err
	}
	if s.pool, err = newPool(&p, setup, s.loop); err != nil {
		return nil, err
	}
	s.target, s.faults, s.kvBlocks = s.pool, setup.script, cacheBlocks(&p, &setup)
	s.facts = map[string]string{record.TargetKVBlocks: setup.mix.blockText(&setup.config), record.TargetKVFrom: record.KVGiven}
	if setup.derived {
		s.facts[record.TargetKVFrom] = record.KVDerived
	}
	s.targetText = poolText(&p, &setup)
	return s, nil
}

// connect makes the client of a real endpoint.
func (s *session) connect(env *Env) error {
	key, err := apiKey(env, &s.plan)
	if err != nil {
		return err
	}
	extra, err := extraFields(&s.plan)
	if err != nil {
		return err
	}
	trust, err := newTrust(&s.plan)
	if err != nil {
		return err
	}
	header := http.Header{}
	for _, h := range s.plan.Header {
		name, value, _ := strings.Cut(h, "=")
		header.Add(name, value)
	}
	c := openai.Config{
		BaseURLs: s.plan.BaseURL, HTTP2: s.plan.HTTP2, Endpoint: s.plan.Endpoint, API: wireAPI(s.plan.Backend), TLS: trust, ContinuousUsage: s.plan.ContinuousUsage, Whole: s.plan.NoStream,
		Model: s.plan.Model, Header: header, APIKey: key, Extra: extra,
		Prompt: promptOf(&s.plan), Structured: structured(&s.plan), TokenIDs: s.plan.TokenHistory(),
		Loop: s.loop, Stamp: s.stamp, Load: s.loadTold(),
		TTFTTimeout: s.plan.TTFTTimeout, RequestTimeout: s.plan.RequestTimeout,
	}
	client, err := openai.New(c)
	if err != nil {
		return err
	}
	if err := awaitServer(env, s.plan.ReadyCheck, client.Reachable); err != nil {
		return err
	}
	if c.Model, err = modelName(&s.plan, client.Models); err != nil {
		return err
	}
	client.Close()
	if client, err = openai.New(c); err != nil {
		return err
	}
	if err := s.prime(client); err != nil {
		client.Close()
		return err
	}
	s.target, s.close, s.exhausted = client, client.Close, client.Exhausted
	s.facts = map[string]string{record.TargetModel: c.Model}
	if err := s.checkTokens(env, client.Tokenize); err != nil {
		client.Close()
		return err
	}
	if err := s.resetCache(client.ResetPrefixCache); err != nil {
		client.Close()
		return err
	}
	s.targetText = fmt.Sprintf("%s, model %s", addresses(&c), c.Model)
	if err := s.takeSpans(env); err != nil {
		client.Close()
		return err
	}
	return nil
}

// prime makes a connection of HTTP/2, so that requests of the load find one whose limit of
// streams is known.
func (s *session) prime(client *openai.Client) error {
	if !s.plan.HTTP2 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), modelsTimeout)
	defer cancel()
	if err := client.Reachable(ctx); err != nil {
		return exitf(exitTarget, "%w", err)
	}
	return nil
}

// addresses are those that requests go to.
func addresses(c *openai.Config) string {
	var out []string
	for _, base := range c.BaseURLs {
		out = append(out, strings.TrimRight(base, "/")+c.Endpoint)
	}
	return strings.Join(out, ", ")
}

// open creates the run directory and the dispatcher. From then on, until run is
// over, an interrupt ends the load and not the program.
func (s *session) open(env *Env) error {
	s.interrupts, s.release = env.interrupts()
	source, err := s.source()
	if err != nil {
		return err
	}
	load, err := s.warmup(source)
	if err != nil {
		return err
	}
	part, err := shardOf(&s.plan)
	if err != nil {
		return err
	}
	if load.source != nil {
		if load.source, err = part.Source(load.source); err != nil {
			return fmt.Errorf("--shard: %w", err)
		}
	}
	found, err := s.findMetrics(env)
	if err != nil {
		return err
	}
	hash := s.plan.Hash()
	m := record.Meta{
		RunID: hash, PlanHash: hash, Seed: s.plan.Seed, Version: versionText(),
		Virtual: s.stamp == nil, Started: clock.Wall(),
		Load: describeKind(&s.plan), Target: s.describeTarget(), Dataset: s.describeDataset(), Shard: shardRecord(part),
	}
	switch {
	case s.plan.Canary != "":
		m.Arms = canaryArms[:]
	case s.arm != "":
		m.Arms = []string{s.arm}
	}
	salt := s.plan.Seed
	if r, real := s.loop.(*clock.Real); real {
		if s.epoch, err = s.start(r); err != nil {
			return err
		}
		m.Epoch = s.epoch
		m.RunID = s.epoch.UTC().Format("20060102T150405.000000Z") + "-" + hash
		// Spans of two real runs may meet in one collector, so trace ids differ
		// from run to run.
		stream := rng.New(s.plan.Seed, m.RunID, 0)
		salt = stream.Uint64()
	}
	loud := record.OnError(func(err error) {
		fmt.Fprintf(s.log, "goodput: recording stopped: %v; the load goes on, the run will be invalid\n", err)
	})
	if s.writer, err = record.Create(s.dir, m, loud, record.Expect(int(part.Count(uint64(s.expected()))))); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	text, err := s.plan.YAML()
	if err == nil {
		err = s.writer.WriteFile(planName, text)
	}
	if err == nil && s.faults != nil {
		err = s.writer.WriteFile(faultsName, s.faults)
	}
	if err != nil {
		return errors.Join(err, s.writer.Close(record.Final{State: record.Interrupted, EndedAt: clock.Never}))
	}
	s.openMetrics(found)
	assign, err := newAssignment(&s.plan)
	if err != nil {
		return errors.Join(err, s.abandonMetrics())
	}
	s.newMonitor(int64(part.Count(uint64(s.plan.NumPrompts))))
	views, err := s.openViews(env)
	if err != nil {
		return errors.Join(err, s.abandonMetrics(), s.writer.Close(record.Final{State: record.Interrupted, EndedAt: clock.Never}))
	}
	s.views = views
	c := dispatch.Config{
		Loop: s.loop, Source: load.source, Target: s.target,
		Warmup: load.lasts, AwaitWarmup: load.lasts == 0,
		Identity:  dispatch.Identity{RunID: m.RunID, Arm: s.arm, ArmOf: canaryArm(&s.plan), Trial: s.trial, Shard: int32(part.Index), Shards: int32(part.Of), Salt: salt, NamePrefix: s.plan.IDPrefix},
		IgnoreEOS: s.plan.IgnoreEOS, SLO: s.slo, Priority: s.plan.Priority, Drain: s.plan.Drain, Client: newClient(&s.plan),
		Assign:        assign,
		PlannedCached: plannedCached(load.set, s.plan.EngineBlockSize),
		PoolCached:    poolCached(load.set, s.plan.EngineBlockSize, s.kvBlocks),
		Record:        s.writer.Write, Monitor: s.monitor, Finished: s.loop.Stop,
	}
	if s.live.control {
		s.steering = newSteering(s.writer.Note)
		c.Steered = s.steering.changed
	}
	limitPlaces(&c, &s.plan)
	if m := mixOf(s.set); m != nil {
		if c.Classes, err = m.classes(load.first); err != nil {
			return err
		}
	}
	if s.sessions != nil {
		err = s.openSessions(&c, salt)
	} else {
		c.Set = datasets.Salted(load.set, s.salt(salt))
		err = s.openMixedSessions(&c, salt)
	}
	if err != nil {
		return err
	}
	if part.Sharded() {
		if err := s.planWhole(&c, part); err != nil {
			return err
		}
	}
	if c.Probes, err = newProbes(&s.plan); err != nil {
		return err
	}
	s.dispatcher, err = dispatch.New(c)
	return err
}

// expected is the number of requests that will come, if nothing ends the load
// before; 0: unknown.
func (s *session) expected() int {
	if s.plan.NumPrompts == 0 && s.set != nil {
		return s.set.Len()
	}
	return s.plan.NumPrompts
}

// source makes the arrivals of the load.
func (s *session) source() (schedule.Source, error) {
	if s.sessions != nil {
		return sessionArrivals(&s.plan, s.sessions)
	}
	return newSource(&s.plan, s.set)
}

// asked is what the load asks, by name.
func (s *session) asked() fmt.Stringer {
	if s.sessions != nil {
		return s.sessions
	}
	return s.set
}

// openSessions makes c offer sessions. salt names the run.
func (s *session) openSessions(c *dispatch.Config, salt uint64) error {
	if err := s.sessions.scope(agent.Scope(s.plan.AgentScope), salt); err != nil {
		return err
	}
	if r := s.sessions.recorded; r != nil && r.PrefixesUnknown() {
		c.PlannedCached, c.PoolCached = nil, nil
	}
	if s.sessions.config != nil {
		if err := s.writer.WriteFile(agentConfigName, s.sessions.config); err != nil {
			return fmt.Errorf("--agent-config: %w", err)
		}
	}
	c.Sessions, c.Shapes = s.sessions, true
	c.MaxInFlight, c.Live, c.ContinueOnError = sessionTerms(&s.plan)
	complete, err := s.completer(&s.plan, s.sessions, s.slo, c)
	if err != nil {
		return err
	}
	if err := s.logSessions(c, complete); err != nil {
		return err
	}
	c.MaxSessions, c.DropSessions = s.plan.MaxLiveSessions, s.plan.SessionsOverflow == "drop"
	if c.Concurrent = s.plan.SessionsConcurrency; c.Concurrent > 0 {
		c.Source, c.Until = nil, clock.Time(s.plan.Duration)
	}
	c.Drain = s.plan.SessionsDrain
	return nil
}

// sessionTerms are how the steps of the plan's sessions follow on each other.
func sessionTerms(p *plan.Plan) (inFlight int, live, goOn bool) {
	return p.AgentInFlight, p.LiveHistory(), p.AgentOnError == "continue"
}

// logSessions makes c write a row for each session, which complete completes.
func (s *session) logSessions(c *dispatch.Config, complete func(*record.Session)) (err error) {
	if s.ended, err = record.NewSessionLog(s.dir, s.stamp == nil, complete); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	c.RecordSession = s.ended.Write
	return nil
}

// completer tells of an ended session what its requests would take alone, which only
// engines in this process can say, and whether it has met the SLO.
func (s *session) completer(p *plan.Plan, load *sessionLoad, slo observe.SLO, c *dispatch.Config) (func(*record.Session), error) {
	if s.pool == nil {
		return func(r *record.Session) {
			r.SLOMet = slo.MetSession(r)
			s.views.session(r)
		}, nil
	}
	o, err := newOracle(*p, c)
	if err != nil {
		return nil, err
	}
	o.set = load.arriving() // which has them by their numbers
	return func(r *record.Session) {
		o.complete(r)
		r.SLOMet = slo.MetSession(r)
		s.views.session(r)
	}, nil
}

// describeTarget is what the manifest says of the target.
func (s *session) describeTarget() map[string]string {
	out := map[string]string{"text": s.targetText}
	maps.Copy(out, s.facts)
	return out
}

// describeDataset is what the manifest says of what is asked.
func (s *session) describeDataset() map[string]string {
	out := map[string]string{"text": s.asked().String()}
	if s.sessions == nil {
		out[record.DatasetCache] = s.plan.Cache
	}
	return out
}

// run offers the load until every request has its row, and closes the files.
func (s *session) run(env *Env) error {
	over := make(chan struct{})
	defer s.release()
	go func() {
		for {
			select {
			case <-s.interrupts:
				s.dispatcher.Interrupt()
				fmt.Fprintf(env.Stderr, "goodput: interrupted: waiting up to %v for unfinished requests; once more to stop now\n", s.plan.Drain)
			case <-over:
				return
			}
		}
	}()
	stop := s.views.show(env, s)
	defer stop() // a panic must not leave the terminal as it is
	s.awaitEpoch()
	s.watch()
	s.dispatcher.Begin()
	s.metrics.begin()
	s.loop.Run()
	s.fared = s.unwatch()
	close(over)
	stop()
	ended := clock.Never
	if s.stamp != nil {
		ended = s.stamp.Stamp()
	}
	s.endMetrics()
	s.close()
	s.awaitSpans()
	if err := s.finish(ended); err != nil {
		return err
	}
	s.export(env)
	return nil
}

// finish writes the account of the run.
func (s *session) finish(ended clock.Time) error {
	c := s.dispatcher.Counts()
	f := record.Final{
		State: record.Complete, Ended: clock.Wall(), EndedAt: ended,
		Counts: &record.Counts{
			Scheduled: c.Scheduled, Completed: c.Completed(), Failed: c.Failed(), Dropped: c.Dropped(), Censored: c.Censored(), Canceled: c.Canceled(),
		},
		Counters: counters(s.dispatcher.Counters()), Generator: s.fared,
	}
	if s.exhausted != nil {
		f.Counters[record.CounterNoFiles], f.Counters[record.CounterNoPorts] = s.exhausted()
	}
	if s.plan.Client() {
		clientCounters(f.Counters, s.dispatcher.Attempts())
	}
	if s.pool != nil {
		f.Events = faultEvents(s.pool.Faults(), s.pool.Name)
		s.scaleEvents(&f)
		stats := s.pool.Stats()
		e := stats.Engines
		if len(s.plan.Shaper) > 0 {
			f.Counters["shaper_refused"], f.Counters["shaper_answered"] = int64(stats.Shed), int64(stats.Absorbed)
		}
		if stats.Reported > 0 {
			f.Counters[record.CounterReportPicks], f.Counters[record.CounterReportAge] = int64(stats.Reported), stats.Age.Microseconds()
		}
		if s.plan.Client() {
			f.Counters["orphaned_tokens"] = int64(stats.Orphaned)
		}
		if s.plan.Split() {
			f.Counters["remote_prefills"], f.Counters["local_prefills"] = int64(stats.Remote), int64(stats.Local)
			f.Counters["kv_transfers"], f.Counters["kv_transfer_tokens"] = stats.Moved.Transfers, stats.Moved.Tokens
		}
		f.Counters[record.CounterKVWaits], f.Counters[record.CounterPreemptions] = e.KVWaits, e.Preemptions
	}
	if from, to := s.dispatcher.Window(); from.Known() {
		f.Window = &record.Window{Start: from, End: to}
	}
	if sent, failed := s.dispatcher.Warmups(); sent > 0 {
		f.Counters[record.CounterWarmups], f.Counters[record.CounterWarmupFailed] = sent, failed
	}
	if sent, failed := s.dispatcher.Probed(); sent > 0 {
		f.Counters[record.CounterProbes], f.Counters[record.CounterProbesFailed] = sent, failed
	}
	if s.dispatcher.Interrupted() || s.dispatcher.Err() != nil {
		f.State = record.Interrupted
	}
	if capped := s.dispatcher.Capped(); s.plan.MaxConcurrency > 0 {
		f.Counters[record.CounterCapQueued], f.Counters[record.CounterCapDropped] = capped.Queued, capped.Dropped
		f.Counters[record.CounterCapLongest] = capped.Longest
	}
	var lost error
	if s.ended != nil {
		f.Counters["session_steps_unsent"] = s.dispatcher.SessionCounts().StepsUnsent
		f.Counters[record.CounterSessionsDropped], lost = s.ended.Close()
	}
	lost = errors.Join(lost, s.steering.close(), s.writeSpans(f.Counters), s.closeMetrics(f.Counters))
	if err := errors.Join(lost, s.writer.Close(f)); err != nil {
		return exitf(exitInvalid, "recording %s: %w", s.dir, err)
	}
	return nil
}

// counters names everything that was dropped, clamped or not understood.
func counters(c dispatch.Counters) map[string]int64 {
	out := map[string]int64{"abandoned_requests": c.Abandoned, "late_ends": c.LateEnds}
	if c.Unquoted > 0 || c.OtherLength > 0 {
		out["answers_not_quoted"], out["answers_of_other_length"] = c.Unquoted, c.OtherLength
	}
	for a := range c.Anomalies {
		out[observe.Anomaly(a).String()] = c.Anomalies[a]
	}
	return out
}
