// Package record is what a run leaves behind: the row of each request, its
// Parquet segments, the write-ahead file that survives kill -9, the latency log
// and the manifest, and reading all of it back. FORMAT.md describes the files.
//
// It computes no statistics and judges nothing; the only derived columns are
// those of FORMAT.md that follow from one row alone.
package record
