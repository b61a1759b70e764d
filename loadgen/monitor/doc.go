// Package monitor keeps the live picture of a run: counters and a few quantiles,
// overall and over the last seconds, for progress lines and screens.
//
// It is for looking at, not for reporting: a Snapshot is no consistent cut, its
// quantiles are rounded to about two per cent, and nothing is kept that was not
// asked for. In return it never makes the load wait, and what it costs does not
// grow with the run.
//
// Screens want more: a Feed carries what the load does to a Board, which remembers the
// last seconds and the latest requests, and draws a Picture of them. A Feed that is not
// emptied loses events and counts them.
package monitor
