// Package fault makes fake engines misbehave on time: it reads scripts of faults
// and plays them on a clock.Loop, so that a script does the same in virtual and
// in real time.
//
// A script is a YAML list. Each entry has an instant, at; a length, for, where
// the fault is a state; a replica, or none for all; and one fault:
//
//   - {at: 60s, for: 30s, replica: 3, slow: 2.0}
//   - {at: 90s, for: 5s, replica: 0, stall: true}
//   - {at: 2m, for: 10s, replica: 1, kill: true}
//   - {at: 3m, replica: 1, restart: true}
//   - {at: 3m30s, for: 30s, replica: 2, drain: true}
//   - {at: 4m, replica: 3, join: true}
//   - {at: 4m, for: 10s, http: 503}
//   - {at: 5m, for: 10s, http: 429, retry_after: 2s}
//   - {at: 6m, for: 10s, truncate: true}
//   - {at: 7m, for: 10s, usage: 1.5}
//   - {at: 8m, for: 30s, metrics: nan}
//
// The faults:
//
//	slow      steps that begin while it lasts take so many times as long
//	stall     steps that begin while it lasts end after it: streams stay open and
//	          go silent
//	kill      connections break in mid-stream and none is accepted while it
//	          lasts; then the replica is back with a cold cache and its counters
//	          at 0
//	restart   a kill that is over at once; it has no length
//	drain     the router sends it nothing more, and it ends what it has; after the
//	          length, if there is one, it takes requests again
//	join      it is not there before that instant, as the router knows, and joins
//	          with a cold cache; it has no length
//	http      requests get this status instead of an answer; with retry_after, in
//	          a header of that name, in whole seconds
//	truncate  the next event of a stream, or a whole answer, breaks off in the
//	          middle of its JSON, and the response ends as if it were complete
//	usage     token counts in answers that end while it lasts are so many times
//	          the true ones
//	metrics   nan: every metric reads NaN
//
// Without for, a fault lasts to the end; stall must have one. Instants count from
// the loop's epoch. Where faults overlap, factors multiply, stalls last until the
// last one ends, a replica is up again when the last kill is over, and of several
// statuses that of the entry further down counts. At its last instant a fault is
// over.
//
// The package does nothing to requests and opens no connection: who serves a
// replica asks for its State, and hears of kills as a Host.
package fault
