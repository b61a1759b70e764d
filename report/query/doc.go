// Package query reads run directories and computes the figures of one run, as
// typed values: counts, rates and latency summaries.
//
// It judges nothing and prints nothing.
package query
