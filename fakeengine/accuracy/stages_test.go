package accuracy_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"goodput/fakeengine/accuracy"
	"goodput/profiles"
	"goodput/profiles/evidence"
)

const stageHeader = "exp,model,hardware,engine,tp,max_num_seqs,max_num_batched_tokens,num_gpu_blocks,system_prompt_len,question_len,output_len,num_system_prompts,stage,rate_rps,duration_s,ttft_mean_ms,e2e_mean_ms,e2e_p90_ms,e2e_p99_ms,itl_mean_ms\n"

func stagesOf(t *testing.T, rows string) []evidence.Stage {
	t.Helper()
	stages, err := evidence.ParseStages("t.csv", strings.NewReader(stageHeader+rows))
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

// TestValidationOpenLoop replays stages of real vLLM of about 0.15.1 on H100
// (inference-sim/sim-to-real-accuracy-validation). No coefficient but the front end was
// chosen with them in view. fakeengine/engine/VALIDATION.md says more.
func TestValidationOpenLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("runs ten thousands of requests")
	}
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "validation", "h100-open-loop.csv"))
	if err != nil {
		t.Skipf("no measurements beside the module: %v", err)
	}
	defer f.Close()
	stages, err := evidence.ParseStages("h100-open-loop.csv", f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := accuracy.CompareStages(stages, nil)
	if err != nil {
		t.Fatal(err)
	}
	contradicted := 0
	for i := range got {
		r := &got[i]
		t.Logf("%s %g/s: TTFT %+.3f, E2E per token %+.3f, %s", r.Stage.Model, r.Stage.Rate, r.TTFTError(), r.PerTokenError(), r.Contradicted)
		if r.Contradicted != "" {
			contradicted++
		}
		// Of the prompts of these two, which are longer than those of the others, first
		// tokens come later than predicted, for a reason that is not known.
		late := strings.Contains(r.Stage.Model, "Scout") || strings.Contains(r.Stage.Model, "Llama-2-7b")
		switch {
		case math.Abs(r.PerTokenError()) > accuracy.StageBound:
			t.Errorf("%s: time per token is off by %+.3f", r.Stage.Where(), r.PerTokenError())
		case !late && !r.Within():
			t.Errorf("%s: TTFT is off by %+.3f", r.Stage.Where(), r.TTFTError())
		case late && (r.Within() || r.TTFTError() < -0.3):
			t.Errorf("%s: TTFT is off by %+.3f: more than it was, or the exception can go", r.Stage.Where(), r.TTFTError())
		}
	}
	if contradicted != 1 {
		t.Errorf("%d stages contradict themselves, want the one of Llama-2-7B", contradicted)
	}
}

// TestStageFollowsItsVersion: arrivals of a version that schedules asynchronously wait for one
// step more, and E2E per token hardly moves.
func TestStageFollowsItsVersion(t *testing.T) {
	const row = ",2,128,2048,20793,100,447,248,9,0,2,20,47,3800,3800,3900,15\n"
	got, err := accuracy.CompareStages(stagesOf(t, "1,01-ai/Yi-34B,H100,"+row+"2,01-ai/Yi-34B,H100,vllm@0.19"+row), nil)
	if err != nil {
		t.Fatal(err)
	}
	older, newer := &got[0], &got[1]
	if older.Engine != accuracy.StageEngine || newer.Engine != "vllm@0.19" {
		t.Fatalf("engines %s and %s", older.Engine, newer.Engine)
	}
	if d := newer.TTFT - older.TTFT; d < 10 || d > 20 {
		t.Errorf("TTFT %v and %v ms: want a step of 15 ms more", older.TTFT, newer.TTFT)
	}
	if math.Abs(newer.LaterTTFT-older.TTFT) > 0.5 || math.Abs(older.LaterTTFT-newer.TTFT) > 0.5 {
		t.Errorf("TTFT %v and %v ms, otherwise admitted %v and %v", older.TTFT, newer.TTFT, older.LaterTTFT, newer.LaterTTFT)
	}
	if math.Abs(older.PerToken/newer.PerToken-1) > 0.02 {
		t.Errorf("%v and %v ms a token", older.PerToken, newer.PerToken)
	}
}

func TestStageUsesOwnProfile(t *testing.T) {
	own, err := profiles.LoadGPU("h100-sxm")
	if err != nil {
		t.Fatal(err)
	}
	own.HBM.Value /= 2
	stages := stagesOf(t, "1,01-ai/Yi-34B,H100,,2,128,2048,20793,100,447,248,9,0,2,20,47,3800,3800,3900,15\n")
	fast, err := accuracy.CompareStages(stages, nil)
	if err != nil {
		t.Fatal(err)
	}
	slow, err := accuracy.CompareStages(stages, &own)
	if err != nil {
		t.Fatal(err)
	}
	if r := slow[0].PerToken / fast[0].PerToken; r < 1.5 {
		t.Errorf("a token takes %.2f times as long with half the bandwidth", r)
	}
}

func TestStageRejects(t *testing.T) {
	for name, c := range map[string]struct{ row, want string }{
		"hardware": {"1,01-ai/Yi-34B,B300,,2,128,2048,20793,100,447,248,9,0,2,20,47,3800,3800,3900,15\n", "hardware"},
		"model":    {"1,x/Unknown-9B,H100,,2,128,2048,20793,100,447,248,9,0,2,20,47,3800,3800,3900,15\n", "checkpoint"},
		"engine":   {"1,01-ai/Yi-34B,H100,vllm@9,2,128,2048,20793,100,447,248,9,0,2,20,47,3800,3800,3900,15\n", "vllm@9"},
		"no room":  {"1,01-ai/Yi-34B,H100,,2,128,2048,20,100,447,248,9,0,2,20,47,3800,3800,3900,15\n", "KV blocks"},
	} {
		_, err := accuracy.CompareStages(stagesOf(t, c.row), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "t.csv:2") {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
}
