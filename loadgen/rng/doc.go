// Package rng gives named streams of random numbers. Every random choice of a
// run comes from a stream named by (seed, name, id): the run's seed, what the
// choice is for, and whom it is for. A stream's values depend on nothing else,
// so neither the order of execution nor a choice made elsewhere can move them.
//
// The values that a seed stands for are frozen: the seeding and the maths of
// each distribution are written out here, and tests hold their first values.
// Integers, Float64, IntN and Shuffle are the same on all processors; Exp, Norm
// and Gamma may differ in the last bits where the compiler fuses a product and a
// sum.
//
// It is not for secrets, it never reads the clock or the system's entropy, and it
// holds no shared state: a Stream belongs to one goroutine.
package rng
