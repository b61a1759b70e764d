package autoscale

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Signal is what engines report that the number of replicas follows.
type Signal string

// The signals.
const (
	Queue Signal = "queue" // waiting requests (vllm:num_requests_waiting)
	KV    Signal = "kv"    // share of KV blocks in use (vllm:kv_cache_usage_perc)
)

// Config says how a pool scales.
type Config struct {
	Signal Signal
	// Target is the metric of one replica that is aimed at: requests, or a share.
	Target float64
	// Min and Max bound the number of replicas.
	Min, Max int
	// Every is the time between evaluations (Kubernetes: 15 s), ColdStart that from the
	// start of a replica until it takes requests, CoolDown how long fewer must be
	// wanted until there are (Kubernetes: 5 minutes).
	Every, ColdStart, CoolDown time.Duration
}

// maxReplicas bounds Max.
const maxReplicas = 4096

// params says what a text may hold, for its errors.
const params = "target, min, max, every, cold-start and cool-down"

// Parse reads a signal and parameters, such as queue:max=8 or
// kv:target=0.7,min=2,max=8,every=15s,cold-start=60s,cool-down=5m. max must be given;
// target is 5 requests or 0.8 of the blocks without it, min 1, and the times are those
// above.
func Parse(text string) (Config, error) {
	name, rest, _ := strings.Cut(text, ":")
	c := Config{Signal: Signal(name), Target: 5, Min: 1, Every: 15 * time.Second, ColdStart: time.Minute, CoolDown: 5 * time.Minute}
	switch c.Signal {
	case Queue:
	case KV:
		c.Target = 0.8
	default:
		return c, fmt.Errorf("%q does not begin with queue or kv: write such as queue:max=8 or kv:target=0.7,max=8", text)
	}
	seen := map[string]bool{}
	for kv := range strings.SplitSeq(rest, ",") {
		if kv == "" {
			continue
		}
		key, value, _ := strings.Cut(kv, "=")
		if seen[key] {
			return c, fmt.Errorf("%s comes twice: give it once", key)
		}
		seen[key] = true
		if err := c.set(key, value); err != nil {
			return c, err
		}
	}
	return c, c.validate()
}

// set reads one parameter.
func (c *Config) set(key, value string) (err error) {
	switch key {
	case "target":
		c.Target, err = strconv.ParseFloat(value, 64)
	case "min":
		c.Min, err = strconv.Atoi(value)
	case "max":
		c.Max, err = strconv.Atoi(value)
	case "every":
		c.Every, err = time.ParseDuration(value)
	case "cold-start":
		c.ColdStart, err = time.ParseDuration(value)
	case "cool-down":
		c.CoolDown, err = time.ParseDuration(value)
	default:
		return fmt.Errorf("there is no parameter %q: use %s", key, params)
	}
	if err != nil {
		return fmt.Errorf("%s is %q: write a number, or for a time one with a unit, such as 30s", key, value)
	}
	return nil
}

// validate finds what makes no sense.
func (c *Config) validate() error {
	const longest = 24 * time.Hour
	most := 1e6
	if c.Signal == KV {
		most = 1
	}
	switch {
	case c.Max == 0:
		return fmt.Errorf("max is missing: how many replicas may there be, such as %s:max=8?", c.Signal)
	case c.Min < 1 || c.Max > maxReplicas:
		return fmt.Errorf("min is %d and max is %d: both are from 1 to %d", c.Min, c.Max, maxReplicas)
	case c.Max < c.Min:
		return fmt.Errorf("max is %d, less than min, %d", c.Max, c.Min)
	case !(c.Target > 0 && c.Target <= most):
		return fmt.Errorf("target is %v: of %s it is above 0, up to %v", c.Target, c.Signal, most)
	case c.Every < time.Millisecond || c.Every > longest:
		return fmt.Errorf("every is %v: it is from 1ms to %v", c.Every, longest)
	case c.ColdStart < 0 || c.ColdStart > longest:
		return fmt.Errorf("cold-start is %v: it is from 0s to %v", c.ColdStart, longest)
	case c.CoolDown < 0 || c.CoolDown > longest:
		return fmt.Errorf("cool-down is %v: it is from 0s to %v", c.CoolDown, longest)
	}
	return nil
}

// String is what Parse reads.
func (c Config) String() string {
	return fmt.Sprintf("%s:target=%v,min=%d,max=%d,every=%v,cold-start=%v,cool-down=%v",
		c.Signal, c.Target, c.Min, c.Max, c.Every, c.ColdStart, c.CoolDown)
}
