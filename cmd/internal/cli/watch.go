package cli

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/muesli/termenv"
	"github.com/spf13/cobra"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/report/tui"
)

func newWatch(env *Env) *cobra.Command {
	speed := "1"
	c := &cobra.Command{
		Use:   "watch RUN|URL",
		Short: "show a run that goes on, or replay one that is over",
		Long: `Watch shows the views of run --tui: of a run directory that another process is
writing, of a finished one, which it replays, or of the address of a run with
--monitor-listen. Of a sweep or a comparison, under way or over, it shows the curve
or the arms. It writes nothing into the run. Without a terminal it prints a line every five
seconds.`,
		Example: "  goodput watch runs/a\n  goodput watch runs/a --speed 10\n  goodput watch http://127.0.0.1:9100",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var p plan.Plan
			if err := p.Speed.UnmarshalText([]byte(speed)); err != nil {
				return fmt.Errorf("--speed: %w", err)
			}
			source, err := openWatch(args[0], p.Speed)
			if err != nil {
				return err
			}
			if env.Screen == nil {
				return watchLines(env, source)
			}
			return watchScreen(env, source)
		},
	}
	c.Flags().StringVar(&speed, "speed", speed, "seconds of a finished run per second; max: show its end at once")
	return c
}

// openWatch opens a run directory or an address.
func openWatch(name string, speed plan.Speed) (tui.Source, error) {
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		return &remote{base: name}, nil
	}
	if f, ok, err := follow(name); ok || err != nil {
		return f, err
	}
	if x, err := openExperiment(name); x != nil || err != nil {
		return x, err
	}
	run, err := record.Open(name)
	if err != nil {
		return nil, err
	}
	p, err := recordedPlan(name)
	if err != nil {
		return nil, err
	}
	slo, err := recordedSLO(name)
	if err != nil {
		return nil, err
	}
	about := aboutRun(&p, slo, filepath.Base(name)+": "+run.Manifest.Target["text"])
	if run.Manifest.State == record.Running {
		return &tailing{dir: name, tail: record.NewTail(name), board: monitor.NewBoard(about), about: about}, nil
	}
	return newReplay(run, about, speed)
}

// watchScreen shows source until the user ends the view, or a signal does.
func watchScreen(env *Env, source tui.Source) error {
	signals, release := env.interrupts()
	defer release()
	p, closeScreen := showOn(env, func(stale func() bool) tui.Model {
		return tui.New(source, tui.Options{Colors: tui.Colors(env.Getenv), Screens: screensFor(source), Stale: stale, Save: saver(".")})
	})
	defer closeScreen()
	select {
	case <-signals:
		return p.Stop()
	case <-p.Done():
		return p.Wait()
	}
}

// screensFor are the screens of what is watched.
func screensFor(source tui.Source) []tui.Screen {
	x, ok := source.(tui.Experiment)
	switch {
	case !ok:
		return nil
	case x.Doing().Comparison != nil && len(x.Doing().Comparison.Costs) > 0:
		return []tui.Screen{tui.Compare, tui.Spans}
	case x.Doing().Comparison != nil:
		return []tui.Screen{tui.Compare}
	}
	return []tui.Screen{tui.Knee}
}

// watchLines prints progress until the run is over, or a signal comes.
func watchLines(env *Env, source tui.Source) error {
	x, _ := source.(*followed)
	if x != nil {
		if err := followLines(env, x); err != nil || x.over == nil {
			return err
		}
	}
	if screens := screensFor(source); screens != nil {
		text, err := tui.Frame(source, tui.Options{Colors: termenv.Ascii, Screens: screens}, 120, 40)
		if err == nil {
			_, err = fmt.Fprintln(env.Stdout, text)
		}
		return err
	}
	signals, release := env.interrupts()
	defer release()
	lines := make(chan error, 1)
	var once sync.Once
	tell := func() {
		p, err := source.Picture(monitor.Query{Window: monitor.Window})
		if err == nil {
			printPicture(env, &p)
		}
		if err != nil || p.State != "running" {
			once.Do(func() { lines <- err })
		}
	}
	tell()
	stop := clock.Every(linesEvery, tell)
	defer stop()
	select {
	case <-signals:
		return nil
	case err := <-lines:
		return err
	}
}

