package profiles

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Scenario is a comparison that teaches something: a load, the arms that it is offered
// to, and what is to be seen.
type Scenario struct {
	Name    string `yaml:"name"`
	Teaches string `yaml:"teaches"`
	// Seeds is how many runs each arm has.
	Seeds int `yaml:"seeds"`
	// Load has values of flags, by name; a list repeats the flag.
	Load map[string]any `yaml:"load"`
	Arms []ScenarioArm  `yaml:"arms"`
	// Expect is what the figures must show.
	Expect []Expectation `yaml:"expect"`
}

// ScenarioArm is one arm, with the flags in which it differs; a list repeats the flag.
type ScenarioArm struct {
	Name string         `yaml:"name"`
	Set  map[string]any `yaml:"set"`
}

// Expectation is that a figure of one arm is at most, or at least, so many times that
// of another one. One of Most and Least is given.
type Expectation struct {
	Figure string  `yaml:"figure"` // a column of the comparison, such as "ttft p95"
	Of     string  `yaml:"of"`     // an arm
	Than   string  `yaml:"than"`   // another one
	Most   float64 `yaml:"most"`
	Least  float64 `yaml:"least"`
}

// String says the expectation.
func (e Expectation) String() string {
	word, times := "at most", e.Most
	if e.Least > 0 {
		word, times = "at least", e.Least
	}
	return fmt.Sprintf("%s of %s is %s %g times that of %s", e.Figure, e.Of, word, times, e.Than)
}

// Holds compares two values.
func (e Expectation) Holds(of, than float64) bool {
	if e.Least > 0 {
		return of >= e.Least*than
	}
	return of <= e.Most*than
}

// Scenarios lists the names that LoadScenario knows, sorted.
func Scenarios() []string { return names("scenario") }

// LoadScenario returns a scenario. An unknown name is an error that lists the known
// ones.
func LoadScenario(name string) (Scenario, error) {
	data, err := read("scenario", name)
	if err != nil {
		return Scenario{}, err
	}
	var s Scenario
	if err := decode(data, &s); err != nil {
		return Scenario{}, fmt.Errorf("scenario %s: %w", name, err)
	}
	if err := s.validate(name); err != nil {
		return Scenario{}, fmt.Errorf("scenario %s: %w", name, err)
	}
	return s, nil
}

func (s *Scenario) validate(name string) error {
	var known []string
	for _, a := range s.Arms {
		known = append(known, a.Name)
	}
	switch {
	case s.Name != name:
		return fmt.Errorf("name is %q: need the name of the file", s.Name)
	case strings.TrimSpace(s.Teaches) == "":
		return errors.New("teaches is missing")
	case len(s.Arms) < 2 || s.Seeds < 1:
		return fmt.Errorf("%d arms and %d seeds: need two arms and a seed at least", len(s.Arms), s.Seeds)
	case len(s.Expect) == 0:
		return errors.New("expect is missing: what is to be seen?")
	}
	for _, e := range s.Expect {
		if !slices.Contains(known, e.Of) || !slices.Contains(known, e.Than) || (e.Most > 0) == (e.Least > 0) {
			return fmt.Errorf("expectation %q: need two arms out of %s, and either most or least", e, strings.Join(known, ", "))
		}
	}
	return nil
}
