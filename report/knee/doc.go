// Package knee searches the highest open-loop rate at which a service level
// objective holds: per seed by a bracket and bisection of the logarithm of the
// rate, over several seeds, with the interval between seeds. It also has the rules
// that end a trial early without changing its verdict, the detector of a backlog
// that grows without bound, and, where no objective is given, the inflections of a
// curve.
//
// A knee is one for trials of N requests: short trials pass at rates that long ones
// do not, by a tenth and more with a few hundred requests. N therefore belongs to
// the figure.
//
// It runs no trial: a Prober does.
package knee
