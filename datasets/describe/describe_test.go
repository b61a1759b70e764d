package describe_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"goodput/datasets/describe"
	"goodput/datasets/trace"
)

func of(t testing.TB, format trace.Format, path string) *describe.Report {
	t.Helper()
	d, err := trace.NewReader(format, path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, err := describe.Of(d)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// excerpt is the path of a sample of a public trace beside the checkout.
func excerpt(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "traces", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("needs the trace samples: ", err)
	}
	return path
}

// TestPublishedSamples compares with figures that were computed apart from this
// code, to all digits that they have.
func TestPublishedSamples(t *testing.T) {
	type want map[string]string
	for _, c := range []struct {
		format trace.Format
		file   string
		want   want
	}{
		{trace.Mooncake, "mooncake/conversation.head400.jsonl", want{
			"rows": "400", "span": "141.000", "in": "14276.3", "out": "365.2", "hit": "0.1369", "full": "0.1367", "block": "0.1346", "sessions": "363", "quantum": "3",
		}},
		{trace.Mooncake, "mooncake/conversation.multiturn12.jsonl", want{"rows": "90", "sessions": "12", "hit": "0.8246", "full": "0.8244", "most": "12"}},
		{trace.Mooncake, "mooncake/synthetic.head200.jsonl", want{"rows": "200", "span": "58.501", "cv": "1.007", "quantum": "0"}},
		{trace.Azure, "azure/AzureLLMInferenceTrace_code_2023.head300.csv", want{"rows": "300", "hit": "?", "quantum": "0"}},
		{trace.Azure, "azure/AzureLLMInferenceTrace_conv_2023.head300.csv", want{"rows": "300", "hit": "?", "quantum": "0"}},
		{trace.RAGPulse, "ragpulse/0_trace.head120.jsonl", want{"rows": "120", "hit": "?", "sessions": "68"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got := figures(of(t, c.format, excerpt(t, c.file)))
			for key, text := range c.want {
				if got[key] != text {
					t.Errorf("%s is %s, want %s", key, got[key], text)
				}
			}
		})
	}
}

func figures(r *describe.Report) map[string]string {
	f := map[string]string{
		"rows": fmt.Sprint(r.Rows), "in": fmt.Sprintf("%.1f", r.Input.Mean), "out": fmt.Sprintf("%.1f", r.Output.Mean), "hit": "?",
	}
	if a := r.Arrivals; a != nil {
		f["span"], f["quantum"] = fmt.Sprintf("%.3f", a.SpanSeconds), fmt.Sprint(a.Quantum)
		if a.CV != nil {
			f["cv"] = fmt.Sprintf("%.3f", *a.CV)
		}
	}
	if u := r.Reuse; u != nil {
		f["hit"] = fmt.Sprintf("%.4f", u.TokenHit)
		if u.FullBlocks != nil {
			f["full"], f["block"] = fmt.Sprintf("%.4f", *u.FullBlocks), fmt.Sprintf("%.4f", *u.BlockHit)
		}
	}
	if r.Sessions != nil {
		f["sessions"], f["most"] = fmt.Sprint(r.Sessions.Count), fmt.Sprint(r.Sessions.Max)
	}
	return f
}

func TestByHand(t *testing.T) {
	r := of(t, trace.Mooncake, "../trace/testdata/mooncake_min.jsonl")
	if got, want := r.Reuse.TokenHit, 4372./7637; math.Abs(got-want) > 1e-12 {
		t.Errorf("token hit %v, want %v", got, want)
	}
	if got, want := *r.Reuse.FullBlocks, 4096./7637; math.Abs(got-want) > 1e-12 {
		t.Errorf("hit of full blocks %v, want %v", got, want)
	}
	lab := of(t, trace.TraceLab, "../trace/testdata/tracelab_replay_min.csv")
	if got, want := lab.Reuse.TokenHit, 576./1616; math.Abs(got-want) > 1e-12 {
		t.Errorf("kept in sessions %v, want %v", got, want)
	}
	if a := lab.Arrivals; a.SpanSeconds != 0.2 || lab.Sessions.Count != 2 || lab.Sessions.Max != 2 {
		t.Errorf("arrivals %+v, sessions %+v", a, lab.Sessions)
	}
	if s := of(t, trace.ShareGPT, "../trace/testdata/sharegpt_min.json"); s.Arrivals != nil || s.Skipped.Dropped != 3 {
		t.Errorf("text without times: %+v", s)
	}
}

// TestAgainstWholeData compares the figures with their definitions over all rows in
// memory.
func TestAgainstWholeData(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "rows")
		var text strings.Builder
		text.WriteString("Timestamp,Request tokens,Response tokens\n")
		var times, in []float64
		at := 0
		for i := range n {
			at += rapid.SampledFrom([]int{0, 0, 1, 7, 90}).Draw(t, "gap")
			tokens := rapid.SampledFrom([]int{1, 5, 9, 1000, 300_000}).Draw(t, "in")
			times, in = append(times, float64(at)), append(in, float64(tokens))
			fmt.Fprintf(&text, "%d,%d,%d\n", at, tokens, i+1)
		}
		path := filepath.Join(dir, "b.csv")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := trace.NewReader(trace.BurstGPT, path, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		r, err := describe.Of(d)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(in)
		h := 0.95 * float64(n-1)
		want := in[int(h)] + (h-math.Floor(h))*(in[int(math.Ceil(h))]-in[int(h)])
		if math.Abs(r.Input.P95-want) > 0.002*want {
			t.Fatalf("p95 %v, want %v of %v", r.Input.P95, want, in)
		}
		if want := dispersion(times, 10); (want == nil) != (r.Arrivals.D10 == nil) || want != nil && math.Abs(*want-*r.Arrivals.D10) > 1e-9 {
			t.Fatalf("dispersion %v, want %v", r.Arrivals.D10, want)
		}
	})
}

