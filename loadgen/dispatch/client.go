package dispatch

import (
	"errors"
	"fmt"
	"time"

	"goodput/loadgen/target"
)

// Client is what a client does beside sending each request once: it tries again what
// failed, sends a second attempt beside a slow one, and leaves before an answer is
// complete. Each attempt has a row. After the first token of a request nothing of it is
// tried again. The zero value does nothing of all this.
type Client struct {
	// Retries is how often one request is tried again; 0: never.
	Retries int
	// Budget is the share of requests by which retries and hedges may add to the load
	// (0.1: a tenth), beside the first ten of them. It must be set with either.
	Budget float64
	// Backoff bounds the random wait before the first retry, and twice as much each
	// further one, up to MaxBackoff; 0: DefaultBackoff.
	Backoff time.Duration
	// HonorRetryAfter waits at least as long as the server asked for.
	HonorRetryAfter bool
	// HedgeAfter is how long a first attempt may take to its first token before a
	// second one is sent; 0: for ever. HedgeQuantile sets that time to this quantile of
	// the first attempts before, once there are enough; 0: it does not.
	HedgeAfter    time.Duration
	HedgeQuantile float64
	// CancelRate is the share of requests whose client leaves CancelAfter after the
	// intended time or with the output number CancelTokens, whichever is set and comes
	// first. Such a request ends as record.Canceled.
	CancelRate   float64
	CancelAfter  time.Duration
	CancelTokens int
	// RequestTimeout is what the target allows a request, from its intended time: no
	// retry is planned beyond it; 0: no limit.
	RequestTimeout time.Duration
	// Seed is the root of random waits and of the choice of who leaves.
	Seed uint64
}

// DefaultBackoff and MaxBackoff bound the waits before retries.
const (
	DefaultBackoff = 100 * time.Millisecond
	MaxBackoff     = 10 * time.Second
)

// maxRetries keeps the number of an attempt within attemptBits.
const maxRetries = 100

// Active reports whether the client does anything.
func (c *Client) Active() bool { return c.Retries > 0 || c.hedges() || c.CancelRate > 0 }

func (c *Client) hedges() bool { return c.HedgeAfter > 0 || c.HedgeQuantile > 0 }

// check says what is wrong with c before t.
func (c *Client) check(t target.Target) error {
	_, cancels := t.(target.Canceler)
	switch {
	case c.Retries < 0 || c.Retries > maxRetries:
		return fmt.Errorf("%d retries of a request: give 0 to %d", c.Retries, maxRetries)
	case (c.Retries > 0 || c.hedges()) && !(c.Budget > 0):
		return errors.New("retries and hedges need a budget above 0, such as 0.1")
	case c.Backoff < 0 || c.HedgeAfter < 0 || c.CancelAfter < 0 || c.CancelTokens < 0:
		return errors.New("waits of a client cannot be negative: give 0 for none")
	case c.HedgeQuantile < 0 || c.HedgeQuantile >= 1:
		return fmt.Errorf("hedging after the quantile %v: give one from 0 to 1 (excluded)", c.HedgeQuantile)
	case c.CancelRate < 0 || c.CancelRate > 1:
		return fmt.Errorf("a share of %v of requests that are given up: give 0 to 1", c.CancelRate)
	case c.CancelRate > 0 && c.CancelAfter == 0 && c.CancelTokens == 0:
		return errors.New("requests are to be given up, but not when: give a time or a number of tokens")
	case (c.hedges() || c.CancelRate > 0) && !cancels:
		return errors.New("this target cannot take a request back: leave out hedging and cancellation")
	}
	return nil
}
