// Package openai is the target behind a URL: it sends streamed completions to an
// OpenAI-compatible server over net/http and stamps what it observes.
//
// What the stamps mean:
//
//   - Dispatched is taken first of all in the attempt's goroutine.
//   - Conn is taken when net/http hands over a connection, Writing right after it,
//     before a byte of the request is written. Over HTTP/2 (Config.HTTP2) a connection
//     is shared, and Writing is taken when the request has its stream: what lies between
//     is the wait inside net/http. Where a server allows no more streams, net/http makes
//     another connection rather than wait.
//   - Wrote is taken when the last write of the body has returned, or has begun, if
//     its return was noticed only after the first byte of the answer. Where a
//     server answers before it has read the request, Wrote comes late, after events
//     of the answer, or not at all.
//   - FirstByte is taken when the first byte of the response is there, Header when
//     its header has been read.
//   - Token, Finished, UsageSeen and Done carry the stamp taken right after the
//     read that completed their chunk, before it was decoded. net/http returns an
//     HTTP chunk that came in several segments only when it is whole or 4 KiB of
//     it are there, so events that a proxy packs into one HTTP chunk are stamped
//     together, and may be stamped late by the spread of its segments.
//   - End is taken when the connection was given back or closed.
//
// A chunk yields at most one Token: with several kinds of content it is Text, else
// Tool, else Reasoning. The empty delta of a chunk that carries the finish_reason
// is no Token. Payloads after an error object or after the terminal marker are
// still read and reported; reading ends where the body ends.
//
// A result's Net holds what making the connection took, if it had not served before and
// was dialled for the attempt. The base URL may be a socket (unix:///PATH). Config.TLS
// says whom to trust.
//
// With several base URLs each request goes to the next one, by its number, and each
// further attempt at it to the one behind that; Net.URL tells which. Sessions are not
// kept together: that is a router's job.
//
// Of the responses API the last event of the answer is the terminal marker too. An
// embedding is not streamed: Finished, UsageSeen and Done carry the stamp of its last
// byte, and there is no Token. A Token's N is the difference between the usage of two
// chunks, where a server sends it with each (continuous_usage_stats); else it is
// unknown.
//
// An attempt in flight takes some 30 kB of memory: its connection's buffers, and the
// goroutines of its own and of net/http. Nothing here bounds how many there are: an open
// loop adds to them for as long as the server, or this machine, is behind. The timeouts,
// a cap on concurrency, and the limit of open files do.
//
// A chat with a Shape carries the header X-Goodput-Shape, such as
// reasoning=32,tool=16,calls=2. Fake servers answer so; others ignore it. Prompts of the
// other APIs are one text, which could not quote a call.
//
// Of a request that is Quoted the answer's text is kept, as it stood in the stream, for
// later prompts: up to 1 MiB, and only of an answer that was completed. Nothing is kept of
// others.
//
// Each attempt is written to one connection at most once. net/http would repeat a
// request whose idle connection turns out to be dead, but only if it can read the
// body anew, and it is not given the means. So a server that closes a connection
// just as it is taken into use shows as CauseReset. Connections are left unused
// for no more than four seconds, less than the five after which common Python
// servers close them, to keep such collisions from happening.
//
// How endings are told apart:
//
//   - no connection (refused, DNS, TLS, dial timeout): CauseConnect;
//   - broken or closed before the response header, or reset within the body:
//     CauseReset;
//   - closed within the body though more was announced (length, chunk, or an event
//     that had begun): CauseTruncated;
//   - a redirect (never followed), a compressed body, a 2xx answer that is no event
//     stream, an error object, a payload that is not JSON, a line above 1 MiB, a
//     header above 64 KiB, broken HTTP: CauseStreamError;
//   - any other status than 2xx: CauseEOF, with the status and the server's message;
//   - timeouts and Cancel: their own causes, unless the stream had failed before.
//
// It does not retry, does not judge success (a clean end without finish_reason is
// CauseEOF without a Finished event), honours no proxy variables, and does not choose
// between HTTP/1.1 and HTTP/2 by what the server offers: what is measured must be known.
package openai
