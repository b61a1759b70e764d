// Package trial runs one fake engine under a load as benchmarks of real engines
// offer it: so many requests in flight, or a batch that starts together. It runs in
// virtual time, so that a prediction takes milliseconds.
//
// It is closed loop, as those benchmarks are, and says nothing of users; goodput's
// own load is in loadgen. It knows no profiles and judges no result.
package trial
