package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"goodput/loadgen/plan"
	"goodput/loadgen/record"
)

// parted says which parts of an answer a client saw.
type parted struct {
	reasoning, text, tool bool
	tokens                int32 // of reasoning
}

// TestAnswersFollowThePlan: an answer that tools follow on calls them, and one that is
// planned with reasoning has it, in process just as over HTTP; and the conversation goes
// on with the calls as they came, each answered by its id.
func TestAnswersFollowThePlan(t *testing.T) {
	if testing.Short() {
		t.Skip("sessions take their time")
	}
	file := filepath.Join(t.TempDir(), "agent.yaml")
	if err := os.WriteFile(file, []byte("append: {reasoning: {dist: fixed, value: 6}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"--dataset-name", "agent", "--agent-preset", "smoke", "--agent-config", file, "--num-sessions", "2",
		"--sessions-rate", "inf", "--ignore-eos", "--agent-history", "live",
	}
	p := plan.Default()
	p.EngineNumGPUBlocks = 100_000
	rig := newServeRig(t, p, 20)
	rows, _ := sessionHits(t, rig, append(args, "--backend", "openai-chat")...)
	ids := regexp.MustCompile(`"tool_calls":\[\{"index":0,"id":"([^"]+)"`)
	calls, answered := map[string]bool{}, 0
	for _, h := range rig.take() {
		for id := range calls {
			if strings.Contains(h.body, `"tool_call_id":"`+id+`"`) {
				delete(calls, id)
				answered++
			}
		}
		if m := ids.FindStringSubmatch(h.answer); m != nil {
			calls[m[1]] = true
		}
	}
	if answered == 0 || len(calls) > 0 {
		t.Errorf("%d calls were answered by their ids, %d were not", answered, len(calls))
	}
	type step struct {
		session string
		turn    int32
	}
	see := func(rows []record.Request) map[step]parted {
		out := map[step]parted{}
		for _, r := range rows {
			out[step{r.SessionID, r.Turn}] = parted{r.FirstReasoning.Known(), r.FirstContent.Known(), r.FirstTool.Known(), r.ReasoningTokens}
		}
		return out
	}
	wire := see(rows)
	inside := see(runRows(t, args...))
	if len(wire) != len(inside) || len(wire) < 8 {
		t.Fatalf("%d steps over HTTP, %d in process", len(wire), len(inside))
	}
	tools := 0
	for at, w := range wire {
		if inside[at] != w {
			t.Errorf("%+v: %+v over HTTP, %+v in process", at, w, inside[at])
		}
		if !w.reasoning || w.tokens != 6 {
			t.Errorf("%+v: %+v, planned were 6 tokens of reasoning", at, w)
		}
		if w.tool {
			tools++
		}
	}
	if tools != len(wire)-2 {
		t.Errorf("%d of %d answers call tools, all but the two last ones should", tools, len(wire))
	}
	for _, r := range rows {
		if r.PromptTokens != r.PlannedPromptTokens || r.OutputTokens != r.PlannedOutputTokens {
			t.Errorf("session %s, step %d: %d tokens in and %d out, planned %d and %d",
				r.SessionID, r.Turn, r.PromptTokens, r.OutputTokens, r.PlannedPromptTokens, r.PlannedOutputTokens)
		}
	}
}
