package gate

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The elements of JUnit's XML as CI systems read it.
type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string      `xml:"name,attr"`
		Tests      int         `xml:"tests,attr"`
		Failures   int         `xml:"failures,attr"`
		Errors     int         `xml:"errors,attr"`
		Skipped    int         `xml:"skipped,attr"`
		Properties []junitProp `xml:"properties>property"`
		Cases      []junitCase `xml:"testcase"`
	}
	junitProp struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitProblem `xml:"skipped"`
		Out     string        `xml:"system-out"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
	}
)

// JUnit writes the outcome as one test suite with a case for each rule: a rule that
// fails is a failure, an invalid one an error, an inconclusive one is skipped.
func JUnit(w io.Writer, o *Outcome) error {
	suite := junitSuite{Name: clean("goodput gate " + o.Scenario), Tests: len(o.Results)}
	for _, c := range o.Conditions {
		suite.Properties = append(suite.Properties, junitProp{clean(c[0]), clean(c[1])})
	}
	for _, r := range o.Results {
		c := junitCase{Class: clean(o.Scenario), Name: clean(r.Rule.String()), Out: clean(r.Line())}
		problem := &junitProblem{Message: clean(r.summary())}
		switch r.Verdict {
		case Fail:
			problem.Type = "threshold"
			if r.Rule.Baseline {
				problem.Type = "regression"
			}
			c.Failure = problem
			suite.Failures++
		case Invalid:
			problem.Type = "invalid"
			c.Error = problem
			suite.Errors++
		case Inconclusive:
			c.Skipped = problem
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{
		Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Skipped: suite.Skipped, Suite: suite,
	}); err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// summary is the estimate and the reason.
func (r Result) summary() string {
	s := r.Rule.Format(r.Estimate)
	if r.Lo == r.Lo { // known
		s += fmt.Sprintf(" [%s, %s]", r.Rule.Format(r.Lo), r.Rule.Format(r.Hi))
	}
	if r.Why != "" {
		s += ": " + r.Why
	}
	return s
}

// clean replaces control characters, which XML and annotations can't hold.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == 0xfffe || c == 0xffff {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
}
