package cli

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"goodput/loadgen/record"
)

// recordings are the folders of recorded runs beside the project.
func recordings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "shared", "validation", "vllm-replay", "*", "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no recordings")
	}
	for i := range files {
		files[i] = filepath.Dir(files[i])
	}
	return files
}

// replayFlags are the flags that make the recorded engine of what meta.json tells.
func replayFlags(t *testing.T, dir string) []string {
	t.Helper()
	var meta struct {
		Kwargs struct {
			Model       string `json:"model"`
			TP          int    `json:"tensor_parallel_size"`
			DP          int    `json:"data_parallel_size"`
			EP          bool   `json:"enable_expert_parallel"`
			MaxNumSeqs  int    `json:"max_num_seqs"`
			MaxTokens   int    `json:"max_num_batched_tokens"`
			MaxModelLen int    `json:"max_model_len"`
		} `json:"engine_kwargs"`
		KV *struct {
			Blocks int `json:"num_gpu_blocks"`
		} `json:"kv_cache"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		t.Fatal(err)
	}
	k, ranks, blocks := &meta.Kwargs, max(1, meta.Kwargs.DP), 1<<16 // more than any of these GPUs holds
	if meta.KV != nil {
		blocks = meta.KV.Blocks / ranks
	}
	flags := []string{
		"--engine", "vllm@0.19", "--engine-model", strings.ToLower(path.Base(k.Model)), "--tp", strconv.Itoa(k.TP),
		"--engine.max-num-seqs", strconv.Itoa(k.MaxNumSeqs), "--engine.max-num-batched-tokens", strconv.Itoa(k.MaxTokens),
		"--engine.max-model-len", strconv.Itoa(k.MaxModelLen), "--engine.num-gpu-blocks", strconv.Itoa(blocks),
		"--replicas", strconv.Itoa(ranks), "--router", "least-outstanding", "--drain", "1h", "--ignore-eos",
		"--engine.step-table", filepath.Join(dir, "kernels"),
		"--dataset-name", "vllm_replay", "--dataset-path", filepath.Join(dir, "requests.csv"),
	}
	if ranks > 1 {
		flags = append(flags, "--engine.data-parallel-size", strconv.Itoa(ranks), "--engine.enable-expert-parallel="+strconv.FormatBool(k.EP))
	}
	return flags
}

// times are those of the requests of a run in seconds, by quantity.
type times map[string][]float64

// recordedTimes is what requests.csv says came of the requests.
func recordedTimes(t *testing.T, dir string) times {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "requests.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := times{}
	for _, row := range rows[1:] {
		of := func(column string) float64 {
			x, err := strconv.ParseFloat(row[slices.Index(rows[0], column)], 64)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		arrival, first, last, tokens := of("arrival_s"), of("first_token_s"), of("last_token_s"), of("output_tokens")
		out["queue"] = append(out["queue"], of("scheduled_s")-of("queued_s"))
		out["ttft"] = append(out["ttft"], first-arrival)
		out["e2e"] = append(out["e2e"], last-arrival)
		if tokens > 1 {
			out["tpot"] = append(out["tpot"], (last-first)/(tokens-1))
		}
	}
	return out
}

// ranTimes is what the rows of a run say.
func ranTimes(rows []record.Request) times {
	out := times{}
	for i := range rows {
		r := &rows[i]
		out["queue"] = append(out["queue"], time.Duration(r.ServerQueue).Seconds())
		out["ttft"] = append(out["ttft"], time.Duration(r.TTFT()).Seconds())
		out["e2e"] = append(out["e2e"], time.Duration(r.E2E()).Seconds())
		if x := r.TPOT(); x != record.Null {
			out["tpot"] = append(out["tpot"], time.Duration(x).Seconds())
		}
	}
	return out
}

// replayStatistics are the mean, the median, p90 and p99, between order statistics.
func replayStatistics(x []float64) [4]float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	out := [4]float64{sum / float64(len(x))}
	for i, p := range []float64{0.5, 0.9, 0.99} {
		at := p * float64(len(x)-1)
		k := min(int(at), len(x)-2)
		out[i+1] = x[k] + (at-float64(k))*(x[k+1]-x[k])
	}
	return out
}

// What the command makes of recorded runs of vLLM, all that are there, is close to
// what vLLM did: by flags and Parquet, as a user would see it.
func TestValidationReplayByCommand(t *testing.T) {
	const clocks = 0.002 // seconds by which the recording's two clocks may differ
	for _, dir := range recordings(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			rows, _ := runOf(t, replayFlags(t, dir)...)
			want, got := recordedTimes(t, dir), ranTimes(rows)
			for _, c := range []struct {
				quantity string
				bounds   [4]float64
				slack    float64
			}{
				{"queue", [4]float64{0.05, 0.08, 0.05, 0.05}, clocks},
				{"ttft", [4]float64{0.05, 0.08, 0.05, 0.05}, clocks},
				{"tpot", [4]float64{0.03, 0.03, 0.03, 0.03}, 0},
				{"e2e", [4]float64{0.03, 0.03, 0.03, 0.03}, 0},
			} {
				if len(want[c.quantity]) != len(got[c.quantity]) {
					t.Fatalf("%s of %d requests, recorded of %d", c.quantity, len(got[c.quantity]), len(want[c.quantity]))
				}
				w, g := replayStatistics(want[c.quantity]), replayStatistics(got[c.quantity])
				var line strings.Builder
				for i := range w {
					off := g[i]/w[i] - 1
					line.WriteString(strconv.FormatFloat(1e3*w[i], 'f', 2, 64) + " " + strconv.FormatFloat(100*off, 'f', 2, 64) + "%  ")
					if !(math.Abs(off) <= c.bounds[i]) && math.Abs(g[i]-w[i]) > c.slack {
						t.Errorf("%s: statistic %d is off by %.2f%%, at most %.0f%% is allowed", c.quantity, i, 100*off, 100*c.bounds[i])
					}
				}
				t.Logf("%-6s mean, p50, p90, p99 in ms: %s", c.quantity, line.String())
			}
		})
	}
}
