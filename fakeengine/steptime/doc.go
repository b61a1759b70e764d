// Package steptime says how long one engine step takes: a bill of named parts,
// computed from a GPU profile and a model profile, in whole picoseconds.
//
// It knows batches as sums, not sequences; it schedules nothing and reads no
// clock.
package steptime
