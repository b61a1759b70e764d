// Package steptime says how long one engine step takes, in whole picoseconds: as
// a bill of named parts, computed from a GPU profile and a model profile, or
// looked up in measured times of a GPU's kernels, with what several GPUs spend on
// talking to each other.
//
// It knows batches as sums, not sequences; it schedules nothing and reads no
// clock.
package steptime
