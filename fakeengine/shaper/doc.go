// Package shaper holds what stands in front of a router and shapes its load: which
// request goes on now, which waits, which is refused, and which needs no engine at all.
// A shaper is a pure state machine, as a rule of package router is: no network, no clock
// but the instants that it is told, and no knowledge of how long an answer will be. New
// builds one from its name.
//
// To add one, write a file with its type and its entry, and name the entry in shapers.
//
// It picks no replica (package router does) and moves no bytes.
package shaper
