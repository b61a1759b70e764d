package vllm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"goodput/loadgen/record"
)

// Setup is what a result file says of how the run was made.
type Setup struct {
	Backend, Label, Model, Tokenizer string // empty: null
	NumPrompts                       int64
	RequestRate                      float64 // +Inf: "inf"; 0: null
	Burstiness                       float64
	MaxConcurrency                   int // 0: null
	// Metadata are KEY=VALUE pairs that become keys of their own.
	Metadata []string
	// Metrics are those whose statistics are written, Percentiles in percent.
	Metrics     []string
	Percentiles []float64
}

// ParseMetrics reads a list such as "ttft,tpot".
func ParseMetrics(text string) ([]string, error) {
	out := strings.Split(text, ",")
	for i, name := range out {
		if out[i] = strings.TrimSpace(name); !slices.Contains(Metrics(), out[i]) {
			return nil, fmt.Errorf("%q is unknown: use some of %s", name, strings.Join(Metrics(), ","))
		}
	}
	return out, nil
}

// ParsePercentiles reads a list such as "50,99.9", in percent.
func ParsePercentiles(text string) ([]float64, error) {
	var out []float64
	for item := range strings.SplitSeq(text, ",") {
		p, err := strconv.ParseFloat(strings.TrimSpace(item), 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return nil, fmt.Errorf("%q is no percentage: write numbers of 0 to 100, such as 50,99,99.9", item)
		}
		out = append(out, p)
	}
	return out, nil
}

// JSON writes the result as one line, as vLLM's benchmark does.
func JSON(w io.Writer, r *Result, s *Setup) error {
	o := &object{}
	o.setup(r, s)
	o.totals(r)
	if r.Detailed != nil {
		o.detailed(r.Detailed)
	}
	if r.Speculates {
		o.drafts(r)
	}
	for _, name := range s.Metrics {
		series := r.Series(name)
		if series.N() == 0 && (name == Queue || name == E2ELQueued) {
			continue // without a cap there is no queue, and vLLM writes no key
		}
		o.statistics(name, series, s.Percentiles)
	}
	return o.write(w)
}

// object is a JSON object whose keys stay in order.
type object struct {
	keys   []string
	values map[string]any
}

func (o *object) set(key string, v any) {
	if o.values == nil {
		o.values = map[string]any{}
	}
	if _, known := o.values[key]; !known {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
}

func (o *object) write(w io.Writer) error {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range o.keys {
		key, err := json.Marshal(k)
		if err != nil {
			return err
		}
		v, err := json.Marshal(o.values[k])
		if err != nil {
			return fmt.Errorf("writing key %s: %w", k, err)
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(key)
		b.WriteString(": ")
		b.Write(v)
	}
	b.WriteString("}\n")
	_, err := w.Write(b.Bytes())
	return err
}

func (o *object) setup(r *Result, s *Setup) {
	text := func(v string) any {
		if v == "" {
			return nil
		}
		return v
	}
	o.set("date", nil)
	if at, err := time.Parse(time.RFC3339Nano, r.Manifest.Started); err == nil {
		o.set("date", at.Format("20060102-150405"))
	}
	o.set("endpoint_type", s.Backend)
	o.set("backend", s.Backend)
	o.set("label", text(s.Label))
	o.set("model_id", text(s.Model))
	o.set("tokenizer_id", text(s.Tokenizer))
	o.set("num_prompts", s.NumPrompts)
	for _, m := range s.Metadata {
		k, v, _ := strings.Cut(m, "=")
		o.set(strings.TrimSpace(k), strings.TrimSpace(v))
	}
	switch rate := s.RequestRate; {
	case math.IsInf(rate, 1):
		o.set("request_rate", "inf")
	case rate == 0:
		o.set("request_rate", nil)
	default:
		o.set("request_rate", rate)
	}
	if b := s.Burstiness; math.IsInf(b, 1) {
		o.set("burstiness", "inf")
	} else {
		o.set("burstiness", b)
	}
	o.set("max_concurrency", nil)
	if s.MaxConcurrency > 0 {
		o.set("max_concurrency", s.MaxConcurrency)
	}
}

func (o *object) totals(r *Result) {
	seconds := float64(r.Duration) / 1e9
	rate := func(n int64) any {
		if seconds <= 0 {
			return nil
		}
		return float64(n) / seconds
	}
	o.set("duration", seconds)
	o.set("completed", r.Completed)
	o.set("failed", r.Failed)
	o.set("total_input_tokens", r.Input)
	o.set("total_output_tokens", r.Output)
	o.set("request_throughput", rate(r.Completed))
	o.set("request_goodput", nil)
	if r.SLO {
		o.set("request_goodput", rate(r.Good))
	}
	o.set("output_throughput", rate(r.Output))
	o.set("total_token_throughput", rate(r.Input+r.Output))
	o.set("max_output_tokens_per_s", float64(r.PeakTokens))
	o.set("max_concurrent_requests", r.PeakRequests)
}

// detailed writes a list for each column, in seconds.
func (o *object) detailed(all []Request) {
	n := len(all)
	in, out, texts := make([]int32, n), make([]int32, n), make([]*string, n)
	start, ttft, e2el, queue := make([]any, n), make([]any, n), make([]any, n), make([]any, n)
	itl, errs := make([][]any, n), make([]string, n)
	for i := range all {
		q := &all[i]
		in[i], out[i], errs[i] = q.Input, q.Output, q.Error
		start[i], ttft[i], e2el[i], queue[i] = secs(int64(q.Start)), secs(q.TTFT), secs(q.E2EL), secs(q.Queued)
		itl[i] = make([]any, len(q.ITL))
		for k, v := range q.ITL {
			itl[i][k] = secs(v)
		}
	}
	o.set("input_lens", in)
	o.set("output_lens", out)
	o.set("ttfts", ttft)
	o.set("itls", itl)
	o.set("latencies", e2el)
	o.set("start_times", start)
	o.set("queue_times", queue)
	o.set("generated_texts", texts)
	o.set("errors", errs)
}

// secs is a duration in seconds; nil if there is none.
func secs(ns int64) any {
	if ns == record.Null {
		return nil
	}
	return float64(ns) / 1e9
}

func (o *object) drafts(r *Result) {
	ratio := func(a, b int64, scale, plus float64) any {
		if b == 0 {
			return nil
		}
		return plus + scale*float64(a)/float64(b)
	}
	o.set("spec_decode_acceptance_rate", ratio(r.Accepted, r.Drafted, 100, 0))
	o.set("spec_decode_acceptance_length", ratio(r.Accepted, r.Drafts, 1, 1))
	o.set("spec_decode_num_drafts", r.Drafts)
	o.set("spec_decode_draft_tokens", r.Drafted)
	o.set("spec_decode_accepted_tokens", r.Accepted)
}

// statistics writes those of one metric, in milliseconds.
func (o *object) statistics(name string, s *Series, percentiles []float64) {
	ms := func(v float64, ok bool) any {
		if !ok {
			return nil
		}
		return v / 1e6
	}
	mean, std, ok := s.Moments()
	o.set("mean_"+name+"_ms", ms(mean, ok))
	o.set("median_"+name+"_ms", ms(s.Percentile(50)))
	o.set("std_"+name+"_ms", ms(std, ok))
	for _, p := range percentiles {
		o.set("p"+strconv.FormatFloat(p, 'f', -1, 64)+"_"+name+"_ms", ms(s.Percentile(p)))
	}
}
