package record

import "goodput/loadgen/clock"

// The metrics below are the definitions of FORMAT.md, one function each. Every
// reader (report, monitor, gate) uses these, so that a name means one thing.
// Each returns Null when the metric does not exist for r.

// Lag is how late the generator was: dispatched - intended, and for a retry or a
// hedge dispatched - attempt_due.
func (r *Request) Lag() int64 {
	if r.AttemptDue.Known() {
		return diff(r.Dispatched, r.AttemptDue)
	}
	return diff(r.Dispatched, r.Intended)
}

// Prior is what went before a retry or a hedge: attempts that failed or were slow, and
// the waits between them. Null for a first attempt.
func (r *Request) Prior() int64 { return diff(r.AttemptDue, r.Intended) }

// ClientQueue is the wait for the concurrency cap; Null without a cap.
func (r *Request) ClientQueue() int64 { return diff(r.Permitted, r.Dispatched) }

// Connect is the wait for a connection, from when the request could be sent; Null
// without one, as in one process.
func (r *Request) Connect() int64 { return diff(r.Conn, r.sendable()) }

// StreamWait is what passed between having a connection and writing to it: the wait
// for a stream of a shared one (HTTP/2), else nothing. It is part of Upload. Null
// without a connection.
func (r *Request) StreamWait() int64 { return diff(r.Writing, r.Conn) }

// Upload is what writing the request took, from when there was a connection (or,
// in one process, from when it could be sent).
func (r *Request) Upload() int64 {
	if r.Conn.Known() {
		return diff(r.Wrote, r.Conn)
	}
	return diff(r.Wrote, r.sendable())
}

// sendable is the instant from which the generator held nothing back.
func (r *Request) sendable() clock.Time {
	if r.Permitted.Known() {
		return r.Permitted
	}
	return r.Dispatched
}

// ServerFrontEnd is what the server's time to the first token holds beside the
// queue and the prefill: the way to the scheduler, and the wait for its next turn.
func (r *Request) ServerFrontEnd() int64 {
	if r.ServerTTFT == Null || r.ServerQueue == Null || r.ServerPrefill == Null {
		return Null
	}
	return r.ServerTTFT - r.ServerQueue - r.ServerPrefill
}

// TTFT is first token - intended: what a user who pressed enter at the intended
// time waited, so that a late generator or a queue in the client is not hidden.
func (r *Request) TTFT() int64 { return diff(r.FirstToken, r.Intended) }

// TTFTSend is first token - start of writing, the figure that vLLM's client
// reports.
func (r *Request) TTFTSend() int64 { return diff(r.FirstToken, r.Writing) }

// TTFV is the time to the first user-visible (content) token.
func (r *Request) TTFV() int64 { return diff(r.FirstContent, r.Intended) }

// TPOT is the mean time per output token after the first, in nanoseconds; Null
// below two tokens, and where all of them came with one read: a proxy or a server that
// hands over an answer whole shows nothing of the time between its tokens, which is not 0.
func (r *Request) TPOT() int64 {
	d := diff(r.LastToken, r.FirstToken)
	if d == Null || d == 0 || r.OutputTokens < 2 {
		return Null
	}
	return d / int64(r.OutputTokens-1)
}

// E2E is last token - intended, and for an answer without tokens, such as vectors, done
// - intended; Null unless the request is a success.
func (r *Request) E2E() int64 {
	if r.Outcome != OK {
		return Null
	}
	if !r.LastToken.Known() {
		return diff(r.Done, r.Intended)
	}
	return diff(r.LastToken, r.Intended)
}

// Normalized is E2E per output token.
func (r *Request) Normalized() int64 {
	d := r.E2E()
	if d == Null || r.OutputTokens < 1 {
		return Null
	}
	return d / int64(r.OutputTokens)
}

// Gaps is the number of token gaps, and their sum in microseconds, which is the
// difference of the rounded first and last instants unless a gap was too long to
// be stored. ok is false without gaps.
func (r *Request) Gaps() (n, us int64, ok bool) {
	if r.Chunks < 2 || !r.FirstToken.Known() || !r.LastToken.Known() {
		return 0, 0, false
	}
	return int64(r.Chunks) - 1, roundMicros(r.LastToken) - roundMicros(r.FirstToken), true
}

func diff(a, b clock.Time) int64 {
	if !a.Known() || !b.Known() {
		return Null
	}
	return int64(a - b)
}
