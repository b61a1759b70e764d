// Package clock is where time lives. One core, two clocks: every state machine
// of goodput (dispatcher, engines, router, pool) is written against Loop, and
// runs unchanged on Virtual (a heap, as fast as the processor allows) or on
// Real (the same heap drained on the wall clock).
//
// It is the only package that reads the wall clock or sleeps. It does not know
// what the events do, its loops start no goroutine of their own (only Every, for
// displays, does), and it never compares clocks of two machines.
package clock
