package steptime

import (
	"maps"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"goodput/profiles"
)

// sparse is a model of one layer with 8 experts, of which a token goes to 2.
func sparse(ep int) Deployment {
	return Deployment{
		Model: profiles.Model{Name: "sparse", Layers: 1, Hidden: 500, Vocab: 1000, Experts: 8, ExpertsPerToken: 2},
		EP:    ep,
	}
}

// expertFiles are kernel files of a model with experts: those on tokens take
// 700 us at 1 token and 2,100 us at 3.
func expertFiles(moe string) fstest.MapFS {
	files := maps.Clone(kernelFiles())
	var keep []string
	for l := range strings.Lines(string(files["dense.csv"].Data)) {
		if !strings.Contains(l, "gate_up") && !strings.Contains(l, "act_fn") && !strings.Contains(l, "down_proj") {
			keep = append(keep, l)
		}
	}
	files["dense.csv"] = &fstest.MapFile{Data: []byte(strings.Join(keep, ""))}
	files["moe.csv"] = &fstest.MapFile{Data: []byte(moe)}
	files["link.yaml"] = &fstest.MapFile{Data: []byte("latency_us: 10\nbus_gb_per_s: 1\n")}
	return files
}

// At any number of experts in use, 100 us a token.
const byTokens = `tokens,activated_experts,time_us
1,2,100
2,2,200
2,4,200
4,2,400
4,8,400
`

// At any number of tokens, 10 us for each expert in use.
const byExperts = `ep,tokens,activated_experts,time_us
1,1,2,20
1,1,8,80
1,16,2,20
1,16,8,80
2,1,1,10
2,1,4,40
2,16,1,10
2,16,4,40
`

func TestTableExperts(t *testing.T) {
	const rest = 1400 + 20 + 20 // two decodes at context 16
	for _, c := range []struct {
		name   string
		files  string
		ep     int
		wantUS float64
	}{
		{"time by tokens", byTokens, 1, rest + 200},
		// 8 experts, each with probability 1/4 in a token: 8(1-(3/4)^2) = 3.5 in use.
		{"time by experts in use", byExperts, 1, rest + 35},
		// Half of the experts, each as likely; and 3 exchanges of 10 us, two of which
		// bring half of 2 x 1,000 bytes at 1 GB/s, 1 us.
		{"half of the experts", byExperts, 2, rest + 17.5 + 32},
		// Measured with all experts: half of the work is here, as much as a token's.
		{"half of the experts, not measured so", byTokens, 2, rest + 100 + 32},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := readTable(expertFiles(c.files), sparse(c.ep))
			if err != nil {
				t.Fatal(err)
			}
			var b Batch
			b.Add(15, 1)
			b.Add(15, 1)
			if got := float64(m.Step(&b)) / 1e6; math.Abs(got-c.wantUS) > 1e-6 {
				t.Errorf("%.3f us, want %.3f", got, c.wantUS)
			}
			if sum := m.Own(&b) + m.Together(2); sum != m.Step(&b) {
				t.Errorf("own and common part make %d ps, the step %d", sum, m.Step(&b))
			}
			if m.Ranks() != c.ep {
				t.Errorf("%d ranks, want %d", m.Ranks(), c.ep)
			}
		})
	}
}

// The common part of more tokens never takes less, and none is free of exchange.
func TestTableTogetherGrows(t *testing.T) {
	m, err := readTable(expertFiles(byExperts), sparse(2))
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for tokens := 1; tokens < 5000; tokens++ {
		ps := m.Together(tokens)
		if ps < last {
			t.Fatalf("%d tokens take %d ps, one less takes %d", tokens, ps, last)
		}
		last = ps
	}
}

func TestTableOfSeveralGPUs(t *testing.T) {
	files := fstest.MapFS{"meta.yaml": {Data: []byte("hardware: RTXPRO6000\nskew_fit:\n  enabled: true\n  per_tp:\n    2:\n      alpha_default: 0.5\n")}}
	for name, f := range kernelFiles() {
		if name != "meta.yaml" {
			files["tp2/"+name] = f
			files["tp1/"+name] = &fstest.MapFile{Data: []byte("not to be read")}
		}
	}
	d := Deployment{Model: profiles.Model{Layers: 2, Hidden: 500, Vocab: 1000}, TP: 2}
	var b Batch
	b.Add(15, 1)
	const kernels = 1800 + 10 + 20 // of two layers, as for one GPU
	for _, c := range []struct {
		name, link string
		wantUS     float64
	}{
		// 5 sums of 1,000 bytes, each sent once, and 1,000 of 2,000 bytes of logits.
		{"as given", "latency_us: 10\nbus_gb_per_s: 1\n", kernels + 5*11 + 11},
		{"as known of the hardware", "", kernels + 6*(33+1/16.2)},
		{"none", "none: true\n", kernels},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := maps.Clone(files)
			if c.link != "" {
				files["link.yaml"] = &fstest.MapFile{Data: []byte(c.link)}
			}
			m, err := readTable(files, d)
			if err != nil {
				t.Fatal(err)
			}
			if got := float64(m.Step(&b)) / 1e6; math.Abs(got-c.wantUS) > 1e-5 {
				t.Errorf("%.6f us, want %.6f", got, c.wantUS)
			}
			if m.Skew() != 0.5 {
				t.Errorf("skew %v, want that of two GPUs", m.Skew())
			}
		})
	}
}

