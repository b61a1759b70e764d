package plan

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The values of Cache.
const (
	CacheCold = "cold" // prompts that no run before had
	CacheWarm = "warm" // the same, and each shared prefix was sent once before the window
	CacheKeep = "keep" // the same bytes in all runs of a seed
)

// MostWarmups is the largest number of requests of a warm-up.
const MostWarmups = 1 << 24

// Warming is what Warmup asks for: a time, or a number of requests, or neither.
func (p *Plan) Warming() (d time.Duration, n int, err error) {
	if p.Warmup == "" || p.Warmup == "0" {
		return 0, 0, nil
	}
	if text, ok := strings.CutSuffix(p.Warmup, "req"); ok {
		n, err = strconv.Atoi(text)
	} else {
		d, err = time.ParseDuration(p.Warmup)
	}
	if err != nil || n < 0 || n > MostWarmups || d < 0 || d > DeadlineCap {
		return 0, 0, fmt.Errorf("%q is neither a time of up to %v, such as 30s, nor a number of up to %d requests, such as 20req", p.Warmup, DeadlineCap, MostWarmups)
	}
	return d, n, nil
}

// checkWarmup checks what precedes the window.
func (p *Plan) checkWarmup(v *checker) {
	d, n, err := p.Warming()
	v.ok(err == nil, "warmup", "%v", err)
	v.oneOf("cache", p.Cache, CacheCold, CacheWarm, CacheKeep)
	v.ok(d == 0 || !p.RequestRate.Inf(), "warmup", "at an infinite rate a time holds no number of requests: say how many, such as 20req")
	if !IsAgent(p.DatasetName) {
		return
	}
	v.ok(d == 0 && n == 0, "warmup", "it is for single requests: sessions begin with an empty cache, and --agent-cache-scope says with what they share it")
	v.ok(p.Cache != CacheKeep, "cache", "it is for single requests: --agent-cache-scope none says the same of sessions")
	v.ok(p.Cache != CacheWarm, "cache", "it is for single requests: leave it out, the first sessions of a tenant warm its prefix")
}
