// Package router holds the selection rules, one small type each: which replica
// gets a request. A rule is a pure state machine: no network, no clock, no
// knowledge of how long the answer will be.
//
// It does not gather the signals that rules read (package pool does) and does
// not move bytes.
package router
