package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is a non-negative number that may be infinite: arrivals per second, or a
// shape parameter. Zero means "not given". Its text form is a decimal or "inf".
type Rate float64

// Inf reports whether the rate is infinite.
func (r Rate) Inf() bool { return math.IsInf(float64(r), 1) }

// String returns the text form.
func (r Rate) String() string { return formatNumber(float64(r), "inf") }

// UnmarshalText parses the text form.
func (r *Rate) UnmarshalText(b []byte) error {
	v, err := parseNumber(string(b), "inf")
	*r = Rate(v)
	return err
}

// MarshalYAML is the inverse of UnmarshalText, with plain numbers.
func (r Rate) MarshalYAML() (any, error) {
	return plain(float64(r), r.Inf(), "inf"), nil
}

// Speed is loop seconds per wall second. Zero is "max": virtual time. Its text
// form is a decimal or "max".
type Speed float64

// MaxSpeed is the fastest that a loop in real time may run: beyond it, a
// nanosecond of the wall is more than an engine's own time between two events.
const MaxSpeed = 1000

// Virtual reports whether the run takes place in virtual time.
func (s Speed) Virtual() bool { return s == 0 }

// String returns the text form.
func (s Speed) String() string {
	if s == 0 {
		return "max"
	}
	return formatNumber(float64(s), "")
}

// UnmarshalText parses the text form.
func (s *Speed) UnmarshalText(b []byte) error {
	if strings.EqualFold(string(b), "max") {
		*s = 0
		return nil
	}
	v, err := parseNumber(string(b), "")
	if err == nil && v == 0 {
		err = fmt.Errorf("a speed of 0 never ends: write a positive number or max")
	}
	*s = Speed(v)
	return err
}

// MarshalYAML is the inverse of UnmarshalText, with plain numbers.
func (s Speed) MarshalYAML() (any, error) {
	return plain(float64(s), s == 0, "max"), nil
}

// plain is the word if it stands for the value, else the number, without a
// decimal point where it needs none.
func plain(v float64, isWord bool, word string) any {
	if isWord {
		return word
	}
	if v == math.Trunc(v) && v < 1<<53 {
		return int64(v)
	}
	return v
}

func formatNumber(v float64, inf string) string {
	if math.IsInf(v, 1) {
		return inf
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// parseNumber reads a non-negative decimal, or +Inf if it is written as inf.
func parseNumber(s, inf string) (float64, error) {
	if inf != "" && strings.EqualFold(s, inf) {
		return math.Inf(1), nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || strings.ContainsAny(s, "xX_pP") {
		what := "a non-negative number"
		if inf != "" {
			what += " or " + inf
		}
		return 0, fmt.Errorf("%q is not %s", s, what)
	}
	return v, nil
}
