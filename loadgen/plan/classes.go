package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Class is one of the streams of requests that make up a load.
type Class struct {
	Name string
	// Plan is the common plan with the class's own values. It has no classes.
	Plan Plan
}

// probeClass is the class of the rows of probes.
const probeClass = "probe"

// Of class names, and of classes.
const (
	longestClass = 64
	mostClasses  = 64
)

// classLoad are the keys of a class besides those of its dataset: when its requests
// come, and what they are promised.
var classLoad = []string{
	"request-rate", "burstiness", "arrival", "num-prompts", "duration", "stages",
	"ramp-up-strategy", "ramp-up-start-rps", "ramp-up-end-rps", "ignore-eos", "goodput", "priority",
}

// ofAll are the beginnings of dataset keys that a class has not: they bound or extend all
// the sessions of a load together, or tell what to expect of them.
var ofAll = []string{"sessions-concurrency", "sessions-overflow", "sessions-drain", "max-live-", "stationary-", "service-"}

// classKey reports whether a class may have a value of its own for the field.
func classKey(f Field) bool {
	if slices.Contains(classLoad, f.Key) {
		return true
	}
	return f.Group == "dataset" && !slices.ContainsFunc(ofAll, func(s string) bool { return strings.HasPrefix(f.Key, s) })
}

// Mixed reports whether the load is made of classes.
func (p *Plan) Mixed() bool { return len(p.Class) > 0 }

// Classes are those of the plan, in its order; none for a load that is all alike.
func (p *Plan) Classes() ([]Class, error) {
	out := make([]Class, 0, len(p.Class))
	for _, text := range p.Class {
		c, err := p.class(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o Class) bool { return o.Name == c.Name }) {
			return nil, fmt.Errorf("two classes are named %s: give each a name of its own", c.Name)
		}
		out = append(out, c)
	}
	if len(out) > mostClasses {
		return nil, fmt.Errorf("%d classes are more than the limit of %d", len(out), mostClasses)
	}
	return out, nil
}

// class reads "NAME KEY=VALUE…".
func (p *Plan) class(text string) (Class, error) {
	list, err := words(text)
	if err != nil {
		return Class{}, fmt.Errorf("%q: %w", text, err)
	}
	if len(list) == 0 {
		return Class{}, errors.New("a class is empty: write a name and what is different, such as 'batch request-rate=2 random-output-len=512'")
	}
	c := Class{Name: list[0], Plan: *p}
	if c.Name == "" || strings.ContainsAny(c.Name, `=,{}"`) || strings.ContainsFunc(c.Name, control) || len(c.Name) > longestClass {
		return Class{}, fmt.Errorf("%q: the first word is the name of the class, of 1 to %d letters, as in 'batch request-rate=2'", text, longestClass)
	}
	c.Plan.Class = nil
	replaced := map[string]bool{}
	for _, w := range list[1:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return Class{}, fmt.Errorf("class %s: %q is not KEY=VALUE", c.Name, w)
		}
		f, err := classField(key)
		if err != nil {
			return Class{}, fmt.Errorf("class %s: %w", c.Name, err)
		}
		set := f.Set
		if !replaced[key] { // a list of the common plan is another one from here on
			set = f.Replace
		} else if !f.List {
			return Class{}, fmt.Errorf("class %s: %s is there twice: leave one out", c.Name, key)
		}
		replaced[key] = true
		if err := set(&c.Plan, value); err != nil {
			return Class{}, fmt.Errorf("class %s: %s: %w", c.Name, key, err)
		}
	}
	if p := &c.Plan; IsTrace(p.DatasetName) && p.TraceSessions == "" {
		p.TraceSessions = SessionsOpen
		if p.SessionsRate != 0 || p.NumSessions != 0 {
			p.TraceSessions = SessionsClosed
		}
	}
	if p := &c.Plan; p.InSessions() { // a warm-up is of the single requests beside them
		p.Warmup = ""
		if p.Cache == CacheWarm {
			p.Cache = CacheCold
		}
	}
	return c, nil
}

