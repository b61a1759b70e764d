package fault

import (
	"fmt"
	"math"
	"time"
)

// Kind is what goes wrong.
type Kind uint8

// The kinds; the package documentation says what they do.
const (
	Slow Kind = iota
	Stall
	Kill
	Restart
	HTTP
	Truncate
	Usage
	Metrics
	Drain
	Join
)

var names = [...]string{"slow", "stall", "kill", "restart", "http", "truncate", "usage", "metrics", "drain", "join"}

// String is the kind's key in a script.
func (k Kind) String() string { return names[k] }

// All is the Replica of a fault that befalls every one.
const All = -1

// Fault is one entry of a script.
type Fault struct {
	// At is when it begins, counted from the loop's epoch; of a Join, until when the
	// replica is not there.
	At time.Duration
	// For is how long it lasts; 0: to the end, or for a Restart and a Join, no time at all.
	For time.Duration
	// Replica is a number from 0, or All.
	Replica int
	Kind    Kind
	// Factor of Slow and Usage.
	Factor float64
	// Status of HTTP, and what its header Retry-After says; 0: no such header.
	Status     int
	RetryAfter time.Duration
}

// String is the fault without its time and place, as in "slow 2".
func (f *Fault) String() string {
	switch f.Kind {
	case Slow, Usage:
		return fmt.Sprintf("%s %v", f.Kind, f.Factor)
	case HTTP:
		return fmt.Sprintf("%s %d", f.Kind, f.Status)
	}
	return f.Kind.String()
}

// OnWire reports whether only what goes over a network shows the fault: the
// metrics, which engines in process do not publish.
func (f *Fault) OnWire() bool { return f.Kind == Metrics }

// Script is a list of faults, in any order.
type Script []Fault

// The bounds keep sums of picoseconds within an int64.
const (
	maxTime   = 1000 * time.Hour
	maxFactor = 1000
)

// Check finds what replicas replicas cannot play.
func (s Script) Check(replicas int) error {
	for i := range s {
		if r := s[i].Replica; r >= replicas {
			return fmt.Errorf("fault %d (%s at %v): replica %d does not exist: there are %d, counted from 0", i+1, s[i].Kind, s[i].At, r, replicas)
		}
	}
	return nil
}

// check finds a value that makes no sense, and the key that holds it.
func (f *Fault) check() (key string, err error) {
	switch {
	case f.At < 0 || f.At > maxTime:
		return "at", fmt.Errorf("at is %v: write an instant from 0s to %v", f.At, maxTime)
	case f.For < 0 || f.For > maxTime:
		return "for", fmt.Errorf("for is %v: write a length above 0s, up to %v", f.For, maxTime)
	case f.Replica < All:
		return "replica", fmt.Errorf("replica is %d: write a number from 0, or leave it out for all", f.Replica)
	case f.Kind == Slow && !(f.Factor >= 1 && f.Factor <= maxFactor):
		return "slow", fmt.Errorf("slow is %v: write a factor from 1 to %d; 2 is half as fast", f.Factor, maxFactor)
	case f.Kind == Usage && !(f.Factor >= 0 && f.Factor <= maxFactor):
		return "usage", fmt.Errorf("usage is %v: write a factor from 0 to %d; 1 is the truth", f.Factor, maxFactor)
	case f.Kind == HTTP && (f.Status < 400 || f.Status > 599):
		return "http", fmt.Errorf("http is %d: write the status of an error, from 400 to 599", f.Status)
	case f.RetryAfter < 0 || f.RetryAfter > maxTime || f.RetryAfter%time.Second != 0:
		return "retry_after", fmt.Errorf("retry_after is %v: the header counts whole seconds, up to %v", f.RetryAfter, maxTime)
	case f.Kind == Stall && f.For == 0:
		return "stall", fmt.Errorf("a stall has no end: add for, such as for: 5s")
	case f.Kind == Restart && f.For != 0:
		return "for", fmt.Errorf("a restart takes no time: leave for out, or write kill for a replica that stays down")
	case f.Kind == Join && f.For != 0:
		return "for", fmt.Errorf("a replica joins once: leave for out, and write drain for one that leaves again")
	}
	return "", nil
}

// end is the instant from which f is over.
func (f *Fault) end() time.Duration {
	switch {
	case f.Kind == Restart || f.Kind == Join:
		return f.At
	case f.For == 0:
		return math.MaxInt64
	}
	return f.At + f.For
}

// hits reports whether f befalls replica i.
func (f *Fault) hits(i int) bool { return f.Replica == All || f.Replica == i }
