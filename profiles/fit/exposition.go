package fit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Totals are counters of a vLLM server as its /metrics shows them, summed over
// labels: seconds, tokens, requests and steps since it started. A NaN was not there.
type Totals struct {
	TTFT, TTFTs     float64 // sum of seconds, and of how many requests
	Token, Tokens   float64 // seconds between tokens
	Queue, Queues   float64
	Prompt, Prompts float64 // tokens, and of how many requests
	Output          float64
	Steps           float64
	Cached          float64 // prompt tokens found in the prefix cache
}

// series are the names of what Totals holds; of several, the first that is there.
func (t *Totals) series() []struct {
	names []string
	to    *float64
} {
	type s = struct {
		names []string
		to    *float64
	}
	return []s{
		{[]string{"vllm:time_to_first_token_seconds_sum"}, &t.TTFT},
		{[]string{"vllm:time_to_first_token_seconds_count"}, &t.TTFTs},
		{[]string{"vllm:inter_token_latency_seconds_sum", "vllm:time_per_output_token_seconds_sum"}, &t.Token},
		{[]string{"vllm:inter_token_latency_seconds_count", "vllm:time_per_output_token_seconds_count"}, &t.Tokens},
		{[]string{"vllm:request_queue_time_seconds_sum"}, &t.Queue},
		{[]string{"vllm:request_queue_time_seconds_count"}, &t.Queues},
		{[]string{"vllm:request_prompt_tokens_sum", "vllm:prompt_tokens_total"}, &t.Prompt},
		{[]string{"vllm:request_prompt_tokens_count"}, &t.Prompts},
		{[]string{"vllm:generation_tokens_total"}, &t.Output},
		{[]string{"vllm:iteration_tokens_total_count"}, &t.Steps},
		{[]string{"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"}, &t.Cached},
	}
}

// maxLine bounds a line of /metrics.
const maxLine = 1 << 20

// ReadMetrics reads what a vLLM server answers under /metrics. An error names the
// line.
func ReadMetrics(r io.Reader) (Totals, error) {
	sums := map[string]float64{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, err := sample(line)
		if err != nil {
			return Totals{}, fmt.Errorf("line %d: %w", n, err)
		}
		if !strings.HasPrefix(name, "vllm:") || !counter(name) {
			continue
		}
		if !(value >= 0) || math.IsInf(value, 0) {
			return Totals{}, fmt.Errorf("line %d: %s is %v: need 0 or more", n, name, value)
		}
		sums[name] += value
	}
	if err := lines.Err(); err != nil {
		return Totals{}, fmt.Errorf("line %d: %w", n+1, err)
	}
	var t Totals
	found := 0
	for _, s := range t.series() {
		*s.to = math.NaN()
		for _, name := range s.names {
			if v, ok := sums[name]; ok {
				*s.to = v
				found++
				break
			}
		}
	}
	if found == 0 {
		return Totals{}, errors.New("no counters of vLLM (vllm:...): is this the answer of its /metrics?")
	}
	return t, nil
}

// counter says whether a series is one of those that are read.
func counter(name string) bool {
	return strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count") || strings.HasSuffix(name, "_total")
}

// sample splits a line of the form name{labels} value timestamp, of which labels and
// timestamp are optional.
func sample(line string) (name string, value float64, err error) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 {
		return "", 0, fmt.Errorf("%.40q is no sample: need a name and a value", line)
	}
	name, rest := line[:end], line[end:]
	if rest[0] == '{' {
		at := closing(rest)
		if at < 0 {
			return "", 0, fmt.Errorf("the labels of %.40s do not end", name)
		}
		rest = rest[at+1:]
	}
	fields := strings.Fields(rest)
	if len(fields) < 1 || len(fields) > 2 {
		return "", 0, fmt.Errorf("%.40s has %d fields behind the labels: need a value, and at most a timestamp", name, len(fields))
	}
	if value, err = strconv.ParseFloat(fields[0], 64); err != nil {
		return "", 0, fmt.Errorf("%.40s: %.40q is no number", name, fields[0])
	}
	return name, value, nil
}

// closing is the index of the brace that ends the labels, which may hold quoted
// braces; -1: there is none.
func closing(s string) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case !quoted && s[i] == '}':
			return i
		}
	}
	return -1
}

// less is what happened between two readings.
func (t Totals) less(before Totals) Totals {
	a, b := t.series(), before.series()
	for i := range a {
		*a[i].to -= *b[i].to
	}
	return t
}

// Readings turns readings of one server, in the order of time, into points: what
// happened between two of them, or since the start if there is only one.
func Readings(e *Endpoint, readings []Totals) ([]Point, []Drop) {
	var out []Point
	var left drops
	for i := range readings {
		t := readings[i]
		if i == 0 && len(readings) > 1 {
			continue
		}
		if i > 0 {
			t = t.less(readings[i-1])
		}
		if why := t.unusable(); why != "" {
			left.add(why)
			continue
		}
		out = append(out, t.points(e, i)...)
	}
	return out, left
}

func (t *Totals) unusable() string {
	switch {
	case !(t.Steps > 0):
		return "no steps (vllm:iteration_tokens_total) between two readings, or fewer than before"
	case !(t.Tokens > 0) || !(t.Token > 0):
		return "no times between tokens (vllm:inter_token_latency_seconds)"
	case !(t.Output > 0) || !(t.Prompts > 0) || !(t.Prompt > 0):
		return "no counts of tokens (vllm:generation_tokens_total, vllm:request_prompt_tokens)"
	}
	return ""
}

func (t *Totals) points(e *Endpoint, i int) []Point {
	token := e.point(OpenLoop, fmt.Sprintf("%s reading %d", e.Source, i))
	token.Batch = max(1, t.Output/t.Steps)
	token.Input, token.Output = max(1, t.Prompt/t.Prompts), max(1, t.Output/t.Prompts)
	if t.Cached > 0 {
		token.Cached = min(t.Cached/t.Prompts, token.Input-1)
	}
	token.Seconds = t.Token / t.Tokens
	out := []Point{token}
	if first := t.TTFT / t.TTFTs; first > 0 {
		if wait := t.Queue / t.Queues; wait > 0 {
			first -= wait
		}
		if first > 0 {
			p := token
			p.Kind, p.Seconds = FirstToken, first
			out = append(out, p)
		}
	}
	return out
}
