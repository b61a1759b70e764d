package steptime

import (
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"goodput/profiles"
)

// kernelFiles is a small set of kernel times. Kernels on tokens add up to
// 1,000 us at 1 token and 3,000 us at 3 in a model of one layer, the head and
// the sampler to 10 us a row.
func kernelFiles() fstest.MapFS {
	return fstest.MapFS{
		"dense.csv": {Data: []byte(`layer,tokens,time_us
layernorm,1,100
layernorm,3,300
qkv_proj,1,100
qkv_proj,3,300
rotary_emb,1,100
rotary_emb,3,300
o_proj,1,100
o_proj,3,300
gate_up_proj,1,100
gate_up_proj,3,300
act_fn,1,100
act_fn,3,300
down_proj,1,100
down_proj,3,300
embedding,1,100
embedding,3,300
final_layernorm,1,100
final_layernorm,3,300
`)},
		"per_sequence.csv": {Data: []byte(`layer,sequences,time_us
lm_head,1,6
lm_head,4,24
sampler,1,4
sampler,4,16
`)},
		"attention.csv": {Data: []byte(`prefill_chunk,kv_prefill,n_decode,kv_decode,time_us
0,0,1,16,10
0,0,1,32,20
0,0,2,16,20
0,0,2,32,40
16,0,0,0,100
32,0,0,0,200
32,64,0,0,300
16,0,1,16,1000
16,0,1,32,1100
32,0,1,32,2000
`)},
		"meta.yaml": {Data: []byte("skew_fit:\n  enabled: true\n  per_tp:\n    1:\n      alpha_default: 0.25\n")},
	}
}

// oneGPU is a model without experts on one GPU.
func oneGPU(layers int) Deployment { return Deployment{Model: profiles.Model{Layers: layers}} }

func table(t testing.TB, files fs.FS, layers int) *Table {
	t.Helper()
	m, err := readTable(files, oneGPU(layers))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTableStep(t *testing.T) {
	type row struct{ computed, n int }
	for _, c := range []struct {
		name   string
		layers int
		rows   []row
		wantUS float64
	}{
		// dense 1000 + head 10 + attention at context 16.
		{"a measured decode", 1, []row{{15, 1}}, 1000 + 10 + 10},
		{"between two contexts", 1, []row{{23, 1}}, 1000 + 10 + 15},
		{"below the least context", 1, []row{{7, 1}}, 1000 + 10 + 5},
		{"above the longest context", 1, []row{{63, 1}}, 1000 + 10 + 40},
		{"two equal decodes", 1, []row{{15, 1}, {15, 1}}, 2000 + 20 + 20},
		// Mean context 24: 30; longest 32: 40; a quarter of the way.
		{"two unequal decodes", 1, []row{{15, 1}, {31, 1}}, 2000 + 20 + 32.5},
		{"more decodes than measured", 1, []row{{15, 1}, {15, 1}, {15, 1}}, 3000 + 30 + 30},
		// Two layers: 7 kernels a layer, layernorm twice, and two once in a step.
		{"two layers", 2, []row{{15, 1}}, 1800 + 10 + 20},
		{"a prefill alone", 1, []row{{0, 16}}, 16000 + 10 + 100},
		{"a chunk below the least", 1, []row{{0, 2}}, 2000 + 10 + 100},
		{"a chunk between", 1, []row{{0, 24}}, 24000 + 10 + 150},
		// At chunk 16 no history was measured: it is taken as free there, so half way
		// between 16 and 32 tokens half of its cost is charged.
		{"history off the grid", 1, []row{{64, 24}}, 24000 + 10 + 200},
		{"two prefills are one", 1, []row{{0, 16}, {32, 16}}, 32000 + 20 + 250},
		{"both in one step", 1, []row{{0, 16}, {15, 1}}, 17000 + 20 + 1000},
		// At chunk 32 one context was measured, which stands for all.
		{"both, off the grid", 1, []row{{0, 24}, {15, 1}}, 25000 + 20 + 1500},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b Batch
			for _, r := range c.rows {
				b.Add(r.computed, r.n)
			}
			if got := table(t, kernelFiles(), c.layers).Step(&b); got != int64(c.wantUS*1e6) {
				t.Errorf("%.1f us, want %.1f", float64(got)/1e6, c.wantUS)
			}
		})
	}
}

