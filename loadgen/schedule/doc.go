// Package schedule says when requests are due. An arrival process is fixed before
// the run: a pure function of its Config, whose seed is part of it. How the target
// fares, and whether anybody reads the schedule late, changes nothing in it.
//
// Each random process is drawn at unit rate and then scaled, so that two runs of
// one seed at different rates have the same pattern, stretched. The sum of gaps is
// never scaled to a wished-for total: a mean rate is that of the process, and a
// sample of it varies as it must. A rate that changes over time, in stages or in
// random bursts, stretches the unit-rate process by the inverse of its integral,
// which is exact and needs no rejected draws.
//
// It does not wait, send, or know what a request contains.
package schedule
