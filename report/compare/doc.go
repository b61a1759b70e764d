// Package compare reads sets of runs, several arms with the same seeds, and tells how
// the arms differ: a table of figures, and paired differences against the first arm with
// an interval over seeds. It also takes from a run the statistic that a gate is about.
//
// All arms of a seed meet the same arrivals and the same prompts, so that their
// difference varies much less than each of them; and the run, not the request, is what
// is replicated.
//
// It runs nothing, and passes or fails nothing.
package compare
