package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Ratios are how far the lengths of prompts and of answers spread around their means. Their
// text form is one decimal for both, or {"input":r,"output":r}.
type Ratios struct{ Input, Output float64 }

// String returns the text form.
func (r Ratios) String() string {
	if r.Input == r.Output {
		return formatNumber(r.Input, "")
	}
	return fmt.Sprintf(`{"input":%s,"output":%s}`, formatNumber(r.Input, ""), formatNumber(r.Output, ""))
}

// UnmarshalText parses the text form.
func (r *Ratios) UnmarshalText(b []byte) error {
	if !strings.HasPrefix(strings.TrimSpace(string(b)), "{") {
		v, err := parseNumber(string(b), "")
		*r = Ratios{v, v}
		return err
	}
	var both struct{ Input, Output *float64 }
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&both); err != nil || d.More() || both.Input == nil || both.Output == nil {
		return fmt.Errorf(`%q is neither a number nor {"input":r,"output":r}`, b)
	}
	*r = Ratios{*both.Input, *both.Output}
	return nil
}

// MarshalYAML is the inverse of UnmarshalText, with a plain number where one is enough.
func (r Ratios) MarshalYAML() (any, error) {
	if r.Input == r.Output {
		return plain(r.Input, false, ""), nil
	}
	return r.String(), nil
}

// valid reports whether both are at least 0 and below 1.
func (r Ratios) valid() bool {
	return r.Input >= 0 && r.Input < 1 && r.Output >= 0 && r.Output < 1
}
