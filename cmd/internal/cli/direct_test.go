package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/report/compare"
)

func TestDirectArm(t *testing.T) {
	set := func(urls ...string) []compare.Setting {
		var out []compare.Setting
		for _, u := range urls {
			out = append(out, compare.Setting{Key: "base-url", Value: u})
		}
		return out
	}
	for _, c := range []struct {
		name string
		in   armFlags
		want []arm
		err  string
	}{
		{
			"one router",
			armFlags{urls: []string{"http://r"}, direct: []string{"http://e1", "http://e2"}},
			[]arm{{viaArm, set("http://r")}, {compare.DirectArm, set("http://e1", "http://e2")}},
			"",
		},
		{
			"two routers",
			armFlags{urls: []string{"a=http://a", "b=http://b"}, direct: []string{"http://e"}},
			[]arm{{"a", set("http://a")}, {"b", set("http://b")}, {compare.DirectArm, set("http://e")}},
			"",
		},
		{"no router", armFlags{direct: []string{"http://e"}}, nil, "--base-url"},
		{"a router of that name", armFlags{urls: []string{"direct=http://a"}, direct: []string{"http://e"}}, nil, "two arms are named direct"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.in.list(func(string, string) error { return nil })
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(arm{})); d != "" {
				t.Error(d)
			}
		})
	}
}
