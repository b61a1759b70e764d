package diagnose

import (
	"fmt"
	"math"
	"time"

	"goodput/report/query"
)

// Finding is one thing that is wrong, or that bounds a run.
type Finding struct {
	// Name is stable and for programs, What for people.
	Name, What string
	// Evidence is what the figures show, Remedy what to do.
	Evidence, Remedy string
}

// rules are looked for in this order, which is that of the way from the generator to
// the engines.
func rules() []func(*query.Figures) (Finding, bool) {
	return []func(*query.Figures) (Finding, bool){
		generatorBound, buffered, inBlocks, firstDelayed, cutSilently, amplified, orphaned, blackHole, herding, cacheDefeated, kvBound, slotBound,
	}
}

// All are the findings of a run; none is nil.
func All(f *query.Figures) []Finding {
	var out []Finding
	for _, rule := range rules() {
		if found, ok := rule(f); ok {
			out = append(out, found)
		}
	}
	return out
}

// short prints nanoseconds with three digits.
func short(ns float64) string {
	unit := 1.0
	for math.Abs(ns) >= 999.5*unit {
		unit *= 10
	}
	return (time.Duration(math.Round(ns/unit)) * time.Duration(unit)).String()
}

func share(part, whole int64) float64 { return float64(part) / float64(max(1, whole)) }

func percent(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }
