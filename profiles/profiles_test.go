package profiles

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryEmbeddedProfileLoads(t *testing.T) {
	if len(GPUs()) == 0 || len(Models()) == 0 {
		t.Fatalf("GPUs %v, models %v: nothing is embedded", GPUs(), Models())
	}
	for _, name := range GPUs() {
		if _, err := LoadGPU(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range Models() {
		if _, err := LoadModel(name); err != nil {
			t.Error(err)
		}
	}
}

func TestUnknownNameListsTheKnownOnes(t *testing.T) {
	_, err := LoadGPU("h100")
	if err == nil || !strings.Contains(err.Error(), `"h100"`) || !strings.Contains(err.Error(), "h100-sxm") {
		t.Errorf("LoadGPU: %v", err)
	}
	_, err = LoadModel("../gpu/h100-sxm")
	if err == nil || !strings.Contains(err.Error(), "llama-3.1-8b") {
		t.Errorf("LoadModel: %v", err)
	}
}

// embedded reads a profile's text, to be damaged by a test.
func embedded(t testing.TB, kind, name string) string {
	t.Helper()
	data, err := read(kind, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestBadGPUProfileNamesTheField(t *testing.T) {
	good := complete(t)
	for _, c := range []struct {
		name, old, new, want string
	}{
		{"missing", "\nmatmul_share:", "\n#matmul_share:", "matmul_share"},
		{"negative", "value: 0.90", "value: -0.90", "weight_bandwidth_share is -0.9"},
		{"share above one", "value: 0.70", "value: 1.70", "matmul_share is 1.7"},
		{"not a number", "value: 0.90", "value: .nan", "weight_bandwidth_share is NaN"},
		{"infinite", "value: 989.5e12", "value: .inf", "peak_flops_bf16 is +Inf"},
		{"exponent below one", "value: 3\n", "value: 0.5\n", "blend_exponent is 0.5"},
		{"wrong unit", "unit: FLOP/s", "unit: TFLOP/s", `peak_flops_bf16 has unit "TFLOP/s"`},
		{"no source", `source: "inference-sim/inference-sim@f90a1e3a6787:hardware_config.json"`, `source: ""`, "peak_flops_bf16 has no source"},
		{"no date", `date: "2026-11"`, `date: ""`, "peak_flops_bf16 has no date"},
		{"unknown status", "status: datasheet", "status: guessed", `peak_flops_bf16 has status "guessed"`},
		{"unknown key", "title:", "titel: x\ntitle:", "titel"},
		{"degree twice", "tp: 4", "tp: 2", "all_reduce_bus[1].tp is 2"},
		{"reserve above memory", "value: 2.2e9", "value: 90e9", "non_kv_memory is 9e+10"},
		{"FP8 without a share", "  matmul_share:\n    value: 0.62", "  matmul_share:\n    value: 0", "fp8.matmul_share is 0"},
		{"unknown coverage", "quantization: [none]", "quantization: [int3]", `covered.quantization holds "int3"`},
		{"link twice", "name: nvlink", "name: rdma", `kv_links[1].name is "rdma"`},
		{"link of no speed", "value: 450e9", "value: 0", "kv_links[1].bandwidth is 0"},
		{"other name", "name: complete", "name: h100", `name is "h100"`},
		{"fitted to nothing", "  points: 15\n", "", "weight_bandwidth_share is fitted, to 0 points"},
		{"worse than its worst", "  error: 0.051\n", "  error: 0.051\n    error_p90: 0.01\n", "error_p90 of 0.01"},
		{"answers faster beside a prompt", "mixed_kv_factor:\n  value: 1", "mixed_kv_factor:\n  value: 0.9", "mixed_kv_factor is 0.9"},
		{"negative launch", "value: 7e-6", "value: -7e-6", "layer_launch is -7e-06: need 0 or more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(good, c.old, c.new, 1)
			if c.name == "missing" {
				bad = cutBlock(good, "matmul_share:")
			}
			if bad == good {
				t.Fatal("the profile was not changed")
			}
			_, err := ParseGPU("complete", []byte(bad))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// complete is the text of a profile that has every field.
func complete(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/complete.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// cutBlock removes a top-level key and its indented lines.
func cutBlock(text, key string) string {
	var out []string
	in := false
	for _, line := range strings.Split(text, "\n") {
		if in = line == key || in && strings.HasPrefix(line, " "); !in {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

func TestLinks(t *testing.T) {
	for _, name := range GPUs() {
		g, err := LoadGPU(name)
		if err != nil {
			t.Fatal(err)
		}
		l, err := g.Link("rdma")
		if err != nil || l.Bandwidth.Value < 1e9 || l.Latency.Value <= 0 {
			t.Errorf("%s: link %+v, error %v", name, l, err)
		}
		if _, err := g.Link("tin-cans"); err == nil || !strings.Contains(err.Error(), "rdma") {
			t.Errorf("%s: error %v does not list the links", name, err)
		}
	}
}

func TestBadModelProfileNamesTheField(t *testing.T) {
	good := embedded(t, "model", "llama-3.1-8b")
	for _, c := range []struct {
		name, old, new, want string
	}{
		{"missing", "layers: 32\n", "", "layers is missing"},
		{"negative", "vocab: 128256", "vocab: -1", "vocab is -1"},
		{"uneven heads", "kv_heads: 8", "kv_heads: 7", "heads is 32: need a multiple"},
		{"unknown key", "layers:", "expert: 8\nlayers:", "expert"},
		{"experts without a width", "layers:", "experts: 8\nexperts_per_token: 2\nlayers:", "expert_intermediate is missing"},
		{"more experts than there are", "layers:", "experts: 8\nexperts_per_token: 9\nexpert_intermediate: 64\nlayers:", "experts_per_token is 9: need 1 to 8"},
		{"a share of no experts", "layers:", "experts_per_token: 2\nlayers:", "experts_per_token is 2: need 0 to 0"},
		{"window without layers", "layers:", "sliding_window: 128\nlayers:", "sliding_window is 128: need 0 to 0"},
		{"sliding layers without a window", "layers:", "sliding_layers: 16\nlayers:", "sliding_window is missing"},
		{"nothing sees the context", "layers:", "sliding_layers: 32\nsliding_window: 8\nlayers:", "sliding_layers is 32: need 0 to 31"},
		{"no MLP", "intermediate: 14336", "intermediate: 0", "intermediate is missing"},
		{"unknown quantization", "quantization: none", "quantization: int3", `quantization "int3" is unknown: use one of none, fp8`},
		{"experts' quantization", "quantization: none", "quantization: mxfp4", "llama-3.1-8b has none"},
		{"unknown KV type", "kv_cache_dtype: bfloat16", "kv_cache_dtype: fp4", `kv_cache_dtype "fp4" is unknown`},
		{"not a number", "hidden: 4096", "hidden: many", "hidden"},
		{"no source", "source:", "#source:", "source is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := strings.Replace(good, c.old, c.new, 1)
			if bad == good {
				t.Fatal("the profile was not changed")
			}
			_, err := parseModel("llama-3.1-8b", []byte(bad))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// Counts that vLLM logged at utilization 0.9 (inference-sim/inference-sim
// testdata/trained_physics_iter29.json). The profile states the error.
func TestKVBlocksAgreeWithRealRuns(t *testing.T) {
	gpu, err := LoadGPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model     string
		tp, real  int
		tolerance float64
	}{
		{"llama-3.1-70b", 4, 30251, 0.005},
		{"llama-3.1-70b", 4, 30425, 0.005},
		{"mistral-nemo-12b", 1, 19251, 0.005},
		{"mistral-nemo-12b", 2, 48009, 0.005},
		{"qwen2.5-7b", 1, 65352, 0.005},
		{"yi-34b", 2, 20793, 0.005},
		{"llama-2-7b", 1, 7463, *gpu.NonKV.Error},
	} {
		model, err := LoadModel(c.model)
		if err != nil {
			t.Fatal(err)
		}
		got, err := KVBlocks(gpu, model, c.tp, 0.9, 16)
		if err != nil {
			t.Fatal(err)
		}
		if e := float64(got)/float64(c.real) - 1; math.Abs(e) > c.tolerance {
			t.Errorf("%s tp %d: %d blocks, vLLM had %d: %+.1f%%", c.model, c.tp, got, c.real, 100*e)
		}
	}
}

func TestKVBlocksRefuses(t *testing.T) {
	gpu, err := LoadGPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	big, err := LoadModel("llama-3.1-70b")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		tp    int
		util  float64
		block int
		want  string
	}{
		{"weights do not fit", 1, 0.9, 16, "no room for KV blocks"},
		{"degree does not divide", 3, 0.9, 16, "does not divide"},
		{"utilization", 4, 1.5, 16, "utilization"},
		{"block size", 4, 0.9, 0, "block size"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := KVBlocks(gpu, big, c.tp, c.util, c.block)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestDerivedSizes(t *testing.T) {
	m, err := LoadModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	got := []int64{m.Weights(), m.KVBytesPerToken(1), m.KVBytesPerToken(8), m.KVBytesPerToken(16)}
	// The parameter count of the published checkpoint; 128 KiB of KV per token;
	// with more ranks than KV heads each rank keeps one head.
	if diff := cmp.Diff([]int64{8_030_261_248, 131072, 16384, 16384}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAdapterSizes(t *testing.T) {
	m, err := LoadModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	// Rank 16 on all seven matrices of Llama 3.1 8B has 41,943,040 parameters, as
	// peft's print_trainable_parameters says.
	got := []int64{m.AdapterWeights(16, 1), m.AdapterWeights(1, 1) * 16, m.AdapterBytes(16, 1), m.AdapterWeights(16, 8)}
	shared := int64(32 * 16 * (3*4096 + 4096 + 2*4096 + 4096)) // A of query, key, value, gate and up, B of the other two
	if diff := cmp.Diff([]int64{41_943_040, 41_943_040, 83_886_080, shared + (41_943_040-shared)/8}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m, err = LoadModel("qwen3-30b-a3b"); err != nil {
		t.Fatal(err)
	}
	if want := int64(48 * 8 * (2048*4 + 4096*2 + 512*2)); m.AdapterWeights(8, 1) != want {
		t.Errorf("a mixture of experts: %d weights, want %d: attention alone", m.AdapterWeights(8, 1), want)
	}
}

func FuzzParseGPU(f *testing.F) {
	f.Add([]byte(embedded(f, "gpu", "h100-sxm")))
	f.Add([]byte("name: h100-sxm\npeak_flops_bf16: {value: 1}"))
	f.Add([]byte("all_reduce_bus: [{tp: 2}, 3]"))
	f.Add([]byte("all_reduce_bus: !00 00")) // the YAML library panics
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := ParseGPU("h100-sxm", data)
		if err != nil {
			return
		}
		if err := g.validate(); err != nil {
			t.Errorf("accepted a profile that is not valid: %v", err)
		}
		if !(g.MatmulRate.Value > 0 && g.MatmulRate.Value <= 1) || g.NonKV.Value >= g.Memory.Value {
			t.Errorf("accepted an impossible profile: %+v", g)
		}
	})
}

func FuzzParseModel(f *testing.F) {
	f.Add([]byte(embedded(f, "model", "llama-3.1-8b")))
	f.Add([]byte(strings.Replace(embedded(f, "model", "gpt-oss-120b"), "gpt-oss-120b", "llama-3.1-8b", 1)))
	f.Add([]byte("name: llama-3.1-8b\nlayers: 99999999999999999999"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseModel("llama-3.1-8b", data)
		if err != nil {
			return
		}
		if !(m.WeightBytes() > 0) || m.KVBytesPerToken(1) <= 0 || m.ActiveWeights() > m.Weights() {
			t.Errorf("accepted an impossible model: %+v", m)
		}
	})
}

func ExampleKVBlocks() {
	gpu, _ := LoadGPU("h100-sxm")
	model, _ := LoadModel("llama-3.1-8b")
	blocks, err := KVBlocks(gpu, model, 1, 0.9, 16)
	fmt.Println(blocks, err)
	// Output: 28156 <nil>
}
