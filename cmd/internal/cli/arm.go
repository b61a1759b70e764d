package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goodput/loadgen/plan"
	"goodput/report/compare"
)

// arm is one of what is compared: the common plan with some values of its own.
type arm struct {
	name string
	set  []compare.Setting
}

// armGroups are the parts of a plan in which arms may differ: the target, never the load.
var armGroups = []string{"target", "hardware", "pool", "routers", "engine"}

// clientKeys are those of the load in which they may differ as well: what a client does
// about slow and failed requests. Arrivals and prompts stay the same.
var clientKeys = []string{"retries", "retry-budget", "retry-backoff", "honor-retry-after", "hedge-after"}

// plan is the arm's own plan.
func (a *arm) plan(p plan.Plan) (plan.Plan, error) {
	of := func(key string) string {
		for _, s := range a.set {
			if s.Key == key {
				return s.Value
			}
		}
		return ""
	}
	if err := preset(&p, of("engine"), of("gpu"), of(drafterKey)); err != nil {
		return p, fmt.Errorf("arm %s: %w", a.name, err)
	}
	replaced := map[string]bool{}
	for _, s := range a.set {
		f, err := armField(s.Key)
		if err != nil {
			return p, fmt.Errorf("arm %s: %w", a.name, err)
		}
		set := f.Set
		if !replaced[s.Key] { // a list of the common plan is another one from here on
			set = f.Replace
		}
		replaced[s.Key] = true
		if err := set(&p, s.Value); err != nil {
			return p, fmt.Errorf("arm %s: %s: %w", a.name, s.Key, err)
		}
	}
	if n := p.MixedReplicas(); n > 0 && of("gpu") != "" && of("replicas") == "" {
		p.Replicas = n
	}
	if err := p.Validate(); err != nil {
		return p, fmt.Errorf("arm %s: %w", a.name, err)
	}
	return p, nil
}

// armField finds what an arm may set.
func armField(key string) (plan.Field, error) {
	for _, f := range plan.Fields() {
		switch {
		case f.Key != key:
		case slices.Contains(clientKeys, key): // the same requests, sent with more or less patience
			return f, nil
		case !slices.Contains(armGroups, f.Group):
			return f, fmt.Errorf("%s: arms differ in what answers, never in the load or where it is recorded: give --%s to all of them", key, key)
		default:
			return f, nil
		}
	}
	return plan.Field{}, fmt.Errorf("unknown key %q: the keys are the names of flags, such as faults, tp or engine.max-num-seqs", key)
}

// parseArm reads "NAME KEY=VALUE…".
func parseArm(text string) (arm, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return arm{}, fmt.Errorf("--arm: it is empty: write a name and what is different, such as 'slow faults=slow.yaml'")
	}
	a := arm{name: words[0]}
	if strings.Contains(a.name, "=") {
		return a, fmt.Errorf("--arm %q: the first word is the arm's name, as in 'slow %s'", text, text)
	}
	for _, w := range words[1:] {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return a, fmt.Errorf("--arm %q: %q is not KEY=VALUE", text, w)
		}
		if _, err := armField(key); err != nil {
			return a, fmt.Errorf("--arm %q: %w", text, err)
		}
		a.set = append(a.set, compare.Setting{Key: key, Value: value})
	}
	return a, nil
}

// named splits NAME=VALUE; without a name the value names itself. A name has no colon or
// slash, so that neither a URL nor the parameter of a router is taken for one.
func named(text string) (name, value string) {
	before, after, ok := strings.Cut(text, "=")
	if !ok || before == "" || strings.ContainsAny(before, ":/ ") {
		return text, text
	}
	return before, after
}

// armFlags collects the flags that name arms.
type armFlags struct{ routers, urls, arms, direct []string }

// viaArm is the name of the arm through a router that was given none.
const viaArm = "router"

var errNoRouter = errors.New("--direct: it goes to engines without their router, which --base-url names: give that, too")

// directArm goes to the engines themselves, in turn.
func directArm(urls []string) arm {
	a := arm{name: compare.DirectArm}
	for _, u := range urls {
		a.set = append(a.set, compare.Setting{Key: "base-url", Value: u})
	}
	return a
}

// addDirect adds the flag.
func addDirect(c *cobra.Command, to *[]string) {
	c.Flags().Var(repeated{to, "", "URL"}, "direct", "URL of an engine behind the router, for an arm named direct that offers it the same load: what that takes less is the router's cost, by spans (--otlp-listen) or the engines' metrics; given several times, requests go to the engines in turn, as they should where the router has several")
}

// none returns an error if there are any.
func (f *armFlags) none() error {
	if len(f.routers)+len(f.urls)+len(f.arms)+len(f.direct) > 0 {
		return fmt.Errorf("--scenario: it has its own arms: leave out --router, --base-url, --arm and --direct")
	}
	return nil
}

// repeated is a flag that may be given several times.
type repeated struct {
	to   *[]string
	def  string
	kind string
}

func (r repeated) String() string { return r.def }
func (r repeated) Type() string   { return r.kind }
func (r repeated) Set(s string) error {
	*r.to = append(*r.to, s)
	return nil
}

// list makes the arms. The flag of one that is given once, without a name, is that of
// the common plan, and common is called with it.
func (f *armFlags) list(common func(key, value string) error) ([]arm, error) {
	if len(f.routers) > 1 && len(f.urls) > 1 {
		return nil, fmt.Errorf("--router and --base-url: arms are routers in process, or URLs, not both")
	}
	var out []arm
	for _, x := range []struct {
		key    string
		values []string
	}{{"router", f.routers}, {"base-url", f.urls}} {
		for _, text := range x.values {
			name, value := named(text)
			if err := common(x.key, value); err != nil {
				return nil, fmt.Errorf("--%s: %w", x.key, err)
			}
			if len(x.values) == 1 && len(f.direct) > 0 && len(f.arms) == 0 && name == value && x.key == "base-url" {
				name = viaArm
			} else if len(x.values) == 1 && (len(f.arms) > 0 || name == value) {
				break // it is of all arms
			}
			out = append(out, arm{name, []compare.Setting{{Key: x.key, Value: value}}})
		}
	}
	for _, text := range f.arms {
		a, err := parseArm(text)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	if len(f.direct) > 0 {
		if len(f.urls) == 0 {
			return nil, errNoRouter
		}
		out = append(out, directArm(f.direct))
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("compare needs two arms or more: repeat --router, --base-url NAME=URL or --arm 'NAME KEY=VALUE'")
	}
	for i, a := range out {
		if slices.ContainsFunc(out[:i], func(b arm) bool { return b.name == a.name }) {
			return nil, fmt.Errorf("two arms are named %s: give each a name, as in --router one=%s --router two=%s", a.name, a.name, a.name)
		}
	}
	return out, nil
}
