package dispatch

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"goodput/datasets"
	"goodput/loadgen/observe"
	"goodput/loadgen/schedule"
)

// Class is what the requests of one class have in common.
type Class struct {
	// Name goes into the rows.
	Name string
	// First is the number of the first item that the class asks for. Classes are in this
	// order, and the first class begins at 0: what is asked for says of which class a
	// request is.
	First uint64
	// SLO, IgnoreEOS, Assign and Priority are as those of Config, which do not count for
	// a load of classes. Assign goes by the number of the item within the class, so that
	// no class changes what the others get.
	SLO       observe.SLO
	IgnoreEOS bool
	Assign    *Assignment
	Priority  int
	// Sessions, if not nil, are what the arrivals of the class start: item First+i is
	// session i. MaxInFlight, Live and ContinueOnError are as those of Config, too. So that
	// no two sessions of a run have one name, bits from ClassBit on of theirs say of which class
	// they are, and are 0 for the first.
	Sessions        datasets.SessionSet
	MaxInFlight     int
	Live            bool
	ContinueOnError bool
}

// ClassBit is where the number of the class begins in the name of a session, which
// datasets.Join does alike.
const ClassBit = 48

// inSessions reports whether arrivals start sessions, those of some classes at least.
func (c *Config) inSessions() bool {
	return c.Sessions != nil || slices.ContainsFunc(c.Classes, func(x Class) bool { return x.Sessions != nil })
}

// checkClasses says what is wrong with the order of the classes.
func (c *Config) checkClasses() error {
	for i := range c.Classes {
		switch {
		case c.Sessions != nil:
			return errors.New("a load of classes has no sessions of its own: give them to a class")
		case c.Classes[i].MaxInFlight < 0:
			return fmt.Errorf("class %s: the bound of a session's steps in flight is negative: give 0 for none", c.Classes[i].Name)
		case c.Classes[i].Sessions != nil && (c.MaxConcurrency > 0 || c.Closed != nil || c.MaxSessions > 0):
			return fmt.Errorf("class %s is of sessions, and a bound of what is in flight is for single requests: leave out one of the two", c.Classes[i].Name)
		case i == 0 && c.Classes[0].First != 0:
			return fmt.Errorf("the first class begins at item %d, and nobody has those before: begin at 0", c.Classes[0].First)
		case i > 0 && c.Classes[i].First < c.Classes[i-1].First:
			return fmt.Errorf("class %s begins before class %s: sort them by their first items", c.Classes[i].Name, c.Classes[i-1].Name)
		}
	}
	return nil
}

// classOf is the number of the class of an arrival, from 1; 0: the load has no classes.
func (d *Dispatcher) classOf(due schedule.Arrival) uint16 {
	list := d.cfg.Classes
	return uint16(sort.Search(len(list), func(i int) bool { return list[i].First > due.Item }))
}

// class is what holds for the requests of a class by its number; 0: for all.
func (d *Dispatcher) class(n uint16) *Class {
	if n == 0 || int(n) > len(d.cfg.Classes) {
		return &d.plain
	}
	return &d.cfg.Classes[n-1]
}
