package profiles

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// shared is a file of the reference data beside the project; a test that needs it is
// skipped where it is absent.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the package")
		}
	}
	path := filepath.Join(dir, "..", "shared", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no reference data: %v", err)
	}
	return path
}

// KV block counts that real vLLM logged on H100 (inference-sim/inference-sim, run
// settings) come out within 3 %.
func TestKVBlocksOfRealRuns(t *testing.T) {
	f, err := os.Open(shared(t, "calibration/fitted_by_source.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	gpu, err := LoadGPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]string{
		"RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic": "llama-4-scout-17b-16e",
		"meta-llama/Llama-2-7b-hf":                            "llama-2-7b",
		"meta-llama/Llama-3.1-70B-Instruct":                   "llama-3.1-70b",
		"mistralai/Mistral-Nemo-Instruct-2407":                "mistral-nemo-12b",
		"Qwen/Qwen2.5-7B-Instruct":                            "qwen2.5-7b",
		"01-ai/Yi-34B":                                        "yi-34b",
	}
	n := 0
	for _, row := range rows {
		if row[7] != "total_kv_blocks" || models[row[3]] == "" {
			continue
		}
		n++
		tp, err := strconv.Atoi(row[4])
		if err != nil {
			t.Fatal(err)
		}
		logged, err := strconv.ParseFloat(row[9], 64)
		if err != nil {
			t.Fatal(err)
		}
		m := loadModel(t, models[row[3]])
		got, err := KVBlocks(gpu, m, tp, 0.9, 16)
		if err != nil {
			t.Fatal(err)
		}
		off := float64(got)/logged - 1
		t.Logf("%-22s TP %d: %d blocks, %.0f logged, %+.2f %%", m.Name, tp, got, logged, 100*off)
		if math.Abs(off) > 0.03 {
			t.Errorf("%s on %d GPUs: off by %+.1f %%", m.Name, tp, 100*off)
		}
	}
	if n < 8 {
		t.Errorf("%d runs: the table was not read", n)
	}
}
