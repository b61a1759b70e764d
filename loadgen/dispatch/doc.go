// Package dispatch offers the load: when the schedule says so it hands a request
// to the target, whatever became of the ones before, and it accounts for every
// single one until it has a row. It also ends the run: a drain with a deadline
// after the last arrival, or sooner if interrupted.
//
// An arrival may also be that of a session. Its steps are causally closed: one is due
// when all that it waits for has ended, plus its planned wait, so a slow server makes
// later steps late and changes nothing else. The intended instant of such a step, from
// which its lag and its TTFT count, is that sum; waiting for a place among the steps
// that the session may have in flight is client_queue. A session ends when nothing of
// it is in flight or to come, and is censored when the drain ends before that.
//
// Classes of one load differ in what their requests are promised and ask for, and a class
// may be of sessions beside those of single requests (Class).
//
// Each step's prompt begins with the context of the one before, answer included. The
// answer is quoted as planned, so that every server gets the same bytes and no cache
// holds them, or (Config.Live) as the target made it: its text, if the target tells it
// (target.Result.Answer), is kept for as long as the context of a thread holds it.
//
// A request is one attempt, unless Config.Client says what a client does about slow and
// failed ones. Then each attempt has a row, one of which decides the request, and all
// count from its intended instant.
//
//   - Tried again is what failed before its first token: connect, reset, http_429,
//     http_5xx, stream_error, truncated, timeout_ttft. A budget that fills with the
//     requests bounds what retries and hedges add to the load. The wait is uniform from
//     0 to a bound that doubles.
//   - A hedge is a second attempt beside a slow first one. The first token decides
//     between the two, and the other is given up. If one fails before that, the other
//     goes on alone.
//   - A client that leaves gives up all attempts; the request ends as canceled.
//
// A bound of the requests in flight changes no intended instant: a request that finds
// no place waits in a queue, and its wait is client_queue, or it is dropped, with a row
// of its own; both are counted. A closed loop has no schedule: a request is due when
// another one has ended.
//
// It neither decides when requests are due (package schedule) nor sends anything
// (package target), it judges no answer (package observe), and it keeps nothing of
// a request that has ended but counts.
package dispatch
