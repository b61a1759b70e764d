// Package report is what happens after (and beside) a run. Start here:
//
//   - stats: quantiles and when they may be printed
//   - query: reads a run directory, and the figures of one run
//   - health: was the generator itself well enough for the figures to count?
//   - gate: rules by which a build passes or fails, and their verdicts
//   - knee: the highest rate at which an objective holds
//   - render: the figures as text and JSON
//   - plot: marks of charts, as SVG and for terminals
//
// Nothing below this folder touches the wire or offers load.
package report
