// Package pool puts fake engines behind a router, all on one clock.Loop, and
// stands where a URL would: it is a target.Target in the same process, without
// sockets, goroutines or bytes. What it reports of a request is the engine's own
// account, so that client and server can be compared to the nanosecond.
//
// With Config.Prefill it has two kinds of replicas, each with a router of its own:
// some that compute prompts, numbered from 0, and those that answer. Package disagg
// says how a request goes from one to the other, and when it does not. A result is
// then of both: the replica is the one that answered; queue, prefill and the parts of
// the time are sums over the two; the cached tokens are the prefill replica's. The
// replica that answers is picked first, so that what its cache holds of the prompt
// can decide whether another one is needed, as in llm-d.
//
// A script of faults (package fault) shows as it would to the client of a server
// behind a router that knows nothing of it: what a replica has is broken off when
// it goes down and 502 comes instead of answers until it is back, a cut event makes
// a stream unreadable, statuses and false counts are as written.
//
// It decides neither where a request goes (package router) nor when its tokens
// come (package engine), and it judges no outcome.
package pool
