package diagnose

import (
	"fmt"

	"goodput/loadgen/record"
	"goodput/report/query"
)

// buffered: most streams bring nearly all of their chunks at once, at their end.
func buffered(f *query.Figures) (Finding, bool) {
	s := &f.Signs
	if s.Looked == 0 || s.Streams < 5 {
		return Finding{}, false
	}
	// Of all streams, by those that were looked at.
	part := share(s.Bunched, s.Looked) * share(s.LateFirst, s.Streams)
	if part < 0.5 {
		return Finding{}, false
	}
	return Finding{
		Name: "router-buffers", What: "the router buffers the stream",
		Evidence: fmt.Sprintf("in %s of %d streams, 80 %% of the chunks came within 2 ms of the first, and that only after 80 %% of the time: TTFT is about E2E",
			percent(part), s.Streams),
		Remedy: "turn off response buffering on the way (nginx: proxy_buffering off); TTFT and TPOT of this run are the router's, not the engines'",
	}, true
}

// The time to the first token that a router may add, and what is constant: the middle
// four fifths within half of the median.
const (
	delayMin    = 20e6
	delaySpread = 0.5
)

// blockShare is the share of chunks that come with the one before, beyond which a stream
// is taken to come in blocks.
const blockShare = 0.5

// inBlocks: the first token is held back, and what follows comes many chunks at a time and
// makes up for it. It needs the engine's account, since a busy client reads so, too.
func inBlocks(f *query.Figures) (Finding, bool) {
	d, tail, part := &f.Signs.DTTFT, &f.Signs.DTail, f.Coalesced
	if d.N < 20 || !heldBack(f) || tail.N < 20 || tail.P50 > -0.5*d.P50 || !part.Known() || part.Value() < blockShare {
		return Finding{}, false
	}
	if _, ok := buffered(f); ok {
		return Finding{}, false // the whole stream is one
	}
	return Finding{
		Name: "router-blocks", What: "the stream comes in blocks",
		Evidence: fmt.Sprintf("the first token comes %s (P10 to P90 %s to %s) later than the engine made it, in %d streams; the rest makes up for it, and %s of the chunks came in one read with the one before",
			short(d.P50), short(d.P10), short(d.P90), d.N, percent(part.Value())),
		Remedy: "something on the way gathers chunks: turn off its buffering (nginx: proxy_buffering off) or its waiting for more to send (HAProxy: option http-no-delay); TTFT and TPOT of this run are the router's, not the engines'",
	}, true
}

// heldBack reports whether first tokens are late for what lies on the way. If some are
// not, for what holds them back lets those go that come at the right moment, a busy client
// could be why as well, which would be late in sending, too.
func heldBack(f *query.Figures) bool {
	const few = 0.1
	d := &f.Signs.DTTFT
	lag, ok := f.Metric("lag")
	return d.P10 >= delayMin || d.P50 >= delayMin && ok && lag.N >= 20 && lag.P50 < few*d.P50
}

// firstDelayed: the first token takes longer by a constant than the engine says, and the
// rest of the stream catches up.
func firstDelayed(f *query.Figures) (Finding, bool) {
	d, tail := &f.Signs.DTTFT, &f.Signs.DTail
	if d.N < 20 || d.P50 < delayMin || d.P90-d.P10 > delaySpread*d.P50 {
		return Finding{}, false
	}
	for _, explains := range [...]func(*query.Figures) (Finding, bool){buffered, inBlocks} {
		if _, ok := explains(f); ok {
			return Finding{}, false
		}
	}
	rest := ""
	if tail.N > 0 && tail.P50 < -0.5*d.P50 {
		rest = "; the rest of the stream makes up for it"
	}
	return Finding{
		Name: "first-chunk-delayed", What: "the first chunk is delayed on the way",
		Evidence: fmt.Sprintf("the first token comes %s (P10 to P90 %s to %s) later than the engine made it, in %d streams%s",
			short(d.P50), short(d.P10), short(d.P90), d.N, rest),
		Remedy: "look for small writes that wait for more to send or for an acknowledgement (HAProxy: option http-no-delay), and for compression and filters that gather a first block before they pass on the rest",
	}, true
}