func classField(key string) (Field, error) {
	for _, f := range Fields() {
		switch {
		case f.Key != key:
		case !classKey(f):
			return f, fmt.Errorf("%s: classes differ in what is asked, when, and what is promised: give --%s to the whole load", key, key)
		default:
			return f, nil
		}
	}
	return Field{}, fmt.Errorf("unknown key %q: the keys are the names of flags, such as request-rate, dataset-name or goodput", key)
}

// words splits a text at its spaces, except within double quotes, which may be around
// any part of a word and are left out.
func words(text string) ([]string, error) {
	var out []string
	var word strings.Builder
	quoted, any := false, false
	for _, r := range text {
		switch {
		case r == '"':
			quoted, any = !quoted, true
		case !quoted && strings.ContainsRune(" \t\r\n", r):
			if any {
				out = append(out, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteRune(r)
			any = true
		}
	}
	if quoted {
		return nil, errors.New(`a double quote is never closed`)
	}
	if any {
		out = append(out, word.String())
	}
	return out, nil
}

// classText is a class as one text, of its name and its pairs of keys and values.
func classText(name string, pairs [][2]string) string {
	out := []string{quote(name)}
	for _, kv := range pairs {
		out = append(out, kv[0]+"="+quote(kv[1]))
	}
	return strings.Join(out, " ")
}

func quote(s string) string {
	if strings.ContainsAny(s, " \t\r\n") {
		return `"` + s + `"`
	}
	return s
}

// checkClasses checks each class as the load that it is by itself, and what a load of
// classes can't be.
func (p *Plan) checkClasses(v *checker) {
	list, err := p.Classes()
	v.ok(err == nil, "class", "%v", err)
	v.ok(p.ProbeRate == 0 || !slices.ContainsFunc(list, func(c Class) bool { return c.Name == probeClass }), "class",
		"%s is the class of those that --probe-request-rate sends: give yours another name", probeClass)
	v.ok(p.Concurrency == 0, "concurrency", "in a closed loop nothing arrives by a process that classes could differ in: leave it out, or --class")
	v.ok(!p.InSessions() && p.SessionsRate == 0 && p.NumSessions == 0, "class",
		"sessions are what some classes are of: say so there, as in 'agents dataset-name=agent sessions-rate=0.1'")
	v.ok(p.SessionsConcurrency == 0 && p.MaxLiveSessions == 0 && !p.StationaryStart, "class",
		"sessions of a class arrive by its sessions-rate: leave out --sessions-concurrency, --max-live-sessions and --stationary-start")
	for i := range list {
		c := &list[i]
		one := &checker{}
		c.Plan.checkContent(one)
		in := c.Plan.InSessions()
		one.ok(!in || p.MaxConcurrency == 0, "max-concurrency", "it bounds single requests, and the class is of sessions: leave out one of the two")
		timed := Timed(c.Plan.DatasetName) && (c.Plan.Arrival == "" || c.Plan.Arrival == "trace")
		one.ok(c.Plan.Duration > 0 || c.Plan.NumPrompts > 0 || c.Plan.NumSessions > 0 || c.Plan.Stages != "" || timed, "duration",
			"for how long? give it to the whole load, so that the classes end together, or --num-prompts (--num-sessions) to each class")
		for _, err := range one.errs {
			v.errs = append(v.errs, fmt.Errorf("class %s: %w", c.Name, err))
		}
	}
}

// MixText is how the classes arrive, for people.
func MixText(list []Class) string {
	out := make([]string, len(list))
	for i := range list {
		p := list[i].Plan.WithDefaults(Timed(list[i].Plan.DatasetName), 0)
		out[i] = list[i].Name + ": " + p.ArrivalText()
		if n := list[i].Plan.Priority; n != 0 {
			out[i] += ", priority " + strconv.Itoa(n)
		}
	}
	return strings.Join(out, "; ")
}
