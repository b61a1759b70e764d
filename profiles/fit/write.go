package fit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"goodput/profiles"
)

// YAML is the profile as a file, after it has been read back and checked.
func (r *Result) YAML() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# What a step costs on the %s under %s, fitted by goodput profile fit.
#
# The fitted figures were chosen together: trust them as a set. Points are the
# measurements that depend on a figure; error and error_p90 are the median and the
# 90th percentile of the absolute relative errors of predictions of %d points, each
# by a fit without its configuration.
`, r.GPU.Title, strings.Join(r.GPU.Covered.Families, ", "), r.HeldOut.Points)
	if r.Command != "" {
		fmt.Fprintf(&b, "#\n#   %s\n", r.Command)
	}
	if err := yaml.NewEncoder(&b, yaml.IndentSequence(true)).Encode(r.GPU); err != nil {
		return nil, fmt.Errorf("writing the profile: %w", err)
	}
	if _, err := profiles.ParseGPU(r.GPU.Name, b.Bytes()); err != nil {
		return nil, fmt.Errorf("the fitted profile is not a valid one: %w", err)
	}
	return b.Bytes(), nil
}