// followLines tells how far an experiment is until it is over, or a signal comes.
func followLines(env *Env, x *followed) error {
	signals, release := env.interrupts()
	defer release()
	ticks := make(chan struct{}, 1)
	tick := func() {
		select {
		case ticks <- struct{}{}:
		default:
		}
	}
	tick()
	stop := clock.Every(progressEvery, tick)
	defer stop()
	said := ""
	for x.over == nil && x.at.Picture.State != "gone" {
		select {
		case <-signals:
			return nil
		case <-ticks:
		}
		x.polls = -1 // look at the file each time
		if _, err := x.Picture(monitor.Query{}); err != nil {
			return err
		}
		if line := x.line(); line != said && x.over == nil {
			fmt.Fprintln(env.Stdout, line)
			said = line
		}
	}
	if x.over == nil {
		return exitf(exitTarget, "%s: nobody has told for %v how far it is: was the process that makes it killed?", x.dir, progressGone)
	}
	return nil
}

// line is how far the experiment is.
func (f *followed) line() string {
	if c := f.at.Doing.Comparison; c != nil {
		var parts []string
		for _, a := range c.Arms {
			parts = append(parts, fmt.Sprintf("%s %d/%d", a.Name, a.Done, c.Seeds))
		}
		return tui.Clean(strings.Join(append(parts, "under way: "+strings.Join(c.UnderWay, ", ")), "  "))
	}
	s := f.at.Doing.Search
	if s == nil || len(s.Objectives) == 0 {
		return "no trial yet"
	}
	o := &s.Objectives[len(s.Objectives)-1]
	line := fmt.Sprintf("%s  %d trials", o.SLO, len(o.Trials))
	if n := len(o.Seeds); n > 0 {
		line += fmt.Sprintf(", %d of %d seeds settled", o.Settled, n)
	}
	return tui.Clean(strings.TrimSpace(line))
}

func printPicture(env *Env, p *monitor.Picture) {
	var ended, errs int64
	for _, c := range p.Outcomes {
		switch c.Name {
		case record.OK.String():
			ended = c.N
		case record.Censored.String():
		default:
			errs += c.N
		}
	}
	line := fmt.Sprintf("%s  %s  sent %d  done %d  errors %d", time.Duration(p.Elapsed).Round(time.Second), tui.Clean(p.State), p.Sent, ended, errs)
	if p.TTFT.P95.Known() {
		line += fmt.Sprintf("  ttft p95 %.0f ms", float64(p.TTFT.P95)/1e6)
	}
	fmt.Fprintln(env.Stdout, line)
}

// replay shows a finished run as it went, from its rows.
type replay struct {
	board    *monitor.Board
	snap     account
	times    []int64 // when requests were sent, in order
	sent     int     // of them, those up to now
	next     func() (*record.Request, error, bool)
	pending  *record.Request // the next row; nil: none is left
	at       clock.Time      // of pending
	sessions []record.Session
	ended    int // of sessions
	seen     seenSessions
	end      clock.Time
	speed    plan.Speed
	clock    *clock.Real // starts with the first picture; nil: at once to the end
	state    string
}

var _ tui.Source = (*replay)(nil)

// newReplay reads the times of all requests, so that it can tell how many are in flight;
// the rows follow as they come up.
func newReplay(run *record.Run, about monitor.About, speed plan.Speed) (*replay, error) {
	r := &replay{board: monitor.NewBoard(about), speed: speed, state: "over"}
	if run.Manifest.State == record.Interrupted {
		r.state = "interrupted"
	}
	err := run.Requests(func(q *record.Request) error {
		if q.Final && q.Phase != record.Probe {
			r.times = append(r.times, int64(q.Dispatched))
			r.end = max(r.end, monitor.Ended(q))
		}
		return nil
	}, record.Columns("final", "phase", "dispatched", "last_token", "done", "closed"))
	if err != nil {
		return nil, err
	}
	r.times = slices.DeleteFunc(r.times, func(t int64) bool { return t == record.Null })
	slices.Sort(r.times)
	r.snap.Total = int64(len(r.times))
	if _, err := run.Sessions(func(s *record.Session) error { r.sessions = append(r.sessions, *s); return nil }); err != nil {
		return nil, err
	}
	sort.SliceStable(r.sessions, func(i, j int) bool { return r.sessions[i].Ended < r.sessions[j].Ended })
	if !speed.Virtual() {
		if r.clock, err = clock.NewReal(clock.Speed(float64(speed))); err != nil {
			return nil, err
		}
	}
	r.next, _ = iter.Pull2(rows(run))
	return r, r.advance()
}

