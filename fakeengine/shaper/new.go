package shaper

import (
	"fmt"
	"slices"
	"strings"
)

// Info describes a shaper for help texts.
type Info struct {
	Name string
	// Help is one line.
	Help   string
	Params []Param
}

// Param is one parameter of a shaper.
type Param struct{ Name, Default, Help string }

// entry is one of the list.
type entry struct {
	Info
	build func(a *args, seed uint64) Shaper
}

// shapers lists what exists, in the order in which it is shown.
func shapers() []entry {
	return []entry{vtcEntry(), priorityEntry(), deadlineEntry(), tokenBucketEntry(), sessionCapEntry(), semanticCacheEntry(), cascadeEntry(), retryEntry()}
}

// Names describes all shapers.
func Names() []Info {
	var out []Info
	for _, e := range shapers() {
		out = append(out, e.Info)
	}
	return out
}

// New builds the shaper that a text names: name[:param=value,…], such as
// "token-bucket:rate=20". It is an error if the name or a parameter does not exist, comes
// twice, or has a value out of range. Equal seeds draw equal chance.
func New(text string, seed uint64) (Shaper, error) {
	name, params, _ := strings.Cut(text, ":")
	all := shapers()
	i := slices.IndexFunc(all, func(e entry) bool { return e.Name == name })
	if i < 0 {
		known := make([]string, len(all))
		for k, e := range all {
			known[k] = e.Name
		}
		return nil, fmt.Errorf("shaper %q does not exist: use one of %s", name, strings.Join(known, ", "))
	}
	a, err := parseArgs(all[i].Info, params)
	if err != nil {
		return nil, err
	}
	s := all[i].build(a, seed)
	return s, a.err
}

// most bounds counts of requests.
const most = 1 << 20

// The parameters of those that let so many requests through and keep so many waiting.
func inFlight() Param {
	return Param{"in-flight", "64", "requests that may be behind it at once"}
}

func queue() Param {
	return Param{"queue", "1000", "requests that may wait; a further one gets 429"}
}
