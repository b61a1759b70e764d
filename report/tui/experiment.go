package tui

// Experiment is a Source that makes many runs, and tells how far it is with them. Its
// Picture is of the run under way, or says only what the experiment is.
type Experiment interface {
	Doing() Doing
}

// Doing is how far an experiment is. What it points to does not change.
type Doing struct {
	Search     *Search     // of a sweep; nil: it is none
	Comparison *Comparison // nil: it is none
}
