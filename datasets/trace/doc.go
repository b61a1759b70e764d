// Package trace reads recorded workloads: files of public request traces become
// sets of planned requests with arrival times.
//
// A format fixes its units, and nothing in a file is guessed, repaired or skipped:
// the first row that is not as the format says is an error that names file, line
// and field, what was found and what was expected. Times are counted from the
// first row. Recorded text is not part of these formats; prompts are content
// planned with the recorded lengths and, where the format has it, the recorded
// sharing of prefixes.
//
// It does not stretch, jitter or sample what was recorded, and it writes no
// traces.
package trace
