package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Share is a part of a whole: 0.1, or 10%.
type Share float64

// String returns the share as a decimal.
func (s Share) String() string { return formatNumber(float64(s), "") }

// UnmarshalText parses a decimal or a percentage.
func (s *Share) UnmarshalText(b []byte) error {
	text, percent := strings.CutSuffix(string(b), "%")
	v, err := parseNumber(text, "")
	if err != nil {
		return fmt.Errorf("%q is not a share: write it as 0.1 or 10%%", b)
	}
	if percent {
		v /= 100
	}
	*s = Share(v)
	return nil
}

// MarshalYAML is the inverse of UnmarshalText, with plain numbers.
func (s Share) MarshalYAML() (any, error) { return plain(float64(s), false, ""), nil }

// Hedge is when a second attempt is sent: After a time, or after a Quantile of the
// times before. Both are 0 for never.
type Hedge struct {
	After    time.Duration
	Quantile float64
}

// Hedge reads HedgeAfter.
func (p *Plan) Hedge() (Hedge, error) {
	if p.HedgeAfter == "" {
		return Hedge{}, nil
	}
	if text, ok := strings.CutPrefix(p.HedgeAfter, "p"); ok {
		q, err := strconv.ParseFloat(text, 64)
		if err != nil || !(q >= 1 && q < 100) {
			return Hedge{}, fmt.Errorf("%q is no quantile from p1 to p99.9", p.HedgeAfter)
		}
		return Hedge{Quantile: q / 100}, nil
	}
	d, err := time.ParseDuration(p.HedgeAfter)
	if err != nil || d <= 0 || d > DeadlineCap {
		return Hedge{}, fmt.Errorf("%q is neither a time above 0, such as 500ms, nor a quantile, such as p95", p.HedgeAfter)
	}
	return Hedge{After: d}, nil
}

// Leave is when a client gives up on purpose: After a time, or with output number
// Tokens. One of them is 0.
type Leave struct {
	After  time.Duration
	Tokens int
}

// Leave reads CancelAfter.
func (p *Plan) Leave() (Leave, error) {
	if text, ok := strings.CutSuffix(p.CancelAfter, "tok"); ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return Leave{}, fmt.Errorf("%q is no number of tokens from 1, such as 50tok", p.CancelAfter)
		}
		return Leave{Tokens: n}, nil
	}
	d, err := time.ParseDuration(p.CancelAfter)
	if err != nil || d <= 0 || d > DeadlineCap {
		return Leave{}, fmt.Errorf("%q is neither a time above 0, such as 2s, nor a number of tokens, such as 50tok", p.CancelAfter)
	}
	return Leave{After: d}, nil
}

// Client reports whether a client does more than sending each request once.
func (p *Plan) Client() bool { return p.Retries > 0 || p.HedgeAfter != "" || p.CancelRate > 0 }

func (p *Plan) checkClient(v *checker) {
	v.within("retries", p.Retries, 0, 100)
	v.ok(p.RetryBudget <= 100, "retry-budget", "%v is more than 100 attempts a request", p.RetryBudget)
	_, err := p.Hedge()
	v.ok(err == nil, "hedge-after", "%v", err)
	if p.Retries > 0 || p.HedgeAfter != "" {
		v.ok(p.RetryBudget > 0, "retry-budget", "0 allows no retries and no hedges: give a share, such as 10%%, or leave them out")
	}
	v.ok(p.RetryBackoff > 0 && p.RetryBackoff <= time.Hour, "retry-backoff", "%v is outside 0 (excluded) to 1h", p.RetryBackoff)
	v.ok(!p.HonorRetryAfter || p.Retries > 0, "honor-retry-after", "without --retries there is nothing that could wait")
	v.ok(p.CancelRate <= 1, "cancel-rate", "%v is more than all requests", p.CancelRate)
	if p.CancelAfter == "" {
		v.ok(p.CancelRate == 0, "cancel-after", "when do they leave? give a time or a number of tokens")
		return
	}
	_, err = p.Leave()
	v.ok(err == nil, "cancel-after", "%v", err)
	v.ok(p.CancelRate > 0, "cancel-rate", "how many leave? give a share, such as 10%%, or leave --cancel-after out")
}
