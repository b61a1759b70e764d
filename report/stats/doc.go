// Package stats turns observations into figures, in memory that does not grow with
// their number: nearest-rank quantiles, exact or, where there are too many values
// to keep, of narrow buckets, and the sample sizes below which a quantile is not
// printed; and what independent runs say: intervals, tests of paired differences,
// and how many independent values a correlated series is worth.
//
// It knows nothing of requests, files or units.
package stats
