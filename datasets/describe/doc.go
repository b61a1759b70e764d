// Package describe computes the statistics of a trace while it is read: arrivals,
// lengths, the reuse of prefixes that an endless cache would find, sessions, and
// warnings of the known traps of the formats.
//
// Definitions. A CV is the standard deviation over the mean, and CV² its square, of
// the population. Quantiles interpolate linearly between ranks; lengths of up to
// 2^18 tokens are counted exactly, longer ones to 0.2 %. The dispersion of arrivals
// in whole bins of w seconds is the variance of their counts over the mean, which is
// 1 for a Poisson process. Token hits are those of the leading spans of a prompt that an
// earlier row had, or that a session keeps of the context before. A session that is
// inferred from chained blocks continues the earlier row whose last full block lies
// deepest on its own chain, the first block aside, which many sessions share.
//
// Memory does not grow with the number of rows: beyond 2^20 distinct blocks the
// reuse is estimated from a sample of them, drawn by a hash of the block (SHARDS,
// Waldspurger et al., FAST 2015), and sessions are counted up to 2^20. Formats that
// are not in order of time cost 8 bytes for each row, for the arrivals.
//
// It reads no formats (package trace) and prints nothing.
package describe
