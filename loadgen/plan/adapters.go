package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxAdapters bounds the adapters of a plan.
const MaxAdapters = 1<<16 - 1

// Adapters are the names that a list such as LoraModules stands for: NAME*N is
// NAME1 to NAMEN. The error says which item is at fault.
func Adapters(items []string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for _, item := range items {
		name, count, many := strings.Cut(item, "*")
		n := 1
		if many {
			var err error
			if n, err = strconv.Atoi(count); err != nil || n < 1 || n > MaxAdapters {
				return nil, fmt.Errorf("%q: write NAME, or NAME*N with N from 1 to %d", item, MaxAdapters)
			}
		}
		if name == "" || strings.ContainsFunc(name, control) {
			return nil, fmt.Errorf("%q: the name is empty or holds a control character", item)
		}
		for i := range n {
			full := name
			if many {
				full += strconv.Itoa(i + 1)
			}
			if seen[full] {
				return nil, fmt.Errorf("%q: %s is there twice", item, full)
			}
			if seen[full] = true; len(seen) > MaxAdapters {
				return nil, fmt.Errorf("%q: more than %d adapters", item, MaxAdapters)
			}
			out = append(out, full)
		}
	}
	return out, nil
}

func (p *Plan) checkAdapters(v *checker) {
	_, err := Adapters(p.LoraModules)
	v.ok(err == nil, "lora-modules", "%v", err)
	v.oneOf("lora-assignment", p.LoraAssignment, "random", "round-robin", "zipf", "tenant")
	v.ok(!p.TenantSalts || p.CacheSalts == 0, "cache-salt-tenants", "--cache-salts draws other salts: leave one of the two out")
	v.ok(len(p.LoraModules) == 0 || !p.InPool() || p.EngineEnableLora, "lora-modules", "the engines serve no adapters: add --engine.enable-lora")
	v.within("cache-salts", p.CacheSalts, 0, 1<<20)
}
