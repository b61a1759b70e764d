package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/report/tui"
)

// lab is what looks on while many runs are made: the experiment as a whole, which its
// driver tells of, and the run in real time that is under way. It may be used from
// several goroutines. A nil one looks at nothing.
type lab struct {
	title string
	total int // runs; 0: not known
	begun int64
	cpu   cpuMeter

	mu    sync.Mutex
	doing tui.Doing
	done  int
	run   *board // nil: none is under way, or all are in virtual time
}

var (
	_ tui.Source     = (*lab)(nil)
	_ tui.Experiment = (*lab)(nil)
)

func newLab(title string, total int) *lab {
	return &lab{title: title, total: total, begun: clock.Wall().UnixNano()}
}

// Picture implements tui.Source.
func (l *lab) Picture(q monitor.Query) (monitor.Picture, error) {
	l.mu.Lock()
	run, p := l.run, l.whole()
	l.mu.Unlock()
	if run != nil {
		return run.Picture(q)
	}
	p.CPU = l.cpu.cores()
	return p, nil
}

// whole is the picture of the experiment itself; the lock is held.
func (l *lab) whole() monitor.Picture {
	p := monitor.Blank(l.title)
	p.Total, p.Sent, p.InFlight = int64(l.total), int64(l.done), 0
	p.Elapsed = monitor.Nanos(clock.Wall().UnixNano() - l.begun)
	return p
}

// Doing implements tui.Experiment.
func (l *lab) Doing() tui.Doing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doing
}

// watch makes b the run that is looked at; nil: it is over.
func (l *lab) watch(b *board) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = b
}

// screens are those of an experiment, whose runs can be looked at if they take their
// time.
func screensOf(of tui.Screen, real bool) []tui.Screen {
	if !real {
		return []tui.Screen{of}
	}
	return append([]tui.Screen{of}, tui.OfRun()...)
}

// addLab adds the flag --tui of an experiment.
func (l *liveFlags) addLab(c *cobra.Command) {
	c.Flags().BoolVar(&l.tui, "tui", false, "show how far it is on the whole terminal while it goes on (? for the keys), and the run under way if it is in real time; lines if there is no terminal")
}

// show shows the experiment on the whole screen until stop is called; q is an interrupt.
func (l *lab) show(env *Env, live *liveFlags, screens []tui.Screen, dir string) (stop func()) {
	interrupt := env.interruptible()
	live.held.hold()
	p, closeScreen := showOn(env, func(stale func() bool) tui.Model {
		return tui.New(l, tui.Options{Colors: tui.Colors(env.Getenv), Screens: screens, Stop: interrupt, Stale: stale, Save: saver(dir)})
	})
	return sync.OnceFunc(func() {
		err := p.Stop()
		closeScreen()
		live.held.release()
		if err != nil {
			fmt.Fprintf(env.Stderr, "goodput: --tui: %v\n", err)
		}
	})
}

// interruptible makes a function that does what Ctrl-C does, to whoever catches it from
// now on.
func (e *Env) interruptible() (interrupt func()) {
	keys := make(chan os.Signal, 4)
	catch := e.Catch
	e.Catch = func() (<-chan os.Signal, func()) {
		out, over := make(chan os.Signal, 4), make(chan struct{})
		var signals <-chan os.Signal
		release := func() {}
		if catch != nil {
			signals, release = catch()
		}
		go func() {
			for {
				var s os.Signal
				select {
				case s = <-signals:
				case s = <-keys:
				case <-over:
					return
				}
				select {
				case out <- s:
				case <-over:
					return
				}
			}
		}()
		return out, sync.OnceFunc(func() {
			close(over)
			release()
		})
	}
	return func() {
		select {
		case keys <- os.Interrupt:
		default: // nobody reads, and it was said often enough
		}
	}
}

// probes are the trials under way, in the order of their seeds.
type probes []tui.Probe

func (p probes) with(x tui.Probe) probes {
	out := append(slices.Clone(p), x)
	slices.SortStableFunc(out, func(a, b tui.Probe) int { return cmp.Compare(a.Seed, b.Seed) })
	return out
}

func (p probes) without(seed uint64) probes {
	return slices.DeleteFunc(slices.Clone(p), func(x tui.Probe) bool { return x.Seed == seed })
}

// finished is an experiment that is over, as its files tell.
type finished struct {
	pic   monitor.Picture
	doing tui.Doing
}

var (
	_ tui.Source     = (*finished)(nil)
	_ tui.Experiment = (*finished)(nil)
)

// Picture implements tui.Source.
func (f *finished) Picture(monitor.Query) (monitor.Picture, error) { return f.pic, nil }

// Doing implements tui.Experiment.
func (f *finished) Doing() tui.Doing { return f.doing }
