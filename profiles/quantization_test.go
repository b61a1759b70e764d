package profiles

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func loadModel(t testing.TB, name string) Model {
	t.Helper()
	m, err := LoadModel(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The parameter counts of the published checkpoints, in billions, and the KV cache
// in bytes per token. Biases, attention sinks and the vision tower are not
// counted.
func TestSizesOfKnownModels(t *testing.T) {
	for _, c := range []struct {
		name          string
		total, active float64
		kv            int64
	}{
		{"llama-3.1-8b", 8.030, 8.030, 131072},
		{"llama-3.1-70b", 70.554, 70.554, 327680},
		{"llama-3.1-405b", 405.85, 405.85, 516096},
		{"llama-2-7b", 6.738, 6.738, 524288},
		{"qwen2.5-7b", 7.616, 7.616, 57344},
		{"qwen3-8b", 8.191, 8.191, 147456},
		{"qwen3-14b", 14.768, 14.768, 163840},
		{"qwen3-32b", 32.762, 32.762, 262144},
		{"qwen3-30b-a3b", 30.532, 3.35, 98304},
		{"mixtral-8x7b", 46.703, 12.88, 131072},
		{"gpt-oss-120b", 116.83, 5.71, 36864}, // 18 of 36 layers
		{"mistral-nemo-12b", 12.248, 12.248, 163840},
		{"yi-34b", 34.389, 34.389, 245760},
		{"llama-4-scout-17b-16e", 107.77, 17.17, 196608},
		{"llama-2-13b", 13.015, 13.015, 819200},
		{"llama-2-70b", 68.975, 68.975, 327680},
		{"internlm-20b", 20.088, 20.088, 1228800},
		{"bloom-176b", 176.23, 176.23, 4014080},
		{"gpt-j-6b", 6.05, 6.05, 458752},
		{"qwen3-235b-a22b", 235.09, 22.19, 192512},
		{"llama-3.2-1b", 1.2358, 1.2358, 32768},
		{"qwen3-0.6b", 0.596, 0.596, 114688},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := loadModel(t, c.name)
			if got := float64(m.Weights()) / 1e9; math.Abs(got/c.total-1) > 0.002 {
				t.Errorf("%.3f billion weights, want %.3f", got, c.total)
			}
			if got := float64(m.ActiveWeights()) / 1e9; math.Abs(got/c.active-1) > 0.01 {
				t.Errorf("%.3f billion active weights, want %.3f", got, c.active)
			}
			if got := m.KVBytesPerToken(1); got != c.kv {
				t.Errorf("%d bytes of KV per token, want %d", got, c.kv)
			}
		})
	}
	if len(Models()) != 22 {
		t.Errorf("%d models: add the new ones to this table", len(Models()))
	}
}

func TestStoredOtherwise(t *testing.T) {
	for _, c := range []struct {
		name, model, quantization, kv string
		weightGB                      float64 // 0: an error
		kvBytes                       int64
		err                           string
	}{
		{"the checkpoint's own", "llama-3.1-8b", "", "", 16.06, 131072, ""},
		{"auto", "llama-3.1-8b", "none", "auto", 16.06, 131072, ""},
		// 6.98e9 weights of the layers at 1 byte, 1.05e9 outside at 2.
		{"fp8", "llama-3.1-8b", "fp8", "fp8", 9.08, 65536, ""},
		// 6.98e9 at 0.5195.
		{"awq", "llama-3.1-8b", "awq", "bfloat16", 5.73, 131072, ""},
		{"gptq", "llama-3.1-8b", "gptq", "", 5.73, 131072, ""},
		// The published checkpoint has 65.2 GB (60.8 GiB).
		{"mxfp4 as published", "gpt-oss-120b", "", "", 65.2, 36864, ""},
		{"mxfp4 undone", "gpt-oss-120b", "none", "", 233.6, 36864, ""},
		// 48 layers of 2.2e9 at 1 byte, 2.07e9 outside at 2.
		{"fp8 as published", "llama-4-scout-17b-16e", "", "", 114.58, 196608, ""},
		{"mxfp4 without experts", "llama-3.1-8b", "mxfp4", "", 0, 0, "use none, fp8, awq, gptq"},
		{"unknown weights", "llama-3.1-8b", "int8", "", 0, 0, `"int8"`},
		{"unknown KV", "llama-3.1-8b", "", "int8", 0, 0, "bfloat16, fp8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := loadModel(t, c.model)
			m, err := base.Stored(c.quantization, c.kv)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := m.WeightBytes() / 1e9; math.Abs(got/c.weightGB-1) > 0.005 {
				t.Errorf("%.2f GB of weights, want %.2f", got, c.weightGB)
			}
			if got := m.KVBytesPerToken(1); got != c.kvBytes {
				t.Errorf("%d bytes of KV per token, want %d", got, c.kvBytes)
			}
		})
	}
}

