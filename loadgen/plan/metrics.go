package plan

import (
	"fmt"
	"net/url"
	"strings"
)

// NoMetrics is the value of --metrics-url that stands for no page.
const NoMetrics = "none"

// MetricsPage is one value of --metrics-url.
type MetricsPage struct{ Name, URL string }

// MetricsPages reads --metrics-url: a name of its own, or else the host and port, and the
// page. NoMetrics has none.
func (p *Plan) MetricsPages() ([]MetricsPage, error) {
	if len(p.MetricsURL) == 1 && p.MetricsURL[0] == NoMetrics {
		return nil, nil
	}
	var out []MetricsPage
	seen := map[string]bool{}
	for _, text := range p.MetricsURL {
		name, at, found := strings.Cut(text, "=")
		if !found || strings.ContainsAny(name, ":/") {
			name, at = "", text
		}
		u, err := url.Parse(at)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("%q is no URL of the form http://127.0.0.1:8000/metrics, nor NAME=URL", redact(text))
		}
		if u.User != nil {
			return nil, fmt.Errorf("a password in the URL would be recorded: leave it out")
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = "/metrics"
		}
		if name == "" {
			name = u.Host
		}
		if seen[name] {
			return nil, fmt.Errorf("two pages are named %s: write NAME=URL", name)
		}
		seen[name] = true
		out = append(out, MetricsPage{name, u.String()})
	}
	return out, nil
}
