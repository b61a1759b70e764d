// Package pool puts fake engines behind a router, all on one clock.Loop, and
// stands where a URL would: it is a target.Target in the same process, without
// sockets, goroutines or bytes. What it reports of a request is the engine's own
// account, so that client and server can be compared to the nanosecond.
//
// It decides neither where a request goes (package router) nor when its tokens
// come (package engine), and it judges no outcome.
package pool
