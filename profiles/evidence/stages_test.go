package evidence_test

import (
	"errors"
	"strings"
	"testing"

	"goodput/profiles/evidence"
)

const (
	stageHeader = "exp,model,hardware,tp,max_num_seqs,max_num_batched_tokens,num_gpu_blocks,system_prompt_len,question_len,output_len,num_system_prompts,stage,rate_rps,duration_s,ttft_mean_ms,e2e_mean_ms,e2e_p90_ms,e2e_p99_ms,itl_mean_ms\n"
	stageRow    = "65,01-ai/Yi-34B,H100,2,128,2048,20793,100,447,248,9,0,2.5,600,46.6,3780,3833,4117,15.08\n"
)

func TestParseStagesRejects(t *testing.T) {
	for _, c := range []struct {
		name, text, field, why string
		line                   int
	}{
		{"empty", "", "", "empty", 1},
		{"no rows", stageHeader, "", "no rows", 1},
		{"unknown column", "speed," + stageHeader + "1," + stageRow, "speed", "no such column", 1},
		{"column twice", strings.Replace(stageHeader, "exp,", "exp,tp,", 1) + "1," + stageRow, "tp", "twice", 1},
		{"column missing", strings.Replace(stageHeader, "tp,", "", 1) + stageRow, "tp", "missing", 1},
		{"field missing", stageHeader + "65,x\n", "", "number of fields", 2},
		{"no number", stageHeader + strings.Replace(stageRow, ",2.5,", ",fast,", 1), "rate_rps", "fast", 2},
		{"part of a token", stageHeader + strings.Replace(stageRow, ",447,", ",44.7,", 1), "question_len", "whole number", 2},
		{"negative", stageHeader + strings.Replace(stageRow, ",46.6,", ",-46.6,", 1), "ttft_mean_ms", "-46.6", 2},
		{"seconds", stageHeader + strings.Replace(stageRow, ",15.08", ",0.015", 1), "itl_mean_ms", "ms", 2},
		{"seconds of E2E", stageHeader + strings.Replace(stageRow, ",3780,", ",3.78,", 1), "e2e_mean_ms", "units", 2},
		{"too many", stageHeader + strings.Replace(stageRow, ",600,", ",90000,", 1) + strings.Replace(stageRow, ",2.5,600,", ",100,90000,", 1), "duration_s", "million", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := evidence.ParseStages("s.csv", strings.NewReader(c.text))
			e, ok := errors.AsType[*evidence.Error](err)
			if !ok || e.Line != c.line || e.Field != c.field || !strings.Contains(e.Why, c.why) {
				t.Errorf("got %v, want line %d, %s: %s", err, c.line, c.field, c.why)
			}
		})
	}
}

func TestStageContradiction(t *testing.T) {
	for name, c := range map[string]struct {
		row  string
		want bool
	}{
		"E2E over tokens":          {stageRow, false},
		"without the first token":  {strings.Replace(stageRow, ",15.08", ",15.11", 1), false},
		"a fifth fewer tokens":     {strings.Replace(stageRow, ",248,", ",310,", 1), true},
		"a long first token in it": {strings.Replace(strings.Replace(stageRow, ",46.6,", ",1046.6,", 1), ",15.08", ",11.07", 1), false},
	} {
		stages, err := evidence.ParseStages("s.csv", strings.NewReader(stageHeader+c.row))
		if err != nil {
			t.Fatal(err)
		}
		if got := stages[0].Contradiction(); (got != "") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func FuzzParseStages(f *testing.F) {
	f.Add(stageHeader + stageRow)
	f.Add(stageHeader + strings.Replace(stageRow, "15.08", "1e-9", 1))
	f.Add("exp\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		stages, err := evidence.ParseStages("s.csv", strings.NewReader(text))
		if err != nil {
			return
		}
		for i := range stages {
			if s := &stages[i]; s.Output < 2 || !(s.ITL > 0) || !(s.Rate*s.Duration > 0) {
				t.Errorf("%+v", s)
			}
		}
	})
}
