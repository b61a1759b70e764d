package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAdapters(t *testing.T) {
	for _, c := range []struct {
		items []string
		want  []string
		err   string
	}{
		{nil, nil, ""},
		{[]string{"sql", "chat"}, []string{"sql", "chat"}, ""},
		{[]string{"sql", "t*3"}, []string{"sql", "t1", "t2", "t3"}, ""},
		{[]string{"t1", "t*3"}, nil, "t1 is there twice"},
		{[]string{"t*0"}, nil, "NAME*N"},
		{[]string{"t*"}, nil, "NAME*N"},
		{[]string{"t*65536"}, nil, "NAME*N"},
		{[]string{"a*65535", "b"}, nil, "more than 65535"},
		{[]string{""}, nil, "empty"},
		{[]string{"a\nb"}, nil, "control"},
	} {
		got, err := Adapters(c.items)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want %q", c.items, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", c.items, err, diff)
		}
	}
}

func FuzzAdapters(f *testing.F) {
	f.Add("sql", "t*3")
	f.Add("t*999999999999999999999", "*")
	f.Fuzz(func(t *testing.T, a, b string) {
		got, err := Adapters([]string{a, b})
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, name := range got {
			if name == "" || seen[name] {
				t.Errorf("%q, %q: name %q is empty or there twice", a, b, name)
			}
			seen[name] = true
		}
	})
}
