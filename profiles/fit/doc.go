// Package fit chooses the coefficients of a GPU profile so that step times meet
// measurements: published tables, the records of a run against a real server, or
// that server's /metrics. It reads the measurements, splits them, minimises, and
// says how far off the result is on points and whole sources that it had not
// seen.
//
// It does not know how long a step takes: the caller hands in who does (Builder).
// It measures nothing, and opens no files.
package fit
