package profiles

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// lines is a profile that is shipped, as text.
func lines(t *testing.T) string {
	t.Helper()
	text, err := Text("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lineWith is the number of the first line behind the mark that holds the text.
func lineWith(t *testing.T, text, mark, what string) int {
	t.Helper()
	at := strings.Index(text, "\n"+mark)
	if at < 0 {
		t.Fatalf("no %q", mark)
	}
	i := strings.Index(text[at+1:], what)
	if i < 0 {
		t.Fatalf("no %q behind %q", what, mark)
	}
	return 1 + strings.Count(text[:at+1+i], "\n")
}

func TestReadGPU(t *testing.T) {
	g, err := ReadGPU("own.yaml", []byte(strings.Replace(lines(t), "name: h100-sxm", "name: mine", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if g.Name != "mine" || g.HBM.Value == 0 {
		t.Errorf("%+v", g)
	}
}

// TestReadGPURejects breaks one field of a good profile at a time.
func TestReadGPURejects(t *testing.T) {
	good := lines(t)
	replace := func(mark, pattern, with string) string {
		at := strings.Index(good, "\n"+mark) + 1
		loc := regexp.MustCompile(pattern).FindStringIndex(good[at:])
		if at < 1 || loc == nil {
			t.Fatalf("no %q behind %q", pattern, mark)
		}
		return good[:at+loc[0]] + with + good[at+loc[1]:]
	}
	for _, c := range []struct {
		name, text string
		line       int
		field, why string
	}{
		{"negative", replace("hbm_bandwidth:", `value: .*`, "value: -3.35e12"), lineWith(t, good, "hbm_bandwidth:", "value:"), "hbm_bandwidth", "more than 0"},
		{"more than all", replace("kv_bandwidth_share:", `value: .*`, "value: 1.2"), lineWith(t, good, "kv_bandwidth_share:", "value:"), "kv_bandwidth_share", "a share"},
		{"in a part", replace("fp8:", `value: .*`, "value: 0"), lineWith(t, good, "fp8:", "value:"), "fp8.peak_flops", "more than 0"},
		{"in a list", replace("all_reduce_bus:", `value: .*`, "value: -1"), lineWith(t, good, "all_reduce_bus:", "value:"), "all_reduce_bus[0].bandwidth", "more than 0"},
		{"unit", replace("memory:", `unit: .*`, "unit: GB"), lineWith(t, good, "memory:", "unit:"), "memory", `need "B"`},
		{"status", replace("memory:", `status: .*`, "status: guessed"), lineWith(t, good, "memory:", "status:"), "memory", "guessed"},
		{"source", replace("memory:", `source: .*`, `source: ""`), lineWith(t, good, "memory:", "value:"), "memory", "no source"},
		{"missing", strings.Replace(good, "\nhbm_bandwidth:", "\nhbm: &unused\n", 1), 0, "", "hbm"},
		{"name", strings.Replace(good, "name: h100-sxm", "", 1), 1, "name", "missing"},
		{"no number", replace("memory:", `value: .*`, "value: much"), lineWith(t, good, "memory:", "value:"), "", "float64"},
		{"no YAML", "a: [", 1, "", ""},
		{"nothing", "", 1, "name", "missing"},
		{"only a name", "name: mine\n", 1, "peak_flops_bf16", "missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadGPU("own.yaml", []byte(c.text))
			e, ok := errors.AsType[*FileError](err)
			if !ok {
				t.Fatalf("got %v, want a *FileError", err)
			}
			if e.File != "own.yaml" || c.line > 0 && e.Line != c.line || e.Field != c.field || !strings.Contains(e.Why, c.why) {
				t.Errorf("got %v, want line %d, field %q and %q", e, c.line, c.field, c.why)
			}
		})
	}
}

func FuzzReadGPU(f *testing.F) {
	for _, name := range GPUs() {
		text, err := Text(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("name: x\npeak_flops_bf16: {value: -1}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := ReadGPU("own.yaml", data)
		if e, ok := errors.AsType[*FileError](err); err != nil && (!ok || e.Line < 1 || e.Error() == "") {
			t.Errorf("%v", err)
		}
		if err == nil && (g.Name == "" || !(g.HBM.Value > 0)) {
			t.Errorf("accepted %+v", g)
		}
	})
}
