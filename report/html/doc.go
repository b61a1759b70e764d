// Package html prints runs as one page that needs nothing else: no network, no script.
// What spoils a run comes first, then its figures, and charts each with a caption that
// says how it was made, and with its numbers as a table.
//
// It computes nothing but places on a chart: figures come from package query, words
// from package render, drawings from package plot.
package html
