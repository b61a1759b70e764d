package fault

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// State is what is wrong with a replica now.
type State struct {
	// Slow is what step times are multiplied by; 1: nothing.
	Slow float64
	// Stalled is the instant before which no step that begins now ends;
	// clock.Never: no stall.
	Stalled clock.Time
	// Down: it is not there.
	Down bool
	// Out: routers know that it takes no new requests.
	Out bool
	// Status is what requests get instead of an answer, with RetryAfter in the
	// header; 0: an answer.
	Status     int
	RetryAfter time.Duration
	// Truncate: JSON breaks off.
	Truncate bool
	// Usage is what reported token counts are multiplied by; 1: nothing.
	Usage float64
	// NaN: so read all metrics.
	NaN bool
}

// Healthy is the state of a replica that has no fault.
func Healthy() State { return State{Slow: 1, Usage: 1, Stalled: clock.Never} }

// Host is who serves the replicas.
type Host interface {
	// Crash takes replica i away: its requests break off, and it takes no more.
	Crash(i int)
	// Boot brings it back without requests, cached content or history.
	Boot(i int)
	// Admit has routers send to replica i, or not.
	Admit(i int, up bool)
}

// Player plays a script. It belongs to the loop: except for New, its methods
// are called from within events, or before the loop runs.
type Player struct {
	script Script
	loop   clock.Loop
	host   Host
	states []State
	// edges are the instants at which something begins or ends, in order; those
	// before next have passed.
	edges []time.Duration
	next  int
}

var _ clock.Event = (*Player)(nil)

// New returns a player for replicas replicas, all healthy until Start.
func New(s Script, replicas int, loop clock.Loop, h Host) (*Player, error) {
	if loop == nil || h == nil {
		return nil, errors.New("playing faults needs a loop and a host for the replicas")
	}
	if err := s.Check(replicas); err != nil {
		return nil, err
	}
	p := &Player{script: s, loop: loop, host: h, states: make([]State, replicas)}
	for i := range p.states {
		p.states[i] = Healthy()
	}
	for i := range s {
		f := &s[i]
		if _, err := f.check(); err != nil {
			return nil, fmt.Errorf("fault %d: %w", i+1, err)
		}
		p.edges = append(p.edges, f.At)
		if f.For > 0 {
			p.edges = append(p.edges, f.end())
		}
	}
	slices.Sort(p.edges)
	p.edges = slices.Compact(p.edges)
	return p, nil
}

// Start arranges for the faults. Those whose instant has passed happen at once.
// The next one is always an event on the loop, so that a virtual loop goes on to
// the end of the script unless it is stopped.
func (p *Player) Start() {
	for i := range p.states {
		if p.states[i] = p.state(i, -1); p.states[i].Down {
			p.host.Crash(i)
			p.host.Admit(i, false)
		}
	}
	p.arm()
}

// arm has one event on the loop at a time.
func (p *Player) arm() {
	if p.next < len(p.edges) {
		p.loop.At(clock.Time(p.edges[p.next]), clock.RankControl, p)
	}
}

// Fire implements clock.Event. It works with the instants of the script, so that
// a late start plays the same in the same order.
func (p *Player) Fire(clock.Time) {
	now := p.edges[p.next]
	p.next++
	for i := range p.states {
		was, out := p.states[i].Down, p.states[i].Out
		p.states[i] = p.state(i, now)
		down := p.states[i].Down
		struck := down && !was
		for k := range p.script {
			f := &p.script[k]
			struck = struck || f.Kind == Restart && f.At == now && f.hits(i) && !was
		}
		if struck {
			p.host.Crash(i)
		}
		if !down && (was || struck) {
			p.host.Boot(i)
		}
		if p.states[i].Out != out {
			p.host.Admit(i, out)
		}
	}
	p.arm()
}

// Entity implements clock.Event. There is one player to a loop.
func (p *Player) Entity() uint64 { return 0 }

// state is what the script says of replica i at now. It is made anew at each edge:
// factors that were taken back would leave rounding errors.
func (p *Player) state(i int, now time.Duration) State {
	s := Healthy()
	for k := range p.script {
		f := &p.script[k]
		if f.Kind == Join && f.hits(i) && now < f.At {
			s.Down, s.Out = true, true
		}
		if !f.hits(i) || now < f.At || now >= f.end() {
			continue
		}
		switch f.Kind {
		case Slow:
			s.Slow *= f.Factor
		case Stall:
			s.Stalled = max(s.Stalled, clock.Time(f.end()))
		case Kill:
			s.Down = true
		case HTTP:
			s.Status, s.RetryAfter = f.Status, f.RetryAfter
		case Truncate:
			s.Truncate = true
		case Usage:
			s.Usage *= f.Factor
		case Metrics:
			s.NaN = true
		case Drain:
			s.Out = true
		}
	}
	s.Slow, s.Usage = min(s.Slow, maxFactor), min(s.Usage, maxFactor)
	return s
}

// Event is a fault that began or ended.
type Event struct {
	At      time.Duration // by the script, from the loop's epoch
	Replica int           // or All
	What    string        // the fault, for people
	Over    bool          // it ended
}

// History is what has happened so far, in order of time.
func (p *Player) History() []Event {
	var out []Event
	for _, now := range p.edges[:p.next] {
		for k := range p.script {
			f := &p.script[k]
			if f.For > 0 && f.end() == now {
				out = append(out, Event{At: now, Replica: f.Replica, What: f.String(), Over: true})
			}
		}
		for k := range p.script {
			if f := &p.script[k]; f.At == now {
				out = append(out, Event{At: now, Replica: f.Replica, What: f.String()})
			}
		}
	}
	return out
}

// State is the state of replica i.
func (p *Player) State(i int) *State { return &p.states[i] }

// Model returns m with the slowness and the stalls of replica i, and m itself if
// the script has none for it: a model that stands for itself can be summed over
// many steps, one that looks at the time cannot.
func (p *Player) Model(i int, m steptime.Model) steptime.Model {
	for k := range p.script {
		f := &p.script[k]
		if f.hits(i) && (f.Kind == Slow || f.Kind == Stall) {
			return &hampered{model: m, player: p, replica: i}
		}
	}
	return m
}

// hampered is a step-time model that follows a replica's state.
type hampered struct {
	model   steptime.Model
	player  *Player
	replica int
}

var _ steptime.Model = (*hampered)(nil)

// Step is the duration, in picoseconds, of a step that begins now.
func (h *hampered) Step(b *steptime.Batch) int64 { return h.now(h.model.Step(b)) }

// Mean is what Step varies around, if the model below has chance in it; it leaves
// no trace.
func (h *hampered) Mean(b *steptime.Batch) int64 {
	if m, ok := h.model.(interface {
		Mean(b *steptime.Batch) int64
	}); ok {
		return h.now(m.Mean(b))
	}
	return h.Step(b)
}

// now is how long a step of ps takes if it begins now.
func (h *hampered) now(ps int64) int64 {
	s := &h.player.states[h.replica]
	if s.Slow != 1 {
		ps = int64(float64(ps) * s.Slow)
	}
	if now := h.player.loop.Now(); s.Stalled > now {
		ps += int64(s.Stalled-now) * 1000
	}
	return ps
}
