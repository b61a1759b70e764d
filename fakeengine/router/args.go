package router

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// args holds the parameters of one spec. Its methods read them with their
// checks; the first complaint stays in err, so that a rule's builder needs no
// error handling of its own.
type args struct {
	rule  string
	names []string
	value []string
	err   error
}

// parseArgs reads "k=v,k=v"; given says whether the spec had a colon at all.
func parseArgs(r Info, s string, given bool) (*args, error) {
	a := &args{rule: r.Name}
	for _, p := range r.Params {
		a.names = append(a.names, p.Name)
		a.value = append(a.value, p.Default)
	}
	if !given {
		return a, nil
	}
	seen := make([]bool, len(a.names))
	for kv := range strings.SplitSeq(s, ",") {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || v == "" {
			return nil, fmt.Errorf("router rule %q: %q is not a parameter; write %s:name=value,name=value", r.Name, kv, r.Name)
		}
		i := slices.Index(a.names, k)
		switch {
		case len(a.names) == 0:
			return nil, fmt.Errorf("router rule %q has no parameters; leave out %q", r.Name, ":"+s)
		case i < 0:
			return nil, fmt.Errorf("router rule %q has no parameter %q%s; it has %s", r.Name, k, didYouMean(k, a.names), strings.Join(a.names, ", "))
		case seen[i]:
			return nil, fmt.Errorf("router rule %q: parameter %q comes twice; give it once", r.Name, k)
		}
		seen[i], a.value[i] = true, v
	}
	return a, nil
}

// int reads a whole number in lo..hi.
func (a *args) int(name string, lo, hi int) int {
	v := a.get(name)
	n, err := strconv.Atoi(v)
	if err != nil || n < lo || n > hi {
		a.complain(name, v, fmt.Sprintf("a whole number from %d to %d", lo, hi))
		return lo
	}
	return n
}

// choice reads one of the given words.
func (a *args) choice(name string, words ...string) string {
	v := a.get(name)
	if !slices.Contains(words, v) {
		a.complain(name, v, "one of "+strings.Join(words, ", "))
	}
	return v
}

func (a *args) get(name string) string { return a.value[slices.Index(a.names, name)] }

func (a *args) complain(name, v, want string) {
	if a.err == nil {
		a.err = fmt.Errorf("router rule %q: parameter %s is %q; it must be %s", a.rule, name, v, want)
	}
}
