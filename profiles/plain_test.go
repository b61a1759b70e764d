package profiles

import (
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// eachEmbedded calls do with the text of each embedded profile and two empty values
// of its kind.
func eachEmbedded(do func(name string, text []byte, a, b any)) {
	for _, name := range GPUs() {
		text, _ := read("gpu", name)
		do(name, text, new(GPU), new(GPU))
	}
	for _, name := range Models() {
		text, _ := read("model", name)
		do(name, text, new(Model), new(Model))
	}
	for _, name := range Engines() {
		text, _ := read("engine", name)
		do(name, text, new(Engine), new(Engine))
	}
}

func TestEmbeddedProfilesArePlain(t *testing.T) {
	eachEmbedded(func(name string, text []byte, have, want any) {
		if !plain(text, have) {
			t.Errorf("%s: needs the YAML library, which is slow: write it without single quotes, values on several lines and the like", name)
			return
		}
		if err := yaml.UnmarshalWithOptions(text, want, yaml.Strict()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s: the library and plain differ:\n%s", name, diff)
		}
	})
}

func TestPlainLeavesTheRestToTheLibrary(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":              "",
		"a comment alone":      "# name: a\n",
		"an unknown key":       "nam: a\n",
		"a key twice":          "name: a\nname: b\n",
		"no colon":             "name a\n",
		"no space":             "name:a\n",
		"no value":             "name:\n",
		"null":                 "name: null\n",
		"a tilde":              "name: ~\n",
		"single quotes":        "name: 'a'\n",
		"an escape":            `name: "a\n"` + "\n",
		"open quotes":          "name: \"a\n",
		"a block scalar":       "name: |\n  a\n",
		"a folded scalar":      "name: a\n  b\n",
		"a nested flow list":   "aliases: [a, [b]]\n",
		"an open flow list":    "aliases: [a,\n  b]\n",
		"a comma at the end":   "aliases: [a, ]\n",
		"no space in a list":   "aliases: [a,b]\n",
		"quotes in a list":     "aliases: [\"a, b\"]\n",
		"a mapping in a list":  "aliases: [a: b]\n",
		"keys below a flow":    "memory: {value: 1}\n  unit: B\n",
		"an empty mapping":     "memory: {}\n",
		"an escape in a quote": `name: "\u0061"` + "\n",
		"an anchor":            "name: &a b\n",
		"an alias":             "name: *a\n",
		"a tag":                "name: !!str b\n",
		"two documents":        "name: a\n---\nname: b\n",
		"a tab":                "name:\ta\n",
		"a carriage return":    "name: a\r\n",
		"an octal number":      "layers: 010\n",
		"a hexadecimal number": "layers: 0x10\n",
		"underscores":          "layers: 1_000\n",
		"a fraction":           "layers: 1.5\n",
		"infinity":             "memory:\n  value: .inf\n",
		"a word for a number":  "layers: many\n",
		"a mapping too few":    "memory:\nname: a\n",
		"a deeper key":         "name: a\n  title: b\n",
		"an uneven key":        "memory:\n    value: 1\n  unit: B\n",
		"a list for a scalar":  "name:\n- a\n",
		"a scalar for a list":  "aliases: a\n",
		"a mapping for a list": "aliases:\n  a: b\n",
		"an empty entry":       "aliases:\n- \n",
		"another indentation":  "aliases:\n- a\n  - b\n",
	} {
		t.Run(name, func(t *testing.T) {
			if m := (Model{}); plain([]byte(text), &m) {
				t.Errorf("%q is taken as %+v", text, m)
			}
		})
	}
}

// Most of a short run's allocations would be those of the YAML library.
func TestLoadingAProfileAllocatesLittle(t *testing.T) {
	for kind, load := range map[string]func() error{
		"gpu":    func() error { _, err := LoadGPU("h100-sxm"); return err },
		"model":  func() error { _, err := LoadModel("llama-3.1-8b"); return err },
		"engine": func() error { _, err := LoadEngine("vllm@0.19"); return err },
	} {
		if n := testing.AllocsPerRun(5, func() {
			if err := load(); err != nil {
				t.Fatal(err)
			}
		}); n > 500 {
			t.Errorf("%s: %v allocations, want at most 500", kind, n)
		}
	}
}

// What plain takes, the library takes as well, and finds the same in it.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{
		"name: a\nlayers: 1\nmemory:\n  value: 1.5e+3\n  note: \"b: c\"\n",
		"# a\nname: 80 GB # b\nkv_links:\n- name: a\n  latency:\n    value: 0\n    error: 1e9\n",
		"covered:\n  tp: [1, 2]\n  families: []\nfp8:\n  peak_flops:\n    date: 2026-11\n",
		"watermark:\n  value: 0.0\nstep_limits:\n  large: {max_num_seqs: 1024}\nasync_scheduling:\n  value: true\n",
		"aliases:\n- a\n- b.c\nother_weights: 12\nname: a:b/c-d@e\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 300 {
			return
		}
		same := func(have, want any) {
			if !plain(text, have) {
				return
			}
			if err := yaml.UnmarshalWithOptions(text, want, yaml.Strict()); err != nil {
				t.Fatalf("plain takes what the library does not: %v", err)
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Error(diff)
			}
		}
		same(new(GPU), new(GPU))
		same(new(Model), new(Model))
		same(new(Engine), new(Engine))
	})
}
