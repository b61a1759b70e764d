package cli

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"goodput/loadgen/plan"
)

// keyed sends a key to those pages of metrics that may have it.
type keyed struct {
	inner http.RoundTripper
	key   string // empty: none
	// origins are the schemes, hosts and ports that get it, and no others that they redirect to.
	origins []string
}

// RoundTrip implements http.RoundTripper.
func (k *keyed) RoundTrip(q *http.Request) (*http.Response, error) {
	if k.key != "" && slices.Contains(k.origins, origin(q.URL)) {
		q = q.Clone(q.Context())
		q.Header.Set("Authorization", "Bearer "+k.key)
	}
	return k.inner.RoundTrip(q)
}

var _ http.RoundTripper = (*keyed)(nil)

// origin tells apart who would see a key.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}

func (k *keyed) allow(text string) {
	if u, err := url.Parse(text); err == nil {
		k.origins = append(k.origins, origin(u))
	}
}

// metricsKeys finds the key for pages of metrics: that of --metrics-api-key-file for all of
// them, or else the API key for those at the origin of a --base-url, which has it anyway.
func metricsKeys(env *Env, p *plan.Plan) (*keyed, error) {
	if p.MetricsKeyFile != "" {
		b, err := readLimited(p.MetricsKeyFile, 1<<16)
		if err != nil {
			return nil, fmt.Errorf("--metrics-api-key-file: %w", err)
		}
		key := strings.TrimSpace(string(b))
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, errors.New("--metrics-api-key-file: it holds no key that a header can carry: is the file the right one?")
		}
		pages, err := p.MetricsPages()
		if err != nil {
			return nil, fmt.Errorf("--metrics-url: %w", err)
		}
		out := &keyed{key: key}
		for _, page := range pages {
			out.allow(page.URL)
		}
		return out, nil
	}
	key, err := apiKey(env, p)
	if err != nil {
		return nil, err
	}
	out := &keyed{key: key}
	for _, base := range p.BaseURL {
		out.allow(base)
	}
	return out, nil
}
