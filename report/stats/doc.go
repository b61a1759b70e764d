// Package stats turns observations into figures: exact nearest-rank quantiles,
// histogram quantiles where there are too many values to keep, and the sample
// sizes below which a quantile is not printed.
//
// It knows nothing of requests, files or units.
package stats
