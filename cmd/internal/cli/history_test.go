package cli

import (
	"regexp"
	"strings"
	"testing"

	"goodput/loadgen/plan"
	"goodput/loadgen/record"
)

// deltas are the pieces of an answer: of a call, of a completion, and of one in numbers.
var deltas = map[string]*regexp.Regexp{
	"arguments": regexp.MustCompile(`"arguments":"((?:[^"\\]|\\.)+)"`),
	"text":      regexp.MustCompile(`"text":"([^"]+)"`),
	"token_ids": regexp.MustCompile(`"token_ids":\[([^]]+)\]`),
}

// TestLiveHistoryOverHTTP: each step's body holds what the server has answered to those
// before, and the server's cache then holds the answers too: just as many tokens as the
// plan says, and more than if the planned text is quoted.
func TestLiveHistoryOverHTTP(t *testing.T) {
	if testing.Short() {
		t.Skip("sessions take their time")
	}
	for _, c := range []struct {
		name, field, between string
		args                 []string
	}{
		{"chat, whose answers call tools", "arguments", "", []string{"--backend", "openai-chat", "--agent-history", "live"}},
		{"completions", "text", "", []string{"--agent-history", "live"}},
		{"numbers of tokens", "token_ids", ",", []string{"--agent-history", "live-tokens", "--prompt-token-ids"}},
		{"responses", "delta", "", []string{"--backend", "openai-responses", "--agent-history", "live"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := plan.Default()
			p.EngineNumGPUBlocks = 100_000
			rig := newServeRig(t, p, 20)
			args := append([]string{
				"--dataset-name", "agent", "--agent-preset", "smoke", "--num-sessions", "1",
				"--sessions-rate", "inf", "--ignore-eos", "--agent-cache-scope", "session",
			}, c.args...)
			_, before := sessionHits(t, rig, append(args, "--agent-history", "planned")...)
			rig.take()
			rows, live := sessionHits(t, rig, args...)
			talk := rig.take()
			if len(talk) != len(rows) || len(rows) < 4 {
				t.Fatalf("%d rows, %d requests heard", len(rows), len(talk))
			}
			for i := 1; i < len(talk); i++ {
				said := answerOf(t, c.field, c.between, talk[i-1].answer)
				if !strings.Contains(talk[i].body, said) {
					t.Fatalf("step %d does not quote the answer %q: %.2000s", i, said, talk[i].body)
				}
			}
			if live <= before {
				t.Errorf("%d tokens cached with answers, %d without", live, before)
			}
			for _, r := range rows {
				if r.CachedTokens != r.PlannedCachedTokens {
					t.Errorf("step %d: %d of %d tokens cached, the plan says %d", r.Turn, r.CachedTokens, r.PromptTokens, r.PlannedCachedTokens)
				}
			}
		})
	}
}

// sessionHits is the rows of a run against the rig, and the cached tokens of all.
func sessionHits(t *testing.T, rig *serveRig, args ...string) (rows []record.Request, cached int64) {
	t.Helper()
	rows = runRows(t, append([]string{"--base-url", rig.url}, args...)...)
	for _, r := range rows {
		if r.Outcome != record.OK {
			t.Fatalf("step %d: %v %s", r.Turn, r.Outcome, r.Error)
		}
		cached += int64(r.CachedTokens)
	}
	return rows, cached
}

// answerOf joins what a stream has in one of the fields.
func answerOf(t *testing.T, field, between, stream string) string {
	t.Helper()
	re := deltas[field]
	if field == "delta" {
		re = regexp.MustCompile(`"type":"response.output_text.delta"[^\n]*"delta":"([^"]+)"`)
	}
	var parts []string
	for _, m := range re.FindAllStringSubmatch(stream, -1) {
		parts = append(parts, m[1])
	}
	if len(parts) == 0 {
		t.Fatalf("no %s in %.1000s", field, stream)
	}
	return strings.Join(parts, between)
}
