// Package render prints the figures of a run: as a table for people, as JSON
// for programs, and the definitions behind both.
//
// It computes nothing but units.
package render
