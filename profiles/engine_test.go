package profiles

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEngineProfiles(t *testing.T) {
	type row struct {
		Name                      string
		Async, Overlap, Full, Pre bool
		Watermark                 float64
	}
	var got []row
	for _, name := range Engines() {
		e, err := LoadEngine(name)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, row{e.Name, e.AsyncScheduling.Value, e.HostOverlap.Value, e.ReserveFullISL.Value, e.PrependUnhashed.Value, e.Watermark.Value})
	}
	want := []row{
		{Name: "vllm@0.10"},
		{Name: "vllm@0.15", Async: true, Overlap: true},
		{Name: "vllm@0.19", Async: true, Overlap: true, Full: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// R1 of vLLM's defaults: large GPUs get long steps, an A100 never does.
func TestStepLimitsDependOnTheGPU(t *testing.T) {
	e, err := LoadEngine("vllm@0.19")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		gpu          string
		tokens, seqs int
	}{
		{"h100-sxm", 8192, 1024},
		{"mi300x", 8192, 1024},
		{"a100-sxm-80gb", 2048, 256},
	} {
		g, err := LoadGPU(c.gpu)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.StepLimits(&g); got != (StepLimits{c.tokens, c.seqs}) {
			t.Errorf("%s: %+v, want %d tokens and %d sequences", c.gpu, got, c.tokens, c.seqs)
		}
	}
	small := GPU{Name: "h100-half"}
	small.Memory.Value = 40 << 30
	if got := e.StepLimits(&small); got != e.Limits.Other {
		t.Errorf("40 GiB: %+v, want %+v", got, e.Limits.Other)
	}
}

func TestEngineRefusals(t *testing.T) {
	good := embedded(t, "engine", "vllm@0.19")
	for _, c := range []struct{ name, old, new, want string }{
		{"other name", "name: vllm@0.19", "name: vllm@1", "name of the file"},
		{"no source", "source: \"vllm/engine/arg_utils.py, get_batch_defaults\"", "source: \"\"", "step_limits: need a source"},
		{"unknown status", "status: measured", "status: sure", "async_scheduling has status"},
		{"fitted is for figures", "status: measured", "status: fitted", "async_scheduling has status"},
		{"watermark of all", "value: 0", "value: 1", "watermark is 1"},
		{"no sequences", "max_num_seqs: 256", "max_num_seqs: 0", "step_limits holds 0"},
		{"unknown key", "title:", "titel:", "titel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatalf("%q is not in the profile", c.old)
			}
			if _, err := parseEngine("vllm@0.19", []byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := LoadEngine("vllm@0.1"); err == nil || !strings.Contains(err.Error(), "vllm@0.10, vllm@0.15, vllm@0.19") {
		t.Errorf("an unknown engine: %v, want the known ones", err)
	}
}

func FuzzParseEngine(f *testing.F) {
	f.Add([]byte(embedded(f, "engine", "vllm@0.19")))
	f.Add([]byte("name: vllm@0.19\nwatermark: {value: .nan}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := parseEngine("vllm@0.19", data)
		if err != nil {
			return
		}
		if w := e.Watermark.Value; !(w >= 0 && w < 1) || e.Limits.Large.MaxNumSeqs < 1 || e.Limits.Other.MaxNumBatchedTokens < 1 {
			t.Errorf("accepted an impossible engine: %+v", e)
		}
	})
}
