package profiles

import (
	"fmt"
	"math"
)

// Status says how far a value can be trusted.
type Status string

// The statuses.
const (
	Measured  Status = "measured"  // read off an instrument by the source
	Fitted    Status = "fitted"    // chosen so that a model meets measurements
	Datasheet Status = "datasheet" // stated by the vendor or in a published configuration
	Assumed   Status = "assumed"   // taken over from another part, or a guess: compared with nothing
)

// Coefficient is one number and where it comes from.
type Coefficient struct {
	Value float64 `yaml:"value"`
	// Unit is an SI unit, or a product such as s/token; empty: a plain ratio.
	Unit   string `yaml:"unit,omitempty"`
	Source string `yaml:"source"`
	// Date is when the value was read or fitted, as YYYY-MM or YYYY-MM-DD.
	Date string `yaml:"date"`
	// EngineVersion is the serving engine that was measured; empty: none was
	// involved, or the source does not say.
	EngineVersion string `yaml:"engine_version,omitempty"`
	// Points is the number of measurements behind the value; 0: not applicable.
	Points int `yaml:"points,omitempty"`
	// Error is the relative error to expect, 0.1 for 10%: of a fitted value the median
	// error of predictions for points that were not fitted, and ErrorP90 their 90th
	// percentile. nil: unknown.
	Error    *float64 `yaml:"error,omitempty"`
	ErrorP90 *float64 `yaml:"error_p90,omitempty"`
	Status   Status   `yaml:"status"`
	Note     string   `yaml:"note,omitempty"`
}

// bounds are the values that a field can take: lo < v <= hi, or lo <= v if
// closed.
type bounds struct {
	lo, hi float64
	closed bool
}

var (
	positive = bounds{0, math.MaxFloat64, false}
	share    = bounds{0, 1, false}
	cost     = bounds{0, math.MaxFloat64, true}
)

func (b bounds) String() string {
	switch b {
	case share:
		return "a share, 0 < v <= 1"
	case cost:
		return "0 or more"
	case positive:
		return "more than 0"
	}
	return fmt.Sprintf("between %v and %v", b.lo, b.hi)
}

func (b bounds) hold(v float64) bool {
	return v > b.lo && v <= b.hi || b.closed && v == b.lo
}

// check names what is wrong with c as the field called name.
func (c *Coefficient) check(name string, b bounds, unit string) error {
	switch {
	case c.Status == "" && c.Source == "" && c.Value == 0:
		return fmt.Errorf("%s is missing", name)
	case !b.hold(c.Value):
		return fmt.Errorf("%s is %v: need %s", name, c.Value, b)
	case c.Unit != unit:
		return fmt.Errorf("%s has unit %q: need %q", name, c.Unit, unit)
	case c.Source == "":
		return fmt.Errorf("%s has no source", name)
	case c.Date == "":
		return fmt.Errorf("%s has no date", name)
	case c.Points < 0:
		return fmt.Errorf("%s has %d points: need 0 or more", name, c.Points)
	case c.Error != nil && !(*c.Error >= 0):
		return fmt.Errorf("%s has an error of %v: need 0 or more", name, *c.Error)
	case c.ErrorP90 != nil && (c.Error == nil || !(*c.ErrorP90 >= *c.Error)):
		return fmt.Errorf("%s has an error_p90 of %v: need an error that is not larger beside it", name, *c.ErrorP90)
	case c.Status == Fitted && c.Points == 0:
		return fmt.Errorf("%s is fitted, to 0 points: need their number", name)
	}
	switch c.Status {
	case Measured, Fitted, Datasheet, Assumed:
		return nil
	}
	return fmt.Errorf("%s has status %q: need %s, %s, %s or %s", name, c.Status, Measured, Fitted, Datasheet, Assumed)
}
