// Package gate holds the rules by which a build passes or fails, such as
// "ttft p(95) <= 800ms" and "ttft p(99) vs baseline <= +10%": their grammar, their
// verdicts from one statistic a run, and the verdicts as text, JSON, JUnit XML,
// Markdown and GitHub annotations.
//
// The run is the unit of replication, never the request: requests of one run are
// correlated, and tests that take them for independent reject a true null in a
// third to nine tenths of runs near the knee. A rule without data is invalid, not
// passed.
//
// It reads no files and offers no load: whoever calls it has the statistics.
package gate
