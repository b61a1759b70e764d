package agent

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"
)

// file is a Config as YAML has it.
type file struct {
	Tenants struct {
		Count int     `yaml:"count"`
		Zipf  float64 `yaml:"zipf"`
	} `yaml:"tenants"`
	Shape       Shape      `yaml:"shape"`
	Context     Context    `yaml:"context"`
	Append      Append     `yaml:"append"`
	Wait        Wait       `yaml:"wait"`
	Fanout      Fanout     `yaml:"fanout"`
	Compaction  Compaction `yaml:"compaction"`
	PrefixBreak struct {
		Probability float64 `yaml:"probability"`
		Keep        string  `yaml:"keep"`
	} `yaml:"prefix_break"`
}

// With returns c with the parameters that a YAML text gives, such as
//
//	tenants: {count: 8, zipf: 1}
//	append:
//	  tool: {dist: lognormal, median: 500, sigma: 1.5, max: 20000}
//	wait:
//	  human: {dist: lognormal, median: 2m, sigma: 1, min: 1s}
//	fanout: {probability: 0.02, context: fork}
//
// Parameters that are not given stay; a distribution is replaced as a whole, and may
// be a number, which is then always drawn. Durations are in units such as 90s, or
// numbers of seconds. The error names the line of what is unknown or malformed.
func (c Config) With(text []byte) (Config, error) {
	var f file
	f.Tenants.Count, f.Tenants.Zipf = c.Tenants, c.TenantZipf
	f.Shape, f.Context, f.Append, f.Wait, f.Fanout, f.Compaction = c.Shape, c.Context, c.Append, c.Wait, c.Fanout, c.Compaction
	f.PrefixBreak.Probability, f.PrefixBreak.Keep = c.PrefixBreak, "tenant"
	if err := yaml.UnmarshalWithOptions(text, &f, yaml.Strict()); err != nil {
		return c, fmt.Errorf("reading the parameters of sessions: %w", err)
	}
	if f.PrefixBreak.Keep == "" && f.Context.MaxTokens == 0 {
		return c, nil // nothing but comments
	}
	if f.PrefixBreak.Keep != "tenant" {
		return c, fmt.Errorf("prefix_break.keep is %q: only the tenant's prefix can be kept; use tenant", f.PrefixBreak.Keep)
	}
	c.Tenants, c.TenantZipf = f.Tenants.Count, f.Tenants.Zipf
	c.Shape, c.Context, c.Append, c.Wait, c.Fanout, c.Compaction = f.Shape, f.Context, f.Append, f.Wait, f.Fanout, f.Compaction
	c.PrefixBreak = f.PrefixBreak.Probability
	return c, nil
}

// UnmarshalYAML reads a distribution, or a number that is always drawn.
func (d *Dist) UnmarshalYAML(unmarshal func(any) error) error {
	var raw any
	if err := unmarshal(&raw); err != nil {
		return err
	}
	out, err := distOf(raw)
	if err != nil {
		return err
	}
	*d = out
	return nil
}

func distOf(raw any) (Dist, error) {
	m, ok := raw.(map[string]any)
	if !ok {
		v, err := number(raw)
		return fixed(v), err
	}
	kind, ok := m["dist"].(string)
	if !ok {
		return Dist{}, errors.New("a distribution says which one it is: write {dist: lognormal, median: 100, sigma: 1}, or a number")
	}
	d := Dist{Kind: Kind(kind)}
	to := map[string]*float64{
		"value": &d.Value, "low": &d.Low, "high": &d.High, "mean": &d.Mean, "sd": &d.SD, "median": &d.Median, "sigma": &d.Sigma,
		"p50": &d.P50, "p90": &d.P90, "shape": &d.Shape, "scale": &d.Scale, "s": &d.S, "min": &d.Min, "max": &d.Max,
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys) // the first fault is always the same
	for _, k := range keys {
		if err := d.set(k, m[k], to[k]); err != nil {
			return d, fmt.Errorf("distribution %s: %s: %w", kind, k, err)
		}
	}
	return d, nil
}

// set reads one parameter; to is where a plain number goes, nil for others.
func (d *Dist) set(key string, v any, to *float64) (err error) {
	switch {
	case key == "dist":
	case to != nil:
		*to, err = number(v)
	case key == "n":
		var n float64
		n, err = number(v)
		if d.N = int(min(max(n, -1), maxDraw)); err == nil && float64(d.N) != n {
			err = fmt.Errorf("%v is no whole number up to %d", v, maxDraw)
		}
	case key == "values":
		err = d.setValues(v)
	case key == "weight":
		d.Weight, err = numbers(v)
	case key == "parts":
		err = d.setParts(v)
	case key == "of":
		err = d.setOf(v)
	default:
		err = errors.New("there is no such parameter")
	}
	return err
}

// setValues reads a list, or a map of values to their weights.
func (d *Dist) setValues(v any) (err error) {
	m, ok := v.(map[string]any)
	if !ok {
		d.Values, err = numbers(v)
		return err
	}
	of := map[float64]float64{}
	for k, w := range m {
		x, err := strconv.ParseFloat(k, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", k)
		}
		if of[x], err = number(w); err != nil {
			return err
		}
	}
	p := weights(of)
	d.Values, d.Weight = p.Values, p.Weight
	return nil
}

func (d *Dist) setParts(v any) error {
	list, ok := v.([]any)
	if !ok {
		return errors.New("write it as [[WEIGHT, LOW, HIGH], …]")
	}
	for _, item := range list {
		p, err := numbers(item)
		if err != nil || len(p) != 3 {
			return errors.New("write it as [[WEIGHT, LOW, HIGH], …]")
		}
		d.Parts = append(d.Parts, Part{p[0], p[1], p[2]})
	}
	return nil
}

func (d *Dist) setOf(v any) error {
	list, ok := v.([]any)
	if !ok {
		return errors.New("write it as a list of distributions")
	}
	for _, item := range list {
		x, err := distOf(item)
		if err != nil {
			return err
		}
		d.Of = append(d.Of, x)
	}
	return nil
}

func numbers(v any) ([]float64, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("write it as a list of numbers")
	}
	out := make([]float64, len(list))
	for i, x := range list {
		var err error
		if out[i], err = number(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// number is a number, or a duration in seconds.
func number(v any) (float64, error) {
	var x float64
	switch n := v.(type) {
	case float64:
		x = n
	case uint64:
		x = float64(n)
	case int64:
		x = float64(n)
	case int:
		x = float64(n)
	case string:
		t, err := time.ParseDuration(n)
		if err != nil {
			return 0, fmt.Errorf("%q is neither a number nor a duration such as 90s", n)
		}
		x = t.Seconds()
	default:
		return 0, fmt.Errorf("%v is not a number", v)
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%v is not a finite number", v)
	}
	return x, nil
}
