package shaper

import (
	"slices"
	"time"

	"goodput/loadgen/clock"
)

// retry is a gateway, a mesh or a library that sends a request on again when what is behind
// it refuses it (429 and 5xx), before any answer has begun. Several of them in a row
// multiply: what is behind 3, 4, 4 and 3 attempts gets 144. A wait doubles with each
// further attempt. Its budget bounds how many of its requests are retries:
//
//   - none: nothing bounds them;
//   - envoy: at most 3, or a fifth of the requests behind it if that is more, may be
//     retries at once (Envoy's retry budget, 20 % and min_retry_concurrency 3);
//   - grpc: a throttle of 10 tokens, of which a failure takes one and a success gives a
//     tenth back; at half of them or below nothing is tried again (gRPC retryThrottling).
type retry struct {
	named
	attempts int
	backoff  time.Duration
	honor    bool
	budget   budget
	tries    map[*Request]int // of those behind it, or waiting
	wait     []redo           // by instant
}

// redo is a request that is to go on again.
type redo struct {
	r  *Request
	at clock.Time
}

var (
	_ Shaper  = (*retry)(nil)
	_ Waker   = (*retry)(nil)
	_ Retrier = (*retry)(nil)
)

func retryEntry() entry {
	return entry{
		Info: Info{
			"retry", "sends a request on again that is refused behind it with 429 or 5xx; several in a row multiply",
			[]Param{
				{"attempts", "3", "most attempts at a request, the first one among them"},
				{"backoff", "0s", "wait before the second attempt, twice as much before each further one"},
				{"honor", "false", "true: wait at least as long as Retry-After asks for"},
				{"budget", "none", "what bounds retries: none, envoy (a fifth of the requests behind it) or grpc (throttling)"},
			},
		},
		build: func(a *args, _ uint64) Shaper {
			t := &retry{
				attempts: a.int("attempts", 1, 100), backoff: a.duration("backoff", 0, time.Hour),
				honor: a.choice("honor", "false", "true") == "true", tries: map[*Request]int{}, named: a.named(),
			}
			switch a.choice("budget", "none", "envoy", "grpc") {
			case "envoy":
				t.budget = &envoyBudget{least: 3, share: 0.2}
			case "grpc":
				t.budget = &grpcThrottle{most: 10, ratio: 0.1, tokens: 10}
			default:
				t.budget = noBudget{}
			}
			return t
		},
	}
}

// Offer implements Shaper.
func (t *retry) Offer(r *Request, _ clock.Time) Decision {
	t.tries[r] = 1
	t.budget.begun(false)
	return Decision{}
}

// Failed implements Retrier.
func (t *retry) Failed(r *Request, status int, retryAfter time.Duration, now clock.Time) bool {
	n := t.tries[r]
	if status != tooMany && status < 500 {
		return false
	}
	t.budget.failed()
	if n >= t.attempts || !t.budget.allows() {
		return false
	}
	t.budget.ended(n > 1)
	wait := t.backoff << min(n-1, 20)
	if t.honor {
		wait = max(wait, retryAfter)
	}
	at := now.Add(wait)
	i, _ := slices.BinarySearchFunc(t.wait, at, func(x redo, at clock.Time) int {
		if x.at <= at {
			return -1
		}
		return 1
	})
	t.wait = slices.Insert(t.wait, i, redo{r, at})
	return true
}

// Next implements Shaper.
func (t *retry) Next(now clock.Time) (*Request, Decision, bool) {
	if len(t.wait) == 0 || t.wait[0].at > now {
		return nil, Decision{}, false
	}
	r := t.wait[0].r
	t.wait = slices.Delete(t.wait, 0, 1)
	t.tries[r]++
	t.budget.begun(true)
	return r, Decision{}, true
}

// Wake implements Waker.
func (t *retry) Wake() clock.Time {
	if len(t.wait) == 0 {
		return clock.Never
	}
	return t.wait[0].at
}

// Done implements Shaper.
func (t *retry) Done(r *Request, _ clock.Time) {
	t.budget.ended(t.tries[r] > 1)
	t.budget.done()
	delete(t.tries, r)
}

// Cancel implements Shaper.
func (t *retry) Cancel(r *Request) {
	delete(t.tries, r)
	t.wait = slices.DeleteFunc(t.wait, func(x redo) bool { return x.r == r })
}
