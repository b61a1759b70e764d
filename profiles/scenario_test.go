package profiles

import (
	"strings"
	"testing"
)

func TestScenariosLoad(t *testing.T) {
	names := Scenarios()
	if len(names) < 12 {
		t.Errorf("only %v", names)
	}
	for _, name := range names {
		s, err := LoadScenario(name)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, e := range s.Expect {
			if !strings.Contains(e.String(), e.Of) {
				t.Errorf("%s: %s", name, e)
			}
		}
	}
	if _, err := LoadScenario("herd"); err == nil || !strings.Contains(err.Error(), "herding") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestScenarioRefuses(t *testing.T) {
	well := func() Scenario {
		return Scenario{
			Name: "a", Teaches: "b", Seeds: 1, Arms: []ScenarioArm{{Name: "x"}, {Name: "y"}},
			Expect: []Expectation{{Figure: "ttft p95", Of: "x", Than: "y", Most: 1}},
		}
	}
	s := well()
	if err := s.validate("a"); err != nil {
		t.Fatal(err)
	}
	for says, spoil := range map[string]func(*Scenario){
		"name of the file":   func(s *Scenario) { s.Name = "c" },
		"teaches":            func(s *Scenario) { s.Teaches = " " },
		"two arms":           func(s *Scenario) { s.Arms = s.Arms[:1] },
		"a seed":             func(s *Scenario) { s.Seeds = 0 },
		"expect is missing":  func(s *Scenario) { s.Expect = nil },
		"two arms out of x":  func(s *Scenario) { s.Expect[0].Of = "z" },
		"either most or lea": func(s *Scenario) { s.Expect[0].Least = 1 },
	} {
		s := well()
		spoil(&s)
		if err := s.validate("a"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func TestExpectationHolds(t *testing.T) {
	for _, c := range []struct {
		e        Expectation
		of, than float64
		want     bool
	}{{Expectation{Most: 0.9}, 9, 10, true}, {Expectation{Most: 0.9}, 9.1, 10, false}, {Expectation{Least: 2}, 20, 10, true}, {Expectation{Least: 2}, 19, 10, false}} {
		if got := c.e.Holds(c.of, c.than); got != c.want {
			t.Errorf("%s: %v and %v: %v", c.e, c.of, c.than, got)
		}
	}
}
