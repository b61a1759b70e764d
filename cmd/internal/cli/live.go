package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/monitor"
	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/report/tui"
)

// liveFlags say who looks on while a run goes on.
type liveFlags struct {
	tui     bool
	control bool // the rate can be changed on the screen
	listen  string
	held    *heldBack // stderr, which a view of the whole screen keeps back
	// elsewhere, if not nil, is given the run for a view that others have made.
	elsewhere func(*board)
}

func (l *liveFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&l.tui, "tui", false, "show the run on the whole terminal while it goes on (? for the keys); in process, without --speed, at speed 1; lines if there is no terminal")
	c.Flags().BoolVar(&l.control, "tui-control", false, "let + and - on the screen of --tui change the rate of the arrivals to come, by 10 % of the planned rate each; the run tells of it, and gates refuse such a run")
	c.Flags().StringVar(&l.listen, "monitor-listen", "", "serve the state of the run at this address, such as 127.0.0.1:9100: /snapshot and /stream (JSON), /metrics (Prometheus); goodput watch http://… shows it")
}

// pace makes a run in process keep the wall's time, so that there is something to see.
func (l *liveFlags) pace(p *plan.Plan, given string) {
	if l.tui && len(p.BaseURL) == 0 && p.Speed.Virtual() && given == "" {
		p.Speed = 1
	}
}

// hold makes stderr one that can be kept back.
func (l *liveFlags) hold(env *Env) {
	if !l.tui {
		return
	}
	if env.Screen == nil {
		fmt.Fprintln(env.Stderr, "goodput: --tui: input or output is no terminal, or TERM is dumb: progress comes in lines")
		if l.control {
			fmt.Fprintln(env.Stderr, "goodput: --tui-control: without a screen nothing changes the rate")
		}
		l.tui = false
		return
	}
	l.held = &heldBack{out: env.Stderr}
	env.Stderr = l.held
}

// views are those that look on; nil: nobody but the progress line.
type views struct {
	boards []*board
	server *monitorServer
}

// board is a monitor.Board that empties its own feed.
type board struct {
	*monitor.Board
	feed *monitor.Feed
	s    *session
	cpu  *cpuMeter
	mu   sync.Mutex // feeds have one reader
}

// openViews makes what the flags ask for, before the run begins.
func (s *session) openViews(env *Env) (*views, error) {
	if !s.live.tui && s.live.listen == "" {
		return nil, nil
	}
	v := new(views)
	if s.live.tui {
		v.boards = append(v.boards, s.newBoard())
	}
	if s.live.elsewhere != nil {
		s.live.elsewhere(v.boards[0])
	}
	if s.live.listen != "" {
		b := s.newBoard()
		v.boards = append(v.boards, b)
		var err error
		if v.server, err = listenMonitor(s.live.listen, b); err != nil {
			return nil, err
		}
		fmt.Fprintf(env.Stderr, "watch      goodput watch %s\n", v.server.url())
	}
	if s.pool != nil || s.ofSessions() {
		s.loop.At(0, clock.RankSample, gauges{s})
	}
	return v, nil
}

// newMonitor makes the one of a run of so many requests; 0: not known.
func (s *session) newMonitor(total int64) {
	s.monitor = monitor.New(total)
	if s.plan.InPool() {
		s.monitor.LoopTime(s.stamp)
	}
}

func (s *session) newBoard() *board {
	b := &board{Board: monitor.NewBoard(aboutRun(&s.plan, s.slo, s.targetText)), feed: monitor.NewFeed(), s: s, cpu: new(cpuMeter)}
	s.monitor.Tell(b.feed)
	return b
}

// aboutRun is what screens say of a run from its beginning.
func aboutRun(p *plan.Plan, slo observe.SLO, target string) monitor.About {
	promise := func(d time.Duration) monitor.Nanos {
		if d == 0 {
			return monitor.Unknown
		}
		return monitor.Nanos(d)
	}
	if p.Shard != "" {
		target = "shard " + p.Shard + " of the load, " + target
	}
	return monitor.About{
		Title: target, LoopTime: p.InPool(), Total: int64(p.NumPrompts), Duration: p.Duration,
		SLO: monitor.Promise{TTFT: promise(slo.TTFT), TPOT: promise(slo.TPOT), E2E: promise(slo.E2EL)},
	}
}

// Picture implements tui.Source.
func (b *board) Picture(q monitor.Query) (monitor.Picture, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Drain(b.feed)
	at := clock.Never
	if b.s.stamp != nil {
		at = b.s.stamp.Stamp()
	}
	p := b.Board.Picture(b.s.monitor, at, q)
	p.Lost, p.CPU = b.feed.Lost(), b.cpu.cores()
	p.RatePercent, p.RateChanges = b.s.steering.rate()
	return p, nil
}

// session tells of one that ended.
func (v *views) session(r *record.Session) {
	if v == nil {
		return
	}
	for _, b := range v.boards {
		b.feed.Session(r)
	}
}

