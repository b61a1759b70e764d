package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMetricsPages(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []string
		want []MetricsPage
		err  string
	}{
		{"none given", nil, nil, ""},
		{"none wanted", []string{"none"}, nil, ""},
		{"host and port", []string{"http://a:1", "http://b:2/x/metrics?y=z"}, []MetricsPage{{"a:1", "http://a:1/metrics"}, {"b:2", "http://b:2/x/metrics?y=z"}}, ""},
		{"names", []string{"e0=http://a:1", "http://a:1/q?x=y"}, []MetricsPage{{"e0", "http://a:1/metrics"}, {"a:1", "http://a:1/q?x=y"}}, ""},
		{"one name twice", []string{"e=http://a:1", "e=http://a:2"}, nil, "two pages are named e"},
		{"no URL", []string{"a:1"}, nil, "no URL"},
		{"none and another", []string{"none", "http://a:1"}, nil, "no URL"},
		{"password", []string{"http://u:p@a:1"}, nil, "password"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := (&Plan{MetricsURL: c.in}).MetricsPages()
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