// The expectation follows from the chance that all tokens miss an expert, written
// out as a product.
func TestDistinctExperts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 64).Draw(rt, "experts")
		k := rapid.IntRange(1, n).Draw(rt, "per token")
		m := Model{Experts: n, ExpertsPerToken: k}
		tokens := rapid.IntRange(1, 500).Draw(rt, "tokens")
		got := m.DistinctExperts(tokens)
		if got < float64(k)-1e-9 || got > float64(n) {
			rt.Fatalf("%v of %d experts reached", got, n)
		}
		if more := m.DistinctExperts(tokens + 1); more < got {
			rt.Fatalf("%v experts of %d tokens, %v of one more", got, tokens, more)
		}
		if one := m.DistinctExperts(1); math.Abs(one-float64(k)) > 1e-9 {
			rt.Fatalf("one token reaches %v experts, want %d", one, k)
		}
		// The chance that an expert is missed by all tokens.
		missed := 1.0
		for range tokens {
			missed *= float64(n-k) / float64(n)
		}
		if want := float64(n) * (1 - missed); math.Abs(got-want) > 1e-6 {
			rt.Fatalf("%v experts, want %v", got, want)
		}
	})
	dense := loadModel(t, "llama-3.1-8b")
	if got := dense.DistinctExperts(5); got != 0 {
		t.Errorf("a dense model reaches %v experts", got)
	}
}

// Layers hold what is read at most.
func TestLayerBytesApproachAllWeights(t *testing.T) {
	for _, name := range Models() {
		m := loadModel(t, name)
		all := m.WeightBytes()
		rest := float64(m.plainWeights()+m.OtherWeights) * plainBytes
		if got := float64(m.Layers)*m.LayerBytes(1_000_000) + rest; math.Abs(got/all-1) > 1e-9 {
			t.Errorf("%s: a step of many tokens reads %.4g bytes of %.4g", name, got, all)
		}
		if m.LayerBytes(1) > m.LayerBytes(2) {
			t.Errorf("%s: two tokens read less than one", name)
		}
	}
}

func TestText(t *testing.T) {
	for _, name := range []string{"h100-sxm", "mixtral-8x7b"} {
		text, err := Text(name)
		if err != nil || !strings.Contains(string(text), "\nname: "+name+"\n") && !strings.HasPrefix(string(text), "name: "+name+"\n") {
			t.Errorf("%s: error %v, text %.40q", name, err, text)
		}
	}
	if _, err := Text("h100"); err == nil || !strings.Contains(err.Error(), "h100-sxm") || !strings.Contains(err.Error(), "yi-34b") {
		t.Errorf("error %v does not list the profiles", err)
	}
}

func TestGaps(t *testing.T) {
	c := Coverage{TP: []int{1, 4}, Quantization: []Quantization{Unquantized}, MaxBatch: 50}
	dense, moe := loadModel(t, "llama-3.1-8b"), loadModel(t, "gpt-oss-120b")
	for _, tt := range []struct {
		name      string
		model     Model
		tp, batch int
		want      string
	}{
		{"covered", dense, 4, 50, ""},
		{"degree", dense, 2, 1, "tensor parallel degree 2"},
		{"batch", dense, 1, 51, "more than 50 sequences in a step"},
		{"model", moe, 1, 1, "mxfp4 weights, mixture of experts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(c.Gaps(&tt.model, tt.tp, tt.batch), ", "); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
