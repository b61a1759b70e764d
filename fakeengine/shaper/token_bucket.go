package shaper

import (
	"math"
	"slices"
	"time"

	"goodput/loadgen/clock"
)

// tokenBucket lets requests through at a rate, counted one each or by the tokens of their
// prompts, with bursts up to the size of the bucket. What is over it waits, in order, or
// is refused with the time after which there will be enough.
type tokenBucket struct {
	named
	rate, burst float64
	byTokens    bool
	perTenant   bool
	waits       bool
	room        int
	buckets     map[uint64]*bucket
	wait        []*Request
}

// bucket is how much there was at an instant.
type bucket struct {
	level float64
	at    clock.Time
}

var (
	_ Shaper = (*tokenBucket)(nil)
	_ Waker  = (*tokenBucket)(nil)
)

func tokenBucketEntry() entry {
	return entry{
		Info: Info{
			"token-bucket", "lets requests through at a rate, by requests or prompt tokens, with bursts",
			[]Param{
				{"rate", "10", "requests or tokens a second"},
				{"burst", "10", "what may be let through at once"},
				{"by", "requests", "requests or tokens"},
				{"per", "all", "all or tenant: whose bucket it is"},
				{"over", "refuse", "refuse (429, with Retry-After) or wait"},
				queue(),
			},
		},
		build: func(a *args, _ uint64) Shaper {
			return &tokenBucket{
				rate: a.float("rate", 1e-6, 1e9), burst: a.float("burst", 1e-6, 1e12),
				byTokens: a.choice("by", "requests", "tokens") == "tokens", perTenant: a.choice("per", "all", "tenant") == "tenant",
				waits: a.choice("over", "refuse", "wait") == "wait", room: a.int("queue", 0, most),
				buckets: map[uint64]*bucket{}, named: a.named(),
			}
		},
	}
}

func (t *tokenBucket) cost(r *Request) float64 {
	if t.byTokens {
		return float64(r.InTokens)
	}
	return 1
}

// of is the bucket of a request, as of now.
func (t *tokenBucket) of(r *Request, now clock.Time) *bucket {
	key := uint64(0)
	if t.perTenant {
		key = r.Tenant
	}
	b := t.buckets[key]
	if b == nil {
		b = &bucket{level: t.burst, at: now}
		t.buckets[key] = b
	}
	if now > b.at {
		b.level, b.at = min(t.burst, b.level+t.rate*now.Sub(b.at).Seconds()), now
	}
	return b
}

// after is how long until there is enough for r.
func (t *tokenBucket) after(r *Request, b *bucket) time.Duration {
	const longest = 1e17 // ns, three years
	return time.Duration(math.Ceil(min(longest, (t.cost(r)-b.level)/t.rate*1e9)))
}

// Offer implements Shaper.
func (t *tokenBucket) Offer(r *Request, now clock.Time) Decision {
	b, cost := t.of(r, now), t.cost(r)
	switch {
	case cost > t.burst:
		return full("it asks for more tokens than the bucket ever holds")
	case cost <= b.level && len(t.wait) == 0:
		b.level -= cost
		return Decision{}
	case t.waits && len(t.wait) < t.room:
		t.wait = append(t.wait, r)
		return Decision{Kind: Hold}
	}
	seconds := math.Ceil(t.after(r, b).Seconds())
	return Decision{
		Kind: Refuse, Status: tooMany, Why: "the rate limit in front of the router is reached",
		RetryAfter: time.Duration(max(1, seconds)) * time.Second,
	}
}

// Next implements Shaper: who waits goes on in order, though of several tenants the first
// one that has enough.
func (t *tokenBucket) Next(now clock.Time) (*Request, Decision, bool) {
	for i, r := range t.wait {
		if b, cost := t.of(r, now), t.cost(r); cost <= b.level {
			b.level -= cost
			t.wait = slices.Delete(t.wait, i, i+1)
			return r, Decision{}, true
		}
		if !t.perTenant {
			break
		}
	}
	return nil, Decision{}, false
}

// Wake implements Waker.
func (t *tokenBucket) Wake() clock.Time {
	first := clock.Never
	for _, r := range t.wait {
		key := uint64(0)
		if t.perTenant {
			key = r.Tenant
		}
		b := t.buckets[key]
		// One more nanosecond, so that rounding leaves enough.
		if at := b.at.Add(t.after(r, b) + 1); !first.Known() || at < first {
			first = at
		}
		if !t.perTenant {
			break
		}
	}
	return first
}

// Done implements Shaper.
func (t *tokenBucket) Done(*Request, clock.Time) {}

// Cancel implements Shaper.
func (t *tokenBucket) Cancel(r *Request) {
	t.wait = slices.DeleteFunc(t.wait, func(w *Request) bool { return w == r })
}
