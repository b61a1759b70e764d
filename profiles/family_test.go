package profiles

import "testing"

func TestFamily(t *testing.T) {
	for _, c := range []struct {
		engine, version, family string
		overlaps                bool
	}{
		{"vllm", "0.19.0", "vllm", true},
		{"vllm", "0.14.0rc1", "vllm", true},
		{"vllm", "0.12.0", "vllm", false},
		{"vLLM", "", "vllm", false},
		{"vllm", "0.7.3 (20250305)", "vllm-v0", false},
		{"vllm", "0.6.3.post2.dev308", "vllm-v0", false},
		{"vllm (2023)", "", "vllm-2023", false},
		{"vllm", "main 2025-05-01", "vllm", false},
		{"trtllm", "1.0.0rc3", "trtllm", true},
		{"TensorRT-LLM", "0.5", "trtllm-2023", false},
		{"sglang", "0.5.1.post1", "sglang", true},
		{"lmdeploy-turbomind", "0.1.0", "lmdeploy-2023", false},
		{"tgi", "sha-11d7af7", "tgi", false},
	} {
		if got := Family(c.engine, c.version); got != c.family {
			t.Errorf("%s %s is of %s, want %s", c.engine, c.version, got, c.family)
		}
		if got := Overlaps(c.engine, c.version); got != c.overlaps {
			t.Errorf("%s %s overlaps: %v", c.engine, c.version, got)
		}
	}
}

func TestLoadGPUUnder(t *testing.T) {
	for _, c := range []struct {
		gpu, family, name string
		own               bool
	}{
		{"h100-sxm", "vllm", "h100-sxm", true},
		{"h100-sxm", "trtllm", "h100-sxm@trtllm", true},
		{"h100-sxm", "tgi", "h100-sxm", false},
		{"a100-sxm-80gb", "vllm-v0", "a100-sxm-80gb", true},
		{"mi300x", "vllm-v0", "mi300x@vllm-v0", true},
		{"h200-sxm", "vllm", "h200-sxm", false}, // compared with nothing
	} {
		g, own, err := LoadGPUUnder(c.gpu, c.family)
		if err != nil || g.Name != c.name || own != c.own {
			t.Errorf("%s under %s: %s, own %v, error %v; want %s, %v", c.gpu, c.family, g.Name, own, err, c.name, c.own)
		}
	}
	if _, _, err := LoadGPUUnder("h100", "vllm"); err == nil {
		t.Error("an unknown GPU was loaded")
	}
}

func TestModelOfTheSameShape(t *testing.T) {
	m, err := LoadModel("llama-3.3-70b")
	if err != nil || m.Name != "llama-3.1-70b" {
		t.Errorf("%s, error %v", m.Name, err)
	}
}