func TestReadTableOfRanksRefuses(t *testing.T) {
	set := func(name, text string) func(fstest.MapFS) {
		return func(f fstest.MapFS) { f[name] = &fstest.MapFile{Data: []byte(text)} }
	}
	for _, c := range []struct {
		name   string
		change func(fstest.MapFS)
		d      Deployment
		want   string
	}{
		{"no expert times", func(f fstest.MapFS) { delete(f, "moe.csv") }, sparse(1), "moe.csv"},
		{"other header", set("moe.csv", "tokens,time_us\n"), sparse(1), "moe.csv:1:1: header"},
		{"no rows", set("moe.csv", "tokens,activated_experts,time_us\n"), sparse(1), "no rows with ep 1"},
		{"another degree", set("moe.csv", "ep,tokens,activated_experts,time_us\n4,1,1,1\n"), sparse(2), "no rows with ep 2 or 1"},
		{"too many experts", set("moe.csv", "tokens,activated_experts,time_us\n1,9,1\n"), sparse(1), "moe.csv:2:3: activated_experts: 9 experts"},
		{"no tokens", set("moe.csv", "ep,tokens,activated_experts,time_us\n1,0,1,1\n"), sparse(1), `moe.csv:2:3: tokens: "0"`},
		{"no time", set("moe.csv", "tokens,activated_experts,time_us\n1,1,0\n"), sparse(1), `moe.csv:2:5: time_us: "0"`},
		{"twice", set("moe.csv", "tokens,activated_experts,time_us\n1,1,1\n1,1,2\n"), sparse(1), "moe.csv:3:1: tokens: this point is there twice"},
		{"an MLP beside experts", set("dense.csv", "layer,tokens,time_us\nact_fn,1,1\n"), sparse(1), "dense.csv:2:1: layer: \"act_fn\": the model has experts"},
		{"no link", func(f fstest.MapFS) { delete(f, "link.yaml") }, sparse(2), "link.yaml is missing"},
		{"a link without bandwidth", set("link.yaml", "latency_us: 1\n"), sparse(2), "link.yaml: bus_gb_per_s is 0"},
		{"a link back in time", set("link.yaml", "latency_us: -1\nbus_gb_per_s: 1\n"), sparse(2), "link.yaml: latency_us is -1"},
		{"a link and none", set("link.yaml", "latency_us: 1\nnone: true\n"), sparse(2), "link.yaml: none is true"},
		{"a link that is no map", set("link.yaml", "[]"), sparse(2), "link.yaml: "},
		{"uneven experts", nil, sparse(3), "8 experts can't be shared evenly among 3 ranks"},
		{"ranks of a dense model", nil, Deployment{Model: profiles.Model{Layers: 1}, EP: 2}, "no experts to share"},
		{"ranks of several GPUs", nil, func() Deployment { d := sparse(2); d.TP = 2; return d }(), "not supported"},
		{"too many GPUs", nil, Deployment{Model: profiles.Model{Layers: 1}, TP: 65}, "at most 64"},
		{"another number of GPUs", set("tp4/dense.csv", ""), sparse(1), "no folder tp1: measured are tp4"},
		{"not measured", set("meta.yaml", "tp_degrees: [2, 4]\n"), sparse(1), "nothing is measured for 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := expertFiles(byTokens)
			if c.change != nil {
				c.change(files)
			}
			_, err := readTable(files, c.d)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestTableOfRanksDoesNotAllocate(t *testing.T) {
	m, err := readTable(expertFiles(byExperts), sparse(2))
	if err != nil {
		t.Fatal(err)
	}
	b := mixedBatch()
	if n := testing.AllocsPerRun(100, func() { m.Step(&b) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzReadExperts(f *testing.F) {
	f.Add([]byte(byTokens), []byte("latency_us: 10\nbus_gb_per_s: 1\n"), []byte("hardware: RTXPRO6000\n"))
	f.Add([]byte(byExperts), []byte("none: true\n"), []byte("tp_degrees: [1]\n"))
	f.Add([]byte("ep,tokens,activated_experts,time_us\n1,1,1,1e7\n"), []byte("latency_us: 1e7\nbus_gb_per_s: .nan\n"), []byte{})
	f.Fuzz(func(t *testing.T, moe, link, meta []byte) {
		files := expertFiles(string(moe))
		files["link.yaml"], files["meta.yaml"] = &fstest.MapFile{Data: link}, &fstest.MapFile{Data: meta}
		m, err := readTable(files, sparse(2))
		if err != nil {
			return
		}
		for _, tokens := range []int{1, 7, 4096, 1 << 40} {
			if got := m.Together(tokens); got <= 0 {
				t.Errorf("%d tokens take %d ps", tokens, got)
			}
		}
	})
}