// cutSilently: streams end in good order and are not whole.
func cutSilently(f *query.Figures) (Finding, bool) {
	n := f.Signs.CleanEnds
	if n == 0 {
		return Finding{}, false
	}
	return Finding{
		Name: "silent-truncation", What: "answers are cut off without an error",
		Evidence: fmt.Sprintf("%d of %d requests ended with status 200 and a clean end of the stream, but without a finish reason or the terminal marker", n, f.Scheduled),
		Remedy:   "an engine or the way to it broke off and the router hid it: look at its log for upstream errors; clients must check for the terminal marker",
	}, true
}

// amplified: more attempts reach engines than there are requests.
func amplified(f *query.Figures) (Finding, bool) {
	const most = 1.1
	s := &f.Signs
	if s.RouterRequests >= 20 && float64(s.RouterAttempts) >= most*float64(s.RouterRequests) {
		return Finding{
			Name: "retry-amplification", What: "the router retries",
			Evidence: fmt.Sprintf("it made %d attempts for %d requests, %.3g each", s.RouterAttempts, s.RouterRequests, share(s.RouterAttempts, s.RouterRequests)),
			Remedy:   "bound retries by a budget (a tenth of the requests); under overload each retry is load (HAProxy: retry-on, retries)",
		}, true
	}
	// Requests that a router gave up and sent again have ended at an engine, too.
	if e, sent := &f.Engines, float64(f.Checks.Attempts); e.Known() && e.Source == record.SampleScrape && e.Resets == 0 && e.Idle &&
		sent >= 20 && e.Answering >= most*sent {
		return Finding{
			Name: "retry-amplification", What: "the router retries, or others load the engines",
			Evidence: fmt.Sprintf("%.0f requests ended at the engines, by their own counters, and %.0f were sent, %.3g each", e.Answering, sent, e.Answering/sent),
			Remedy:   "bound retries by a budget (a tenth of the requests); under overload each retry is load (HAProxy: retry-on, retries); see that nobody else uses the engines",
		}, true
	}
	if per, ok := f.Amplification(); ok && f.Sent >= 20 && per >= most && f.Attempts.Failed() > 0 {
		return Finding{
			Name: "retry-amplification", What: "the client's own retries add load",
			Evidence: fmt.Sprintf("%d attempts for %d requests, %.3g each; %d of them failed before another one", f.Attempts.N, f.Sent, per, f.Attempts.Failed()),
			Remedy:   "bound them with --retry-budget, and honour Retry-After",
		}, true
	}
	return Finding{}, false
}

// orphaned: engines go on for clients that left.
func orphaned(f *query.Figures) (Finding, bool) {
	s := &f.Signs
	if s.Orphans < 3 || share(s.Orphans, s.Left) < 0.1 {
		return Finding{}, false
	}
	tokens := ""
	if s.OrphanTokens > 0 {
		tokens = fmt.Sprintf(", about %d tokens", s.OrphanTokens)
	}
	return Finding{
		Name: "orphaned-work", What: "engines go on after the client left",
		Evidence: fmt.Sprintf("of %d requests given up, the engine worked on at %d, for %s in total%s", s.Left, s.Orphans, short(float64(s.OrphanTime)), tokens),
		Remedy:   "make the router close its upstream connection when the client's closes (nginx: proxy_ignore_client_abort off and no buffering)",
	}, true
}

// failures is the number of requests that failed at the server.
func failures(f *query.Figures) int64 {
	return f.Outcomes[record.HTTP5xx] + f.Outcomes[record.HTTP429] + f.Outcomes[record.HTTP4xx] + f.Outcomes[record.Reset] + f.Outcomes[record.Connect]
}
