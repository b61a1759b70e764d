package shaper

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// args are the parameters of one text. Its methods read them; the first complaint stays
// in err.
type args struct {
	info   Info
	values map[string]string
	err    error
}

func parseArgs(info Info, text string) (*args, error) {
	a := &args{info: info, values: map[string]string{}}
	names := make([]string, len(info.Params))
	for i, p := range info.Params {
		names[i] = p.Name
	}
	for kv := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(kv, "=")
		switch _, twice := a.values[key]; {
		case text == "":
		case !ok || value == "":
			return nil, fmt.Errorf("shaper %s: %q is no parameter: write %s:name=value,name=value", info.Name, kv, info.Name)
		case !slices.Contains(names, key):
			return nil, fmt.Errorf("shaper %s has no parameter %q: it has %s", info.Name, key, strings.Join(names, ", "))
		case twice:
			return nil, fmt.Errorf("shaper %s: %s comes twice: give it once", info.Name, key)
		default:
			a.values[key] = value
		}
	}
	for _, p := range info.Params {
		if _, given := a.values[p.Name]; !given {
			a.values[p.Name] = p.Default
		}
	}
	return a, nil
}

func (a *args) complain(name, want string) {
	if a.err == nil {
		a.err = fmt.Errorf("shaper %s: %s is %q: write %s", a.info.Name, name, a.values[name], want)
	}
}

func (a *args) int(name string, lo, hi int) int {
	n, err := strconv.Atoi(a.values[name])
	if err != nil || n < lo || n > hi {
		a.complain(name, fmt.Sprintf("a whole number from %d to %d", lo, hi))
		return lo
	}
	return n
}

func (a *args) float(name string, lo, hi float64) float64 {
	v, err := strconv.ParseFloat(a.values[name], 64)
	if err != nil || !(v >= lo && v <= hi) || math.IsInf(v, 0) {
		a.complain(name, fmt.Sprintf("a number from %v to %v", lo, hi))
		return lo
	}
	return v
}

func (a *args) duration(name string, lo, hi time.Duration) time.Duration {
	d, err := time.ParseDuration(a.values[name])
	if err != nil || d < lo || d > hi {
		a.complain(name, fmt.Sprintf("a time from %v to %v, such as 10s", lo, hi))
		return lo
	}
	return d
}

func (a *args) choice(name string, of ...string) string {
	v := a.values[name]
	if !slices.Contains(of, v) {
		a.complain(name, "one of "+strings.Join(of, ", "))
	}
	return v
}

// named is the text of a shaper with all its parameters.
type named string

func (n named) String() string { return string(n) }

func (a *args) named() named {
	if len(a.info.Params) == 0 {
		return named(a.info.Name)
	}
	parts := make([]string, len(a.info.Params))
	for i, p := range a.info.Params {
		parts[i] = p.Name + "=" + a.values[p.Name]
	}
	return named(a.info.Name + ":" + strings.Join(parts, ","))
}
