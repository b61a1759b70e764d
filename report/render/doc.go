// Package render prints the figures of a run: as a table for people, in plain text or
// Markdown, as JSON for programs, and the definitions behind them.
//
// It computes nothing but units.
package render
