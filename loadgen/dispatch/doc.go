// Package dispatch offers the load: when the schedule says so it hands a request
// to the target, whatever became of the ones before, and it accounts for every
// single one until it has a row. It also ends the run: a drain with a deadline
// after the last arrival, or sooner if interrupted.
//
// It neither decides when requests are due (package schedule) nor sends anything
// (package target), it judges no answer (package observe), and it keeps nothing of
// a request that has ended but counts.
package dispatch