// rows are the final attempts, in the order in which they ended.
func rows(run *record.Run) iter.Seq2[*record.Request, error] {
	return func(yield func(*record.Request, error) bool) {
		stop := errors.New("stop")
		err := run.Requests(func(q *record.Request) error {
			if q.Final && q.Phase != record.Probe && !yield(q, nil) {
				return stop
			}
			return nil
		}, record.WithoutGaps())
		if err != nil && !errors.Is(err, stop) {
			yield(nil, err)
		}
	}
}

// advance fetches the next row.
func (r *replay) advance() error {
	q, err, ok := r.next()
	if r.pending = q; !ok || err != nil {
		r.pending = nil
		return err
	}
	r.at = monitor.Ended(q)
	return nil
}

// Picture implements tui.Source.
func (r *replay) Picture(q monitor.Query) (monitor.Picture, error) {
	now := r.end
	if r.clock != nil {
		r.clock.Start(0)
		now = min(r.clock.Stamp(), r.end)
	}
	for ; r.sent < len(r.times) && r.times[r.sent] <= int64(now); r.sent++ {
		r.board.Started(clock.Time(r.times[r.sent]))
	}
	for r.pending != nil && r.at <= now {
		note(&r.snap, r.board, r.at, r.pending)
		r.seen.step(r.pending)
		if err := r.advance(); err != nil {
			return monitor.Picture{}, err
		}
	}
	for ; r.ended < len(r.sessions) && r.sessions[r.ended].Ended <= now; r.ended++ {
		r.board.Session(&r.sessions[r.ended])
		r.seen.end(&r.sessions[r.ended])
	}
	r.snap.Elapsed, r.snap.Sent = now, int64(r.sent)
	r.snap.InFlight = r.snap.Sent - ended(&r.snap)
	p := r.board.Draw(&r.snap.Snapshot, r.seen.gauges(now), q)
	if now == r.end {
		p.State = r.state
	}
	return p, nil
}

// account is a Snapshot made of rows.
type account struct {
	monitor.Snapshot
	unsent int64 // requests that ended without having been sent
}

// note counts a request that ended at the given instant.
func note(s *account, b *monitor.Board, at clock.Time, q *record.Request) {
	b.Ended(at, q)
	s.Outcomes[q.Outcome]++
	if q.OutputTokens == record.Null32 {
		s.UnknownTokens++
	} else {
		s.OutputTokens += int64(q.OutputTokens)
	}
	if !q.Dispatched.Known() {
		s.unsent++
	}
}

// ended counts the requests that were sent and have ended.
func ended(s *account) int64 {
	n := -s.unsent
	for _, c := range s.Outcomes {
		n += c
	}
	return n
}

// tailing shows a run that another process writes.
type tailing struct {
	dir   string
	tail  *record.Tail
	board *monitor.Board
	about monitor.About
	snap  account
	seen  seenSessions
	state string
	polls int
}

var _ tui.Source = (*tailing)(nil)

// tailEvery is how many pictures are drawn of one look at the files.
const tailEvery = 5

// Picture implements tui.Source. Requests are told of as they end, so that of those in
// flight nobody knows.
func (t *tailing) Picture(q monitor.Query) (monitor.Picture, error) {
	if t.polls%tailEvery == 0 && t.state == "" {
		state, err := t.tail.Next(func(r *record.Request) error {
			if !r.Final {
				return nil
			}
			at := monitor.Ended(r)
			if r.Dispatched.Known() {
				t.board.Started(r.Dispatched)
				t.snap.Sent++
			}
			note(&t.snap, t.board, at, r)
			t.seen.step(r)
			t.snap.Elapsed = max(t.snap.Elapsed, at)
			return nil
		})
		if err == nil {
			err = t.tail.Sessions(func(s *record.Session) error {
				t.board.Session(s)
				t.seen.end(s)
				return nil
			})
		}
		if err != nil {
			return monitor.Picture{}, err
		}
		switch state {
		case record.Complete:
			t.state = "over"
		case record.Interrupted:
			t.state = "interrupted"
		}
	}
	t.polls++
	t.snap.InFlight, t.snap.Total = record.Null, t.about.Total
	p := t.board.Draw(&t.snap.Snapshot, t.seen.gauges(t.snap.Elapsed), q)
	if t.state != "" {
		p.State = t.state
	}
	return p, nil
}
