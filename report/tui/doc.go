// Package tui is the live view of a run, or of an experiment of many runs, in a
// terminal: a bubbletea program over monitor.Picture, and over Doing, of which View is a
// pure function.
//
// It asks a Source for pictures ten times a second and does nothing else: it neither
// runs a load, nor reads files or sockets, nor has it any clock. What it draws is what
// is in the picture, rounded.
package tui
