// Package router holds the selection rules, one small type each: which replica
// gets a request. A rule is a pure state machine: no network, no clock, no
// knowledge of how long the answer will be. New builds one from its name; Fleet
// puts one to work with the counts that a router keeps itself.
//
// To add a rule, write a file with its type and its entry, and name the entry in
// rules: help, errors, the conformance tests and the benchmarks follow from that.
//
// It does not gather what engines report (package pool does), move bytes, or
// decide what happens to a request that fails.
package router