// dispersion is that of whole times, by its definition.
func dispersion(times []float64, width float64) *float64 {
	counts := make([]float64, int((times[len(times)-1]-times[0])/width)) // whole bins
	n := 0
	for _, at := range times {
		if bin := int((at - times[0]) / width); bin < len(counts) {
			counts[bin]++
			n++
		}
	}
	if len(counts) < 2 || n == 0 {
		return nil
	}
	mean, variance := float64(n)/float64(len(counts)), 0.0
	for _, c := range counts {
		variance += (c - mean) * (c - mean) / float64(len(counts))
	}
	d := variance / mean
	return &d
}

// TestConstantMemory reads a million rows with 4 million distinct blocks: memory
// stays bounded, and the estimated reuse is near the known one.
func TestConstantMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a million rows")
	}
	const rows = 1_000_000
	path := filepath.Join(t.TempDir(), "million.jsonl")
	writeMillion(t, path, rows)
	d, err := trace.NewReader(trace.Mooncake, path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r, err := describe.Of(d)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	// HeapSys is what the heap took from the system at most.
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 256<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	// Each row has 1 block of all, 1 of 16 rows, 2 of its own.
	blocks := 4.0
	want := (1 + 15./16) / blocks
	if !r.Reuse.Estimated || math.Abs(r.Reuse.TokenHit-want) > 0.02 || r.Rows != rows {
		t.Errorf("%d rows, hit %.4f, estimated %v: want %.4f", r.Rows, r.Reuse.TokenHit, r.Reuse.Estimated, want)
	}
	if n := 1 + rows/16 + 2.*rows; math.Abs(r.Reuse.Distinct-n) > 0.02*n {
		t.Errorf("%.0f distinct blocks, want about %.0f", r.Reuse.Distinct, n)
	}
}

func writeMillion(t *testing.T, path string, rows int) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for i := range rows {
		fmt.Fprintf(w, `{"timestamp": %d, "input_length": 2048, "output_length": %d, "hash_ids": [0, %d, %d, %d]}`+"\n", i*7, 1+i%500, 10_000_000+i/16, 2*i+1, 2*i+2)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
