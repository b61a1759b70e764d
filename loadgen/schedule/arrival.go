package schedule

import "goodput/loadgen/clock"

// Arrival is one request that becomes due.
type Arrival struct {
	// Seq numbers the arrivals of a run from 0, in order of At.
	Seq uint64
	// At is the intended instant.
	At clock.Time
	// Class, Session and Turn say whom the request belongs to; 0 is none.
	Class   uint16
	Session uint64
	Turn    uint16
	// Item is the row of the dataset to ask.
	Item uint64
	// Warm marks an arrival before the window: it is sent and recorded, and counts for
	// nothing. All of them come before those that count, whose At begins anew.
	Warm bool
}

// Source yields arrivals in order of time; false is the end.
type Source interface {
	Next() (Arrival, bool)
}
