package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/loadgen/telemetry/promscrape"
	"goodput/loadgen/wire"
)

// metrics samples what engines tell of themselves.
type metrics struct {
	log     *record.EngineLog
	scraper *promscrape.Scraper // nil: engines in this process
	stop    func()
}

// foundMetrics is what is there before the run has a directory.
type foundMetrics struct {
	scraper *promscrape.Scraper // nil: none
	first   []record.EngineSample
	log     *record.EngineLog // nil: what comes is among the first
}

// findMetrics makes the scraper of a server's metrics, and takes the first samples, before
// the run begins: of --metrics-url, which must answer, or of what is beside --base-url, if
// it does.
func (s *session) findMetrics(env *Env) (*foundMetrics, error) {
	found := new(foundMetrics)
	if s.pool != nil || s.plan.Null() || s.plan.MetricsInterval == 0 {
		return found, nil
	}
	trust, err := newTrust(&s.plan)
	if err != nil {
		return nil, err
	}
	keys, err := metricsKeys(env, &s.plan)
	if err != nil {
		return nil, err
	}
	keys.inner = &http.Transport{TLSClientConfig: trust}
	c := promscrape.Config{
		Interval: s.plan.MetricsInterval, Client: &http.Client{Transport: keys}, Stamp: s.stamp,
		Emit: func(e *record.EngineSample) {
			e.Arm, e.Trial = s.arm, s.trial
			if found.log == nil {
				found.first = append(found.first, *e)
				return
			}
			found.log.Write(e)
		},
	}
	given, err := s.plan.MetricsPages()
	if err != nil {
		return nil, fmt.Errorf("--metrics-url: %w", err)
	}
	for _, p := range given {
		if err := promscrape.Known(context.Background(), c.Client, p.URL); err != nil {
			return nil, exitf(exitTarget, "--metrics-url: %s: %w", p.URL, err)
		}
		c.Pages = append(c.Pages, promscrape.Page(p))
	}
	if len(s.plan.MetricsURL) == 0 {
		for _, base := range s.plan.BaseURL {
			u, err := url.Parse(base)
			if err != nil || u.Scheme == "unix" {
				continue
			}
			at := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/metrics"}).String()
			if promscrape.Known(context.Background(), c.Client, at) == nil {
				c.Pages = append(c.Pages, promscrape.Page{Name: u.Host, URL: at})
			}
		}
	}
	if len(c.Pages) == 0 {
		return found, nil
	}
	var names []string
	for _, p := range c.Pages {
		names = append(names, p.URL)
	}
	fmt.Fprintf(s.log, "metrics    of %s every %v\n", strings.Join(names, ", "), s.plan.MetricsInterval)
	if found.scraper, err = promscrape.New(c); err == nil {
		found.scraper.Read(context.Background())
	}
	return found, err
}

// openMetrics begins to sample, when there is a directory.
func (s *session) openMetrics(found *foundMetrics) {
	if found.scraper == nil && (s.pool == nil || s.plan.MetricsInterval == 0) && !s.plan.ORCA {
		return
	}
	s.metrics = &metrics{log: record.NewEngineLog(s.dir, s.stamp == nil), scraper: found.scraper, stop: func() {}}
	if found.scraper == nil && s.pool != nil {
		s.loop.At(0, clock.RankSample, &engineSamples{s: s})
		return
	}
	for i := range found.first {
		s.metrics.log.Write(&found.first[i])
	}
	found.log, found.first = s.metrics.log, nil
}

// loadTold takes what engines say of themselves with an answer, if the plan asks for it;
// before the run has a directory it is forgotten.
func (s *session) loadTold() func(replica string, at clock.Time, l wire.Load) {
	if !s.plan.ORCA {
		return nil
	}
	return func(replica string, at clock.Time, l wire.Load) {
		m := s.metrics
		if m == nil {
			return
		}
		e := record.UnknownSample()
		e.At, e.AsOf, e.Arm, e.Trial, e.Replica, e.Source = at, at, s.arm, s.trial, replica, record.SampleORCA
		e.Values[record.SignalKVUsage], e.Values[record.SignalWaiting] = l.KVUsed, l.Waiting
		m.log.Write(&e)
	}
}

// begin samples on from here, while the load runs.
func (m *metrics) begin() {
	if m != nil && m.scraper != nil {
		m.stop = m.scraper.Start()
	}
}

// end takes the last samples, when nothing is in flight any more.
func (s *session) endMetrics() {
	m := s.metrics
	switch {
	case m == nil:
	case m.scraper != nil:
		m.stop()
		m.scraper.Read(context.Background())
	case s.pool != nil:
		(&engineSamples{s: s}).take(s.loop.Now())
	}
}

// closeMetrics writes the samples and counts what went wrong.
func (s *session) closeMetrics(counters map[string]int64) error {
	m := s.metrics
	if m == nil {
		return nil
	}
	if m.scraper != nil {
		maps.Copy(counters, m.scraper.Counters())
		tellMetrics(s.log, m.scraper.Err())
	}
	dropped, err := m.log.Close()
	counters["engine_samples_dropped"] = dropped
	return err
}

func tellMetrics(w io.Writer, err error) {
	if err != nil {
		fmt.Fprintf(w, "goodput: some samples of metrics are missing: %v\n", err)
	}
}

// engineSamples takes those of the pool, again and again.
type engineSamples struct{ s *session }

// Entity implements clock.Event.
func (*engineSamples) Entity() uint64 { return 1 }

// Fire implements clock.Event.
func (e *engineSamples) Fire(now clock.Time) {
	e.take(now)
	e.s.loop.At(now.Add(e.s.plan.MetricsInterval), clock.RankSample, e)
}

func (e *engineSamples) take(now clock.Time) {
	s := e.s
	for i := range s.pool.Replicas() {
		if !s.pool.Running(i) {
			continue // there is nothing that could tell of itself
		}
		st := s.pool.Engine(i).Stats()
		out := record.UnknownSample()
		out.At, out.AsOf, out.Arm, out.Trial = now, now, s.arm, s.trial
		out.Replica, out.Source = s.pool.Name(i), record.SampleInProcess
		for _, v := range []struct {
			to record.Signal
			v  float64
		}{
			{record.SignalRunning, float64(st.Running)},
			{record.SignalWaiting, float64(st.Arriving + st.Waiting)},
			{record.SignalKVUsage, st.KVUsed},
			{record.SignalPrefixQueries, float64(st.PrefixQueries)},
			{record.SignalPrefixHits, float64(st.PrefixHits)},
			{record.SignalPreemptions, float64(st.Preemptions)},
			{record.SignalPromptTokens, float64(st.PromptTokens)},
			{record.SignalGenerationTokens, float64(st.GenerationTokens)},
			{record.SignalRequestsDone, float64(st.Finished)},
		} {
			out.Values[v.to] = v.v
		}
		s.metrics.log.Write(&out)
	}
}

// abandonMetrics ends the sampling of a run that does not come about.
func (s *session) abandonMetrics() error {
	if s.metrics == nil {
		return nil
	}
	_, err := s.metrics.log.Close()
	return err
}
