package dispatch

import (
	"errors"
	"fmt"
	"sort"

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
}

// checkClasses says what is wrong with the order of the classes.
func (c *Config) checkClasses() error {
	for i := range c.Classes {
		switch {
		case c.Sessions != nil:
			return errors.New("classes are of single requests: leave them out of a load of sessions")
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
