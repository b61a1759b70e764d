package observe

import (
	"strconv"

	"goodput/loadgen/record"
	"goodput/loadgen/target"
)

// Evidence is all that an attempt's outcome rests on.
type Evidence struct {
	Cause target.Cause
	// Status is the HTTP status; 0: no header arrived.
	Status int
	// Err is the target's own words, "" if it had none.
	Err string
	// Finished: a finish_reason came, and Reason is it.
	Finished bool
	Reason   string
	// Done: the terminal marker came.
	Done bool
	// Tokens: at least one chunk carried tokens. Usage: token counts came.
	Tokens, Usage bool
	// Exact: the answer must have Want tokens (ignore_eos). Output is how many it
	// had, Null32 if that is not known.
	Exact  bool
	Want   int
	Output int32
}

// Classify says how an attempt ended, and, unless that is OK, why in a few
// words. The first of these that applies decides:
//
//  1. the transport gave up: connect, reset, timeout_ttft, timeout_total, canceled;
//  2. the status: 429, 5xx (500 and above), and 4xx for all else that is not 2xx,
//     redirects included, since the request was not taken as it was sent;
//  3. an error object in the stream, or a stream that cannot be read: stream_error;
//  4. no proof of a complete answer: truncated. Proof is a body that ended where
//     it should, a header, a finish_reason, tokens or usage, and the terminal
//     marker; a clean end of the body alone is none, because proxies close it
//     cleanly over a broken upstream;
//  5. another length than the one asked for with ignore_eos: wrong_length. An
//     unknown length passes only if the finish_reason is "length".
func Classify(e Evidence) (record.Outcome, string) {
	if o, why := transport(e.Cause); why != "" {
		return o, words(e.Err, why)
	}
	if o, bad := refused(e.Status); bad {
		return o, words(e.Err, "status "+strconv.Itoa(e.Status))
	}
	if e.Cause == target.CauseStreamError {
		return record.StreamError, words(e.Err, "error in the stream")
	}
	if why := unproved(e); why != "" {
		if e.Err != "" {
			why += ": " + e.Err
		}
		return record.Truncated, why
	}
	if why := wrongLength(e); why != "" {
		return record.WrongLength, why
	}
	return record.OK, ""
}

// transport returns an empty reason if the transport did not give up.
func transport(c target.Cause) (record.Outcome, string) {
	switch c {
	case target.CauseConnect:
		return record.Connect, "no connection"
	case target.CauseReset:
		return record.Reset, "connection reset"
	case target.CauseTTFTTimeout:
		return record.TimeoutTTFT, "no first token in time"
	case target.CauseTotalTimeout:
		return record.TimeoutTotal, "not finished in time"
	case target.CauseCanceled:
		return record.Canceled, "given up by the sender"
	}
	return record.OK, ""
}

func refused(status int) (record.Outcome, bool) {
	switch {
	case status == 0 || status/100 == 2:
		return record.OK, false
	case status == 429:
		return record.HTTP429, true
	case status >= 500:
		return record.HTTP5xx, true
	}
	return record.HTTP4xx, true
}

// unproved says what is missing from a complete answer.
func unproved(e Evidence) string {
	var why string
	missing := func(ok bool, what string) {
		if ok {
			return
		}
		if why != "" {
			why += ", "
		}
		why += what
	}
	missing(e.Cause != target.CauseTruncated, "body cut short")
	missing(e.Status != 0, "no response header")
	missing(e.Finished, "no finish_reason")
	missing(e.Tokens || e.Usage, "no tokens")
	missing(e.Done, "no terminal marker")
	return why
}

func wrongLength(e Evidence) string {
	switch {
	case !e.Exact || int64(e.Output) == int64(e.Want):
		return ""
	case e.Output != record.Null32:
		return strconv.Itoa(int(e.Output)) + " tokens instead of " + strconv.Itoa(e.Want)
	case e.Reason == "length":
		return ""
	}
	return "finished by " + strconv.Quote(e.Reason) + ", and the server did not count its tokens"
}

func words(own, otherwise string) string {
	if own != "" {
		return own
	}
	return otherwise
}