func TestTableWithoutSkewFit(t *testing.T) {
	for name, meta := range map[string]string{
		"no file": "",
		"off":     "skew_fit:\n  enabled: false\n",
		"other":   "profiler_version: 1.0.0\n",
	} {
		t.Run(name, func(t *testing.T) {
			files := kernelFiles()
			delete(files, "meta.yaml")
			if meta != "" {
				files["meta.yaml"] = &fstest.MapFile{Data: []byte(meta)}
			}
			if got := table(t, files, 1).Skew(); got != 0 {
				t.Errorf("skew %v, want 0", got)
			}
		})
	}
}

func TestReadTableRefuses(t *testing.T) {
	replace := func(file, old, with string) func(fstest.MapFS) {
		return func(f fstest.MapFS) {
			s := string(f[file].Data)
			if !strings.Contains(s, old) {
				panic(old)
			}
			f[file] = &fstest.MapFile{Data: []byte(strings.Replace(s, old, with, 1))}
		}
	}
	drop := func(file, prefix string) func(fstest.MapFS) {
		return func(f fstest.MapFS) {
			var keep []string
			for l := range strings.Lines(string(f[file].Data)) {
				if !strings.HasPrefix(l, prefix) {
					keep = append(keep, l)
				}
			}
			f[file] = &fstest.MapFile{Data: []byte(strings.Join(keep, ""))}
		}
	}
	for _, c := range []struct {
		name   string
		change func(fstest.MapFS)
		want   string
	}{
		{"missing file", func(f fstest.MapFS) { delete(f, "attention.csv") }, "attention.csv"},
		{"empty file", func(f fstest.MapFS) { f["dense.csv"] = &fstest.MapFile{} }, "dense.csv"},
		{"other header", replace("dense.csv", "layer,", "kernel,"), "dense.csv:1:1: header"},
		{"unknown kernel", replace("dense.csv", "o_proj,3", "moe,3"), `dense.csv:9:1: layer: "moe"`},
		{"missing kernel", drop("dense.csv", "down_proj"), "dense.csv: no rows of down_proj"},
		{"missing head", drop("per_sequence.csv", "lm_head"), "per_sequence.csv: no rows of lm_head"},
		{"no tokens", replace("dense.csv", "layernorm,1", "layernorm,0"), `dense.csv:2:11: tokens: "0"`},
		{"twice", replace("dense.csv", "layernorm,3", "layernorm,1"), "dense.csv:3:11: tokens: layernorm has 1 tokens twice"},
		{"time of zero", replace("per_sequence.csv", "lm_head,1,6", "lm_head,1,0"), `per_sequence.csv:2:11: time_us: "0"`},
		{"not a number", replace("per_sequence.csv", "lm_head,1,6", "lm_head,1,NaN"), `per_sequence.csv:2:11: time_us: "NaN"`},
		{"too few fields", replace("attention.csv", "16,0,0,0,100", "16,0,0,100"), "attention.csv: record on line 6"},
		{"point twice", replace("attention.csv", "16,0,1,32,1100", "16,0,1,16,1100"), "attention.csv:10:1: prefill_chunk: this point is there twice"},
		{"history of nothing", replace("attention.csv", "0,0,1,16,10", "0,9,1,16,10"), "attention.csv:2:3: kv_prefill: 9 tokens"},
		{"context of nothing", replace("attention.csv", "16,0,0,0", "16,0,0,5"), "attention.csv:6:8: kv_decode: 5 tokens"},
		{"nothing at all", replace("attention.csv", "16,0,0,0", "0,0,0,0"), "attention.csv:6:1: prefill_chunk: neither"},
		{"no mixed rows", func(f fstest.MapFS) { drop("attention.csv", "16,0,1")(f); drop("attention.csv", "32,0,1")(f) }, "no rows of prefill beside decodes"},
		{"no decodes", drop("attention.csv", "0,"), "no rows of decodes alone"},
		{"skew without a number of GPUs", replace("meta.yaml", "1:", "2:"), "meta.yaml: skew_fit is enabled"},
		{"skew with a stray tag", replace("meta.yaml", "true", "!!int"), "meta.yaml: "},
		{"skew beyond one", replace("meta.yaml", "0.25", "1.5"), "meta.yaml: alpha_default is 1.5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(kernelFiles())
			c.change(files)
			_, err := readTable(files, oneGPU(1))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	for _, layers := range []int{0, maxLayers + 1} {
		if _, err := readTable(kernelFiles(), oneGPU(layers)); err == nil {
			t.Errorf("%d layers: no error", layers)
		}
	}
}

func TestLoadTableReadsADirectory(t *testing.T) {
	dir := t.TempDir()
	for name, f := range kernelFiles() {
		if err := os.WriteFile(filepath.Join(dir, name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LoadTable(dir, oneGPU(1)); err != nil {
		t.Error(err)
	}
	if _, err := LoadTable(filepath.Join(dir, "none"), oneGPU(1)); err == nil {
		t.Error("no error for a directory that is not there")
	}
}

// Whatever was measured comes out again, at the point where it was measured, on
// grids that are not full.
func TestGridKeepsItsSamples(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.Custom(func(t *rapid.T) [4]float64 {
			var x [4]float64
			for d := range x {
				x[d] = float64(rapid.IntRange(0, 5).Draw(t, "x"))
			}
			return x
		})
		var samples []sample
		for _, x := range rapid.SliceOfNDistinct(at, 1, 30, func(x [4]float64) [4]float64 { return x }).Draw(rt, "at") {
			samples = append(samples, sample{x, float64(rapid.IntRange(1, 1e6).Draw(rt, "ps"))})
		}
		g, err := newGrid(samples)
		if err != nil {
			rt.Fatal(err)
		}
		for _, s := range samples {
			if got := g.at(s.at); math.Abs(got-s.ps) > 1e-6*s.ps {
				rt.Errorf("%v: %v ps, measured %v", s.at, got, s.ps)
			}
		}
	})
}

func TestGridSaysWhenItIsTooLarge(t *testing.T) {
	var samples []sample
	for i := range 50 {
		x := float64(i)
		samples = append(samples, sample{[4]float64{x, x, x, x}, 1})
	}
	if _, err := newGrid(samples); err == nil {
		t.Error("no error for 50 values on each axis")
	}
}

func TestTableStepDoesNotAllocate(t *testing.T) {
	m := table(t, kernelFiles(), 32)
	b := mixedBatch()
	if n := testing.AllocsPerRun(100, func() { m.Step(&b) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func mixedBatch() Batch {
	var b Batch
	b.Add(512, 512)
	for i := range 64 {
		b.Add(900+i, 1)
	}
	return b
}

func BenchmarkTableStep(b *testing.B) {
	m := table(b, kernelFiles(), 32)
	batch := mixedBatch()
	b.ReportAllocs()
	for b.Loop() {
		m.Step(&batch)
	}
}

func FuzzReadTable(f *testing.F) {
	files := kernelFiles()
	f.Add(files["dense.csv"].Data, files["per_sequence.csv"].Data, files["attention.csv"].Data, files["meta.yaml"].Data)
	f.Add([]byte("layer,tokens,time_us\n"), []byte("\"\n"), []byte("0,0,1,1,1e9"), []byte("skew_fit: [1]"))
	f.Fuzz(func(t *testing.T, dense, rows, attention, meta []byte) {
		m, err := readTable(fstest.MapFS{
			"dense.csv": {Data: dense}, "per_sequence.csv": {Data: rows}, "attention.csv": {Data: attention}, "meta.yaml": {Data: meta},
		}, oneGPU(2))
		if err != nil {
			return
		}
		for _, b := range []Batch{mixedBatch(), {Tokens: 1, Seqs: 1, DecodeCtx: 1, DecodeMax: 1}, {Tokens: 1 << 40, Seqs: 1, Prefills: 1, PrefillHist: 1e5}} {
			if got := m.Step(&b); got <= 0 {
				t.Errorf("a step of %d ps: %+v", got, b)
			}
		}
	})
}
