package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A recording of several GPUs or ranks is played like any other: the settings say
// what was deployed. These two are made up, and smaller than a machine's.
func TestValidationReadsSeveralGPUs(t *testing.T) {
	const (
		tokens = "layer,tokens,time_us\nembedding,1,1\nfinal_layernorm,1,1\nlayernorm,1,1\nqkv_proj,1,1\nrotary_emb,1,1\no_proj,1,1\n"
		mlp    = "gate_up_proj,1,1\nact_fn,1,1\ndown_proj,1,1\n"
		about  = "hardware: RTXPRO6000\ntp_degrees: [1, 2]\n"
	)
	files := func(kwargs, dense, moe string) map[string]string {
		return map[string]string{
			"meta.json": `{"engine_kwargs": {` + kwargs + `, "max_num_seqs": 2, "max_num_batched_tokens": 64}}`,
			"requests.csv": "index,arrival_s,input_tokens,output_tokens,queued_s,scheduled_s,first_token_s,last_token_s,prompt_block_ids\n" +
				strings.Repeat("0,0.0,40,3,0,0,0.1,0.2,0 1\n", 5),
			"kernels/dense.csv":        dense,
			"kernels/per_sequence.csv": "layer,sequences,time_us\nlm_head,1,1\nsampler,1,1\n",
			"kernels/attention.csv":    "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,1,16,1\n16,0,0,0,1\n16,0,1,16,1\n",
			"kernels/moe.csv":          moe,
			"kernels/meta.yaml":        about,
		}
	}
	for _, c := range []struct {
		name    string
		files   map[string]string
		engines int
	}{
		{"two GPUs", files(`"model": "Qwen/Qwen3-32B", "tensor_parallel_size": 2, "data_parallel_size": 1`, tokens+mlp, ""), 1},
		{"two ranks", files(`"model": "Qwen/Qwen3-30B-A3B-Instruct-2507", "tensor_parallel_size": 1, "data_parallel_size": 2, "enable_expert_parallel": true`,
			tokens, "tokens,activated_experts,time_us\n1,8,1\n"), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := readRecording(t, dir)
			got := r.replay(t)
			// Of five sequences each engine runs two at a time, so the first one is behind
			// those of the first round on one engine, and behind none on two.
			waited := 0
			for _, q := range got.queue {
				if q > 0 {
					waited++
				}
			}
			if want := 5 - 2*c.engines; waited != want {
				t.Errorf("%d of 5 requests waited for a place, want %d", waited, want)
			}
		})
	}
}
