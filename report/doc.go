// Package report is what happens after (and beside) a run. Start here:
//
//   - stats: quantiles and when they may be printed
//   - query: reads a run directory, and the figures of one run
//   - health: was the generator itself well enough for the figures to count?
//   - gate: rules by which a build passes or fails, and their verdicts
//   - knee: the highest rate at which an objective holds
//   - diagnose: what went wrong, with its evidence and remedy
//   - compare: arms on the same arrivals, in pairs
//   - render, html, vllm: the figures as text, Markdown and JSON, as a page, and in
//     the form of vLLM's benchmark
//   - tui: the live view
//   - plot: marks of charts, as SVG and for terminals
//   - raster: the same charts as pictures of dots
//
// Nothing below this folder touches the wire or offers load.
package report
