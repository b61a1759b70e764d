package evidence_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/profiles/evidence"
)

func Example() {
	table := "id,source,url_or_repo_path,license,gpu,tp,model_key,dtype,engine,kind,batch_or_concurrency,context_len,step_time_s\n" +
		"1,my lab,notebook p. 7,CC0-1.0,H100-SXM-80GB,1,llama-3.1-8b,bf16,vllm,step_decode,8,1024,0.0095\n"
	_, err := evidence.Parse("mine.csv", strings.NewReader(table))
	fmt.Println(err)

	points, err := evidence.Parse("mine.csv", strings.NewReader(strings.NewReplacer("step_time_s", "step_time_ms", "0.0095", "9.5").Replace(table)))
	fmt.Println(points[0].Kind, points[0].Step, "ms", err)
	// Output:
	// mine.csv:1: step_time_s: no such column: use step_time_ms (times in ms, rates per second)
	// step_decode 9.5 ms <nil>
}

// TestPublishedIsOpen: what ships may ship, and says where it comes from.
func TestPublishedIsOpen(t *testing.T) {
	points, err := evidence.Published()
	if err != nil {
		t.Fatal(err)
	}
	gpus := map[string]int{}
	for i := range points {
		p := &points[i]
		gpus[p.GPU]++
		if !slices.Contains([]string{"Apache-2.0", "MIT"}, p.License) {
			t.Errorf("%s: licence %q is not one that ships", p.Where(), p.License)
		}
		if !strings.ContainsAny(p.Address, "@/") || p.Date == "" || p.Obtained == "" || p.Notes != "" {
			t.Errorf("%s: need an address, a date and how the figure was obtained, and no sentences", p.Where())
		}
		if p.Unfit || p.Kind == evidence.Op {
			t.Errorf("%s: a row that nothing is compared with", p.Where())
		}
	}
	for _, gpu := range []string{"H100-SXM-80GB", "A100-SXM-80GB", "MI300X"} {
		if gpus[gpu] < 50 {
			t.Errorf("%s: %d rows, want 50 and more", gpu, gpus[gpu])
		}
	}
}

func TestTextIsOneTable(t *testing.T) {
	text, err := evidence.Text()
	if err != nil {
		t.Fatal(err)
	}
	all, err := evidence.Parse("all.csv", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	points, err := evidence.Published()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(points) {
		t.Errorf("%d rows in one table, %d in several", len(all), len(points))
	}
}

// TestPublishedIsCarriedOver: no figure was changed on the way from the collection.
func TestPublishedIsCarriedOver(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "calibration")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no collection beside the module: %v", err)
	}
	source := map[string]evidence.Point{}
	for _, gpu := range []string{"h100", "a100", "mi300x"} {
		f, err := os.Open(filepath.Join(dir, "points_"+gpu+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		points, err := evidence.Parse(gpu, f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range points {
			source[p.ID] = p
		}
	}
	points, err := evidence.Published()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range points {
		if p.Kind == evidence.KVBlocks {
			continue
		}
		s, ok := source[p.ID]
		if !ok {
			t.Errorf("%s: %s is not in the collection", p.Where(), p.ID)
			continue
		}
		type figures struct {
			Step, TPOT, TTFT, OutputTokS, Metric float64
			Batch, TP                            int
			Address                              string
		}
		of := func(p evidence.Point) figures {
			return figures{p.Step, p.TPOT.Typical(), p.TTFT.Typical(), p.OutputTokS, p.Metric, p.Batch, p.TP, p.Address}
		}
		if diff := cmp.Diff(of(s), of(p)); diff != "" {
			t.Errorf("%s (-collection +table):\n%s", p.Where(), diff)
		}
	}
}
