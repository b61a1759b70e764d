package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"goodput/fakeengine/router"
)

func TestNew(t *testing.T) {
	for spec, want := range map[string]string{
		"round-robin":                 "round-robin:start=0",
		"round-robin:start=1":         "round-robin:start=1",
		"random":                      "random",
		"least-outstanding":           "least-outstanding:tie=rand",
		"least-outstanding:tie=first": "least-outstanding:tie=first",
		"p2c":                         "p2c:d=2,replace=false",
		"p2c:d=3":                     "p2c:d=3,replace=false",
		"p2c:replace=true,d=64":       "p2c:d=64,replace=true",
	} {
		t.Run(spec, func(t *testing.T) {
			p, err := router.New(spec, 1)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.String(); got != want {
				t.Errorf("String() = %q, want %q", got, want)
			}
		})
	}
}

func TestNewErrors(t *testing.T) {
	var names []string
	for _, info := range router.Names() {
		names = append(names, info.Name)
	}
	all := strings.Join(names, ", ")
	for name, c := range map[string]struct {
		spec string
		says []string
	}{
		"empty":              {"", []string{`""`, all}},
		"typing error":       {"round-robbin", []string{`did you mean "round-robin"?`, all}},
		"underscore":         {"least_outstanding", []string{`did you mean "least-outstanding"?`}},
		"short name":         {"p2", []string{`did you mean "p2c"?`}},
		"space":              {" p2c", []string{`" p2c"`, `did you mean "p2c"?`}},
		"unknown parameter":  {"least-outstanding:ties=first", []string{`"ties"`, `did you mean "tie"?`, "it has tie"}},
		"another parameter":  {"p2c:weights=3", []string{`"weights"`, "it has d, replace"}},
		"no parameters":      {"random:d=2", []string{`"random" has no parameters`}},
		"colon only":         {"p2c:", []string{`p2c:name=value`}},
		"no value":           {"p2c:d", []string{`"d" is not a parameter`}},
		"empty value":        {"p2c:d=", []string{`"d=" is not a parameter`}},
		"trailing comma":     {"p2c:d=3,", []string{`"" is not a parameter`}},
		"twice":              {"p2c:d=3,d=3", []string{`"d" comes twice`}},
		"not a number":       {"p2c:d=two", []string{`d is "two"`, "a whole number from 2 to 64"}},
		"below the range":    {"p2c:d=1", []string{"a whole number from 2 to 64"}},
		"above the range":    {"p2c:d=65", []string{"a whole number from 2 to 64"}},
		"negative":           {"round-robin:start=-1", []string{"a whole number from 0"}},
		"not a choice":       {"least-outstanding:tie=last", []string{"one of rand, first"}},
		"first of complaint": {"p2c:d=0,replace=maybe", []string{`d is "0"`}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := router.New(c.spec, 1)
			if err == nil {
				t.Fatalf("got %s", p)
			}
			for _, s := range c.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("error %q does not say %q", err, s)
				}
			}
		})
	}
	t.Run("far from everything", func(t *testing.T) {
		if _, err := router.New("zzzzzzzz", 1); err == nil || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("error %v guesses", err)
		}
	})
}

func TestNamesAreBuildable(t *testing.T) {
	var names []string
	for _, info := range router.Names() {
		names = append(names, info.Name)
		if info.Help == "" || strings.Contains(info.Help, "\n") {
			t.Errorf("%s: help %q is not one line", info.Name, info.Help)
		}
		// Writing out the defaults is the same as leaving them out.
		spec := info.Name
		for i, p := range info.Params {
			spec += string(":,"[min(i, 1)]) + p.Name + "=" + p.Default
		}
		short, err := router.New(info.Name, 0)
		if err != nil {
			t.Fatal(err)
		}
		long, err := router.New(spec, 0)
		if err != nil {
			t.Fatal(err)
		}
		if short.String() != long.String() || long.String() != spec {
			t.Errorf("%q and %q are %q and %q", info.Name, spec, short, long)
		}
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) || len(names) < 25 {
		t.Errorf("%d rules, %d names", len(names), len(unique))
	}
}

func FuzzNew(f *testing.F) {
	for _, s := range []string{
		"", ":", "p2c", "p2c:", "p2c:d=3", "p2c:d=3,replace=true", "p2c:d=3,d=4", "p2c:d==3", "p2c:,", "random:x=1",
		"round-robin:start=1048576", "least-outstanding:tie=first", "least-outstanding:tie=first:x", "p2c:d=+3", "p2c:d=0x3",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		p, err := router.New(spec, 1)
		if err != nil {
			if err.Error() == "" {
				t.Error("empty error")
			}
			return
		}
		again, err := router.New(p.String(), 1)
		if err != nil {
			t.Fatalf("%q prints as %q, which does not parse: %v", spec, p, err)
		}
		if again.String() != p.String() {
			t.Errorf("%q prints as %q, then as %q", spec, p, again)
		}
		up := make([]router.Load, 3)
		for range 5 {
			if i := p.Pick(&router.Request{}, up); i < 0 || i >= len(up) {
				t.Fatalf("%s picked %d of %d", p, i, len(up))
			}
		}
	})
}

func ExampleNew() {
	p, err := router.New("p2c:d=3", 42)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p)

	_, err = router.New("least-outstandng", 42)
	fmt.Println(strings.TrimSuffix(err.Error(), strings.Join(strings.SplitAfter(err.Error(), ";")[1:], "")))
	// Output:
	// p2c:d=3,replace=false
	// router rule "least-outstandng" does not exist (did you mean "least-outstanding"?);
}
