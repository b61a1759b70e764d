package router

import (
	"fmt"
	"strings"
)

// Info describes a rule for help texts.
type Info struct {
	Name   string
	Params []Param
	// Help is one line.
	Help string
}

// Param is one parameter of a rule.
type Param struct {
	Name, Default string
	// Help is one line.
	Help string
}

// rule is an entry of the list of rules.
type rule struct {
	Info
	// build makes the policy; it reads each parameter from a, which keeps the
	// first complaint.
	build func(a *args, seed uint64) Policy
}

// rules lists what exists, in the order in which it is shown.
func rules() []rule {
	return []rule{
		roundRobinRule(), randomRule(), leastOutstandingRule(), p2cRule(), sessionRule(),
		weightedRule(),
		ewmaRule("ewma", "of two replicas takes the one with the smaller average reply time times requests in flight", false),
		ewmaRule("peak-ewma", "as ewma, with an average that jumps to peaks (Finagle)", true),
		consistentHashRule(), boundedHashRule(), prefixHashRule(), maglevRule(),
		cacheAwareRule(), leastKVRule(), kvQueueRule(), leastReportedRule(),
		dynamoKVRule(), envoyLeastRequestRule(), envoyCSWRRRule(), llmDRule(), loraAffinityRule(),
		stackQPSRule(), stackPrefixRule(), stackKVRule(), aibrixPrefixRule(), aibrixBalanceRule(),
		litellmShuffleRule(), litellmLatencyRule(), litellmUsageRule(), litellmCostRule(), litellmBusyRule(), apimPriorityRule(), ptuSpilloverRule(),
	}
}

// Names describes all rules, in the order in which help texts show them.
func Names() []Info {
	all := rules()
	out := make([]Info, len(all))
	for i, r := range all {
		out[i] = r.Info
	}
	return out
}

// New builds the rule that spec names: name[:param=value,...], such as "p2c" or
// "p2c:d=3". A parameter left out has its default. Rules that draw chance take
// it from a stream of seed, so that equal seeds give equal picks.
//
// It is an error if the rule or a parameter does not exist, comes twice, or has
// a value out of range.
func New(spec string, seed uint64) (Policy, error) {
	name, params, hasParams := strings.Cut(spec, ":")
	all := rules()
	i := find(all, name)
	if i < 0 {
		return nil, unknownRule(name, all)
	}
	r := all[i]
	a, err := parseArgs(r.Info, params, hasParams)
	if err != nil {
		return nil, err
	}
	p := r.build(a, seed)
	if a.err != nil {
		return nil, a.err
	}
	return p, nil
}

func find(all []rule, name string) int {
	for i := range all {
		if all[i].Name == name {
			return i
		}
	}
	return -1
}

func unknownRule(name string, all []rule) error {
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Name
	}
	return fmt.Errorf("router rule %q does not exist%s; use one of %s", name, didYouMean(name, names), strings.Join(names, ", "))
}