// show shows the run until stop is called: on the whole screen, or by lines.
func (v *views) show(env *Env, s *session) (stop func()) {
	var ends []func()
	switch {
	case s.live.elsewhere != nil:
	case s.live.tui:
		s.live.held.hold()
		p, closeScreen := showOn(env, func(stale func() bool) tui.Model {
			return tui.New(v.boards[0], tui.Options{
				Colors: tui.Colors(env.Getenv), Stop: s.dispatcher.Interrupt, Steer: s.steerer(), Stale: stale, Save: saver(s.dir),
			})
		})
		ends = append(ends, func() {
			err := p.Stop()
			closeScreen()
			s.live.held.release()
			if err != nil {
				fmt.Fprintf(env.Stderr, "goodput: --tui: %v\n", err)
			}
		})
	default:
		ends = append(ends, showProgress(env, s.monitor, s.stamp))
	}
	if v != nil && v.server != nil {
		ends = append(ends, v.server.close)
	}
	return sync.OnceFunc(func() {
		for _, end := range ends {
			end()
		}
	})
}

// steerer changes the rate, if that was allowed.
func (s *session) steerer() func(points int64) {
	if s.steering == nil {
		return nil
	}
	return s.dispatcher.Steer
}

// saver keeps what is seen in dir.
func saver(dir string) func(tui.Shot) (string, error) {
	return func(x tui.Shot) (string, error) {
		name := filepath.Join(dir, "screen")
		if x.Picture.Elapsed.Known() {
			name += fmt.Sprintf("-%06.1fs", time.Duration(x.Picture.Elapsed).Seconds())
		}
		var data any = x.Picture
		if x.Doing != (tui.Doing{}) {
			data = x.Doing
		}
		b, err := json.MarshalIndent(data, "", " ")
		if err == nil {
			err = errors.Join(
				os.WriteFile(name+".json", b, 0o666), os.WriteFile(name+".txt", []byte(x.Frame+"\n"), 0o666),
				os.WriteFile(name+".svg", tui.SVG(x.Colors, x.W, x.H), 0o666))
		}
		return name + ".txt, .svg and .json", err
	}
}

// gaugeEvery is how often the levels of the pool are read, in the run's time.
const gaugeEvery = 100 * time.Millisecond

// gauges reads the levels of the pool and of sessions, again and again.
type gauges struct{ s *session }

// Entity implements clock.Event.
func (gauges) Entity() uint64 { return 0 }

// Fire implements clock.Event.
func (g gauges) Fire(now clock.Time) {
	s := g.s
	out := &monitor.Gauges{At: now}
	if s.pool != nil {
		out.Replicas = g.replicas(now)
	}
	if s.ofSessions() {
		out.Sessions, out.Live = g.sessions(now)
	}
	s.monitor.Publish(out)
	s.loop.At(now.Add(gaugeEvery), clock.RankSample, g)
}

func (g gauges) replicas(now clock.Time) []monitor.ReplicaGauge {
	s := g.s
	out := make([]monitor.ReplicaGauge, 0, s.pool.Replicas())
	for i := range s.pool.Replicas() {
		if !s.pool.Running(i) {
			continue
		}
		e, l := s.pool.Engine(i).Stats(), s.pool.Load(i)
		stale := monitor.Unknown
		if l.AsOf.Known() {
			stale = monitor.Nanos(now - l.AsOf)
		}
		out = append(out, monitor.ReplicaGauge{
			Name: s.pool.Name(i), Running: e.Running, Waiting: e.Arriving + e.Waiting, KVUsed: e.KVUsed,
			HitTokens: e.PrefixHits, QueryTokens: e.PrefixQueries, Preemptions: e.Preemptions,
			Outstanding: l.Outstanding, Stale: stale,
		})
	}
	return out
}

func (g gauges) sessions(now clock.Time) (monitor.SessionGauge, []monitor.LiveSession) {
	c := g.s.dispatcher.SessionCounts()
	live := make([]monitor.LiveSession, 0, min(c.Live, monitor.KeptLive))
	g.s.dispatcher.LiveSessions(now, func(s *dispatch.LiveSession) bool {
		if len(live) == monitor.KeptLive {
			return false
		}
		live = append(live, monitor.LiveSession{
			ID: s.ID, Tenant: s.Tenant, Arrival: monitor.Nanos(s.Arrival), Age: monitor.Nanos(max(0, now-s.Arrival)),
			ModelTime: monitor.Nanos(s.Model), WaitTime: monitor.Nanos(s.Wait),
			StepsPlanned: s.StepsPlanned, StepsOK: s.StepsOK, StepsFailed: s.StepsFailed, InFlight: monitor.Whole(s.InFlight), Queued: monitor.Whole(s.Queued),
		})
		return true
	})
	return monitor.SessionGauge{
		Scheduled: c.Scheduled, Waiting: c.Waiting, Live: c.Live,
		Completed: c.Outcomes[record.SessionCompleted], Censored: c.Outcomes[record.SessionCensored],
		Failed: c.Outcomes[record.SessionFailed] + c.Outcomes[record.SessionOverflow] + c.Outcomes[record.SessionDropped],
	}, live
}

// cpuMeter measures what the process takes of its processors. It belongs to one
// goroutine at a time.
type cpuMeter struct {
	at    time.Time
	used  time.Duration
	value monitor.Number
}

// cores is the mean over the last second or so; unknown before there was one.
func (c *cpuMeter) cores() monitor.Number {
	used, ok := processorTime()
	now := clock.Wall()
	switch {
	case !ok:
		return monitor.None()
	case c.at.IsZero():
		c.at, c.used, c.value = now, used, monitor.None()
	case now.Sub(c.at) >= time.Second:
		c.value = monitor.Number((used - c.used).Seconds() / now.Sub(c.at).Seconds())
		c.at, c.used = now, used
	}
	return c.value
}
