package schedule

// None is a schedule without arrivals.
type None struct{}

var _ Source = None{}

// String names the process.
func (None) String() string { return "none" }

// Next returns no arrival.
func (None) Next() (Arrival, bool) { return Arrival{}, false }
