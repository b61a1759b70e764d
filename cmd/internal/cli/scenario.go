package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"goodput/profiles"
	"goodput/report/compare"
)

// scenario is one of the embedded comparisons, as a command runs it.
type scenario struct{ profiles.Scenario }

// scenarioList is the value of --scenario that asks for what it may be.
const scenarioList = "list"

// writeScenarios prints the names and what each teaches.
func writeScenarios(w io.Writer) error {
	for _, name := range profiles.Scenarios() {
		s, err := profiles.LoadScenario(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n    %s\n", name, s.Teaches); err != nil {
			return err
		}
	}
	return nil
}

// openScenario loads a scenario, and gives the flags of its load that were not given.
func openScenario(name string, flags *planFlags, seeds *int, chosen bool) (*scenario, error) {
	s, err := profiles.LoadScenario(name)
	if err != nil {
		return nil, fmt.Errorf("--scenario: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Load)) {
		if len(flags.given[key]) > 0 {
			continue
		}
		for _, v := range values(s.Load[key]) {
			if err := flags.give(key, v); err != nil {
				return nil, fmt.Errorf("--scenario %s: %s: %w", name, key, err)
			}
		}
	}
	if !chosen {
		*seeds = s.Seeds
	}
	return &scenario{s}, nil
}

// values are those of a flag: of a list each.
func values(v any) []string {
	all, ok := v.([]any)
	if !ok {
		all = []any{v}
	}
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = fmt.Sprint(v)
	}
	return out
}

// arms are those of the scenario.
func (s *scenario) arms() []arm {
	var out []arm
	for _, a := range s.Arms {
		one := arm{name: a.Name}
		for _, key := range slices.Sorted(maps.Keys(a.Set)) {
			for _, v := range values(a.Set[key]) {
				one.set = append(one.set, compare.Setting{Key: key, Value: v})
			}
		}
		out = append(out, one)
	}
	return out
}

// check prints what the scenario teaches and whether its figures show it; it returns
// an error if they don't.
func (s *scenario) check(w io.Writer, set *compare.Set) error {
	if _, err := fmt.Fprintf(w, "\n%s teaches: %s\n", s.Name, s.Teaches); err != nil {
		return err
	}
	broken := 0
	for _, e := range s.Expect {
		of, err := set.Figure(e.Of, e.Figure)
		than, err2 := set.Figure(e.Than, e.Figure)
		if err := errors.Join(err, err2); err != nil {
			return exitf(exitInternal, "scenario %s: %w", s.Name, err)
		}
		word := "holds        "
		if math.IsNaN(of) || math.IsNaN(than) || !e.Holds(of, than) {
			word = "does not hold"
			broken++
		}
		if _, err := fmt.Fprintf(w, "%s  %s: %s against %s\n", word, e, compare.Format(e.Figure, of), compare.Format(e.Figure, than)); err != nil {
			return err
		}
	}
	if broken > 0 {
		return exitf(exitGate, "%d of %d expectations of scenario %s do not hold", broken, len(s.Expect), s.Name)
	}
	return nil
}
