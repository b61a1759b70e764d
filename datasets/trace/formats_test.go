package trace_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/datasets/trace"
)

// script writes rows as time, lengths and spans; each distinct key has the number
// of its appearance, private ones a star, and what belongs to a session its number
// and turn.
func script(t *trace.Table) []string {
	names := map[uint64]int{}
	var out []string
	for _, it := range items(t) {
		text := fmt.Sprintf("%v %d>%d", it.At, it.In, it.Out)
		if it.Session > 0 {
			text += fmt.Sprintf(" s%d.%d", it.Session, it.Turn)
		}
		for _, sp := range it.Prompt {
			if _, ok := names[sp.Key]; !ok {
				names[sp.Key] = len(names)
			}
			text += fmt.Sprintf(" %d*%d", names[sp.Key], sp.Tokens)
			if sp.Private {
				text += "*"
			}
		}
		out = append(out, text)
	}
	return out
}

// plans writes sessions as threads of steps.
func plans(t *trace.Table) []string {
	var out []string
	var s datasets.Session
	for i := range t.Sessions() {
		t.Session(i, &s)
		out = append(out, fmt.Sprintf("%s at %v", s.Name, s.At))
		for j, th := range s.Threads {
			text := fmt.Sprintf(" %d of %d, %d to %d:", j, th.Parent, th.Spawn, th.Join)
			for _, st := range th.Steps {
				text += fmt.Sprintf(" %s@%v+%v %d/%d>%d", st.Trigger, st.At, st.Wait, st.Keep, st.In, st.Out)
			}
			out = append(out, text)
		}
	}
	return out
}

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		format  trace.Format
		file    string
		rows    []string
		plans   []string
		skipped trace.Skipped
	}{
		{
			format: "mooncake", file: "aiperf_mooncake_delta_min.jsonl",
			rows: []string{
				"0s 1536>320 s1.0 0*512 1*512 2*512",
				"2.4503s 2624>180 s1.1 0*512 1*512 2*512 3*320 4*512* 5*256*",
			},
			plans: []string{
				"s1 at 0s",
				" 0 of -1, -1 to -1: user@0s+0s 0/1536>320 user@2.4503s+2.4503s 1856/2624>180",
			},
		},
		{
			format: "timed_trace", file: "vllm_timed_trace_min.jsonl",
			rows: []string{
				"0s 40>3 0*16 1*16 2*8*",
				"500ms 48>3 0*16 1*16 3*16*",
			},
		},
		{
			format: "azure", file: "azure_2024_min.csv",
			rows: []string{
				"0s 100>10 0*100*",
				"1.163ms 200>3 1*200*",
				"1.5s 300>1 2*300*",
			},
		},
		{
			format: "burstgpt", file: "burstgpt6_min.csv",
			rows: []string{
				"0s 100>10 0*100*",
				"7s 300>30 1*300*",
			},
			skipped: trace.Skipped{Dropped: 2, Why: "failures, logged without an answer", Disordered: 0},
		},
		{
			format: "burstgpt", file: "burstgpt8_min.csv",
			rows: []string{
				"0s 100>50 s1.0 0*100*",
				"1s 80>5 1*80*",
				"30s 260>70 s1.1 2*260*",
			},
			plans: []string{
				"aaaaaaaa-0000-0000-0000-000000000001 at 0s",
				" 0 of -1, -1 to -1: user@0s+0s 0/100>50 user@30s+26s 0/260>70",
			},
		},
		{
			format: "sharegpt", file: "sharegpt_min.json",
			rows: []string{
				"0s 4>4 s1.0 0*4",
				"0s 12>8 s1.1 0*4 1*4 2*4*",
			},
			plans: []string{
				"1:conv_1 at 0s",
				" 0 of -1, -1 to -1: user@0s+0s 0/4>4 user@0s+0s 8/12>8",
			},
			skipped: trace.Skipped{Dropped: 3, Why: "conversations that do not begin with a human text and its answer", Disordered: 0},
		},
		{
			format: "openai-batch", file: "openai_batch_min.jsonl",
			rows: []string{
				"0s 6>8 0*4* 1*2*",
				"0s 3>4 2*3*",
			},
			skipped: trace.Skipped{Dropped: 1, Why: "requests of a batch to other endpoints than completions", Disordered: 0},
		},
		{
			format: "openai-chat", file: "openai_requests_min.jsonl",
			rows: []string{
				"0s 27>16 0*26* 1*1*",
			},
		},
		{
			format: "custom", file: "vllm_custom_min.jsonl",
			rows: []string{
				"0s 8>256 0*8*",
				"0s 3>5 1*3*",
			},
		},
		{
			format: "weka", file: "weka_relative_min.json",
			rows: []string{
				"0s 400>70 s1.0 0*64 1*64 2*64 3*64 4*64 5*64 6*16*",
				"10s 600>30 s1.1 0*64 1*64 2*64 3*64 4*64 5*64 7*64 8*64 9*64 10*24*",
				"20s 200>20 s1.0 11*64 12*64 13*64 14*8*",
				"20s 210>20 s1.0 11*64 12*64 15*64* 16*18*",
				"24s 300>25 s1.1 11*64 12*64 13*64 17*64* 18*44*",
				"31s 900>40 s1.2 0*64 1*64 2*64 3*64 4*64 5*64 7*64 8*64 9*64 19*64* 20*64* 21*64* 22*64* 23*64* 24*4*",
				"1m35s 330>15 s1.3 0*64 1*64 2*64 25*64* 26*64* 27*10*",
			},
			plans: []string{
				"syn_rel at 0s",
				" 0 of -1, -1 to -1: user@0s+0s 0/400>70 tool@10s+8s 384/600>30 join@31s+2s 576/900>40 user@1m35s+1m1s 192/330>15",
				" 1 of 0, 1 to 2: spawn@20s+7s 0/200>20 tool@24s+3s 192/300>25",
				" 2 of 0, 1 to 2: spawn@20s+7s 0/210>20",
			},
			skipped: trace.Skipped{Disordered: 1},
		},
		{
			format: "weka", file: "weka_absolute_min.json",
			rows: []string{
				"0s 400>70 s1.0 0*64 1*64 2*64 3*64 4*64 5*64 6*16*",
				"10s 600>30 s1.1 0*64 1*64 2*64 3*64 4*64 5*64 7*64 8*64 9*64 10*24*",
				"20s 200>20 s1.0 11*64 12*64 13*64 14*8*",
				"20s 210>20 s1.0 11*64 12*64 15*64* 16*18*",
				"24s 300>25 s1.1 11*64 12*64 13*64 17*64* 18*44*",
				"31s 900>40 s1.2 0*64 1*64 2*64 3*64 4*64 5*64 7*64 8*64 9*64 19*64* 20*64* 21*64* 22*64* 23*64* 24*4*",
				"1m35s 330>15 s1.3 0*64 1*64 2*64 25*64* 26*64* 27*10*",
			},
			plans: []string{
				"syn_abs at 0s",
				" 0 of -1, -1 to -1: user@0s+0s 0/400>70 tool@10s+8s 384/600>30 join@31s+2s 576/900>40 user@1m35s+1m1s 192/330>15",
				" 1 of 0, 1 to 2: spawn@20s+7s 0/200>20 tool@24s+3s 192/300>25",
				" 2 of 0, 1 to 2: spawn@20s+7s 0/210>20",
			},
			skipped: trace.Skipped{Disordered: 1},
		},
		{
			format: "tracelab", file: "tracelab_replay_min.csv",
			rows: []string{
				"0s 512>64 s1.0 0*512",
				"100ms 704>64 s1.1 0*512 1*64 2*128*",
				"200ms 400>48 s2.0 3*400*",
			},
			plans: []string{
				"0 at 0s",
				" 0 of -1, -1 to -1: user@0s+0s 0/512>64 tool@100ms+100ms 576/704>64",
				"1 at 200ms",
				" 0 of -1, -1 to -1: user@0s+0s 0/400>48",
			},
		},
		{
			format: "ragpulse", file: "ragpulse_min.jsonl",
			rows: []string{
				"0s 3112>192 s1.0 0*3112*",
				"8s 50>7 s1.1 1*50*",
				"11.5s 40>6 s2.0 2*40*",
			},
			plans: []string{
				"a at 0s",
				" 0 of -1, -1 to -1: user@0s+0s 0/3112>192 user@8s+0s 0/50>7",
				"b at 11.5s",
				" 0 of -1, -1 to -1: user@0s+0s 0/40>6",
			},
			skipped: trace.Skipped{Dropped: 1, Why: "blank lines", Disordered: 1},
		},
		{
			format: "otel", file: "otlp_json_min.json",
			rows: []string{
				"0s 12>3 s1.0 0*12",
				"3s 20>4 s1.1 0*12 1*3 2*5*",
			},
			plans: []string{
				"conv-1 at 0s",
				" 0 of -1, -1 to -1: user@0s+0s 0/12>3 user@3s+2s 15/20>4",
			},
		},
		{
			format: "otel", file: "otel_flat_min.json",
			rows: []string{
				"0s 100>20 s1.0 0*100",
				"3s 150>30 s1.1 0*100 1*20 2*30",
				"3.5s 70>9 s1.0 3*70*",
				"7s 210>5 s1.2 0*100 1*20 2*30 4*30 5*30*",
			},
			plans: []string{
				"t at 0s",
				" 0 of -1, -1 to -1: user@0s+0s 0/100>20 user@3s+1s 120/150>30 join@7s+1s 180/210>5",
				" 1 of 0, 0 to 2: spawn@3.5s+1.5s 0/70>9",
			},
			skipped: trace.Skipped{Dropped: 1, Why: "spans that are no requests to a model", Disordered: 0},
		},
		{
			format: "goodput", file: "goodput_min.jsonl",
			rows: []string{
				"0s 30>5 s1.0 0*20 1*10",
				"50ns 33>4 s1.0 0*20 1*10 2*3",
				"500ns 40>6 s1.1 0*20 1*10 2*5 3*5*",
				"600ns 9>2 1*9",
			},
			plans: []string{
				"s at 0s",
				" 0 of -1, -1 to -1: user@0s+0s 0/30>5 join@500ns+100ns 35/40>6",
				" 1 of 0, 0 to 1: spawn@50ns+0s 33/33>4",
			},
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			set := openTable(t, c.format, c.file)
			if diff := cmp.Diff(c.rows, script(set)); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.plans, plans(set)); diff != "" {
				t.Errorf("sessions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.skipped, set.Skipped()); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
			if got, err := trace.Detect(filepath.Join("testdata", c.file)); err != nil || got != c.format {
				t.Errorf("told as %q, %v", got, err)
			}
		})
	}
}

func openTable(t testing.TB, format trace.Format, file string) *trace.Table {
	t.Helper()
	set, err := trace.Open(format, filepath.Join("testdata", file), trace.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestServeGen draws windows by their rates, and lengths by their shares.
func TestServeGen(t *testing.T) {
	set := openTable(t, trace.ServeGen, "client-trace.csv")
	checkSet(t, set)
	first, short, whole := 0, 0, items(set)
	for _, it := range whole {
		if it.At < 600*time.Second {
			first++
			if it.In != 100 && it.In != 200 || it.Out != 10 {
				t.Errorf("lengths %d and %d", it.In, it.Out)
			}
		} else if it.In != 300 || it.Out != 20 && it.Out != 1 {
			t.Errorf("lengths %d and %d in the last window", it.In, it.Out)
		}
		if it.In == 100 {
			short++
		}
	}
	if first != 30 || len(whole) != 36 || short < 5 || short > 25 {
		t.Errorf("%d requests, %d in the first window, %d short", len(whole), first, short)
	}
	if _, err := trace.Open(trace.ServeGen, write(t, "alone-trace.csv", "0,1,1,Gamma,1,1\n"), trace.Options{}); err == nil || !strings.Contains(err.Error(), "found 0 files") {
		t.Errorf("without lengths: %v", err)
	}
}

// TestWrongFormat: reading a file by another format's name says which it looks like.
func TestWrongFormat(t *testing.T) {
	for file, formats := range map[string][2]trace.Format{
		"azure_2023_min.csv":         {trace.Mooncake, trace.Azure},
		"mooncake_min.jsonl":         {trace.TimedTrace, trace.Mooncake},
		"vllm_timed_trace_min.jsonl": {trace.Mooncake, trace.TimedTrace},
		"burstgpt8_min.csv":          {trace.Azure, trace.BurstGPT},
		"tracelab_replay_min.csv":    {trace.BurstGPT, trace.TraceLab},
		"sharegpt_min.json":          {trace.Weka, trace.ShareGPT},
		"otlp_json_min.json":         {trace.Weka, trace.OTel},
		"weka_relative_min.json":     {trace.OTel, trace.Weka},
		"openai_batch_min.jsonl":     {trace.Chat, trace.Batch},
		"ragpulse_min.jsonl":         {trace.TimedTrace, trace.RAGPulse},
		"goodput_min.jsonl":          {trace.Custom, trace.Native},
	} {
		path := filepath.Join("testdata", file)
		_, err := trace.Open(formats[0], path, trace.Options{})
		want := fmt.Sprintf("the file looks like %s", formats[1])
		if err == nil || !strings.HasPrefix(err.Error(), path+":") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s read as %s: %v, want %q", file, formats[0], err, want)
		}
	}
}

func TestSkipBadRows(t *testing.T) {
	set, err := trace.Open(trace.Mooncake, write(t, "m.jsonl", string(readFile(t, "testdata/mooncake_bad.jsonl"))+
		`{"timestamp":3,"input_length":5,"output_length":1,"hash_ids":[1]}`), trace.Options{SkipBadRows: true})
	if err != nil {
		t.Fatal(err)
	}
	if s := set.Skipped(); set.Len() != 1 || s.Bad != 6 || !strings.Contains(s.First, ":1: hash_ids: found 2 ids") {
		t.Errorf("%d rows, skipped %+v", set.Len(), s)
	}
	_, err = trace.Open(trace.Mooncake, "testdata/mooncake_bad.jsonl", trace.Options{SkipBadRows: true})
	if err == nil || !strings.Contains(err.Error(), "all 6 rows are bad, the first: ") {
		t.Errorf("nothing but bad rows: %v", err)
	}
}

// TestBadRows reads bad rows of each format; every message names line and field.
func TestBadRows(t *testing.T) {
	const lab = "session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n"
	for _, c := range []struct {
		name   string
		format trace.Format
		text   string
		want   string
	}{
		{"seconds in minutes", trace.BurstGPT, "Timestamp,Request tokens,Response tokens\n1:30,5,5\n", `:2: Timestamp: found "1:30"`},
		{"answer without a prompt", trace.BurstGPT, "Timestamp,Request tokens,Response tokens\n1,0,5\n", ":2: Request tokens: found 0"},
		{"short row", trace.BurstGPT, "Timestamp,Request tokens,Response tokens\n1,0\n", ":2: row: found 2 fields"},
		{"kept too much", trace.TraceLab, lab + "a,0,0,10,5,0\na,1,16,1,1,0\n", ":3: row: found 16 tokens kept in session a, expected at most the 15"},
		{"negative wait", trace.TraceLab, lab + "a,0,0,10,5,-1\n", `:2: tool_wait_after_ms: found "-1"`},
		{"no session column", trace.TraceLab, "round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n", ":1: header: found both or none of session_id and id"},
		{"delta without delay", trace.Mooncake, `{"session_id":"a","timestamp":0,"input_length":2,"output_length":1}` + "\n" + `{"session_id":"a","input_length":2,"output_length":1}`, `:2: delay: found ""`},
		{"mixed dialects", trace.Mooncake, `{"session_id":"a","timestamp":0,"input_length":2,"output_length":1}` + "\n" + `{"timestamp":0,"input_length":2,"output_length":1,"hash_ids":[1]}`, ":2: session_id: found a row without a session"},
		{"blocks of sessions", trace.Mooncake, `{"session_id":"a","timestamp":0,"input_length":2,"output_length":1,"hash_ids":[1,2]}`, ":1: hash_ids: found 2 ids, expected 1"},
		{"no id", trace.Weka, "\n\n{\"requests\":[]}", ":3: row: found no id"},
		{"blocks of a session", trace.Weka, `{"id":"a","block_size":64,"requests":[{"t":0,"in":200,"out":1,"hash_ids":[1]}]}`, ":1: hash_ids: found 1 ids"},
		{"time in text", trace.Weka, `{"id":"a","block_size":64,"requests":[{"t":"0"}]}`, ":1: requests.t: found a JSON string"},
		{"cut", trace.Weka, `{"id":"a",`, ":1: row: found the end of the file within a JSON value"},
		{"conversation in a string", trace.ShareGPT, "[\n\"x\"]", ":2: row: found a JSON string, expected an object"},
		{"no text", trace.ShareGPT, `[{"id":1}]`, ":1: conversations: found none"},
		{"no prompt", trace.Custom, `{"promt":"a"}`, ":1: prompt: found none"},
		{"negative length", trace.Chat, `{"messages":[{"role":"user","content":"a"}],"max_tokens":-1}`, ":1: max_tokens: found -1"},
		{"no messages", trace.Chat, `{}`, ":1: messages: found none"},
		{"no body", trace.Batch, `{"custom_id":"a"}`, ":1: row: found"},
		{"number for a time", trace.RAGPulse, `{"timestamp":82,"input_length":1,"output_length":1,"hash_ids":{},"session_id":""}`, ":1: timestamp: found a JSON number, expected a string"},
		{"no spans", trace.OTel, `{"a":1}`, ":1: row: found neither spans nor resourceSpans"},
		{"span without times", trace.OTel, `{"spans":[{"name":"chat x"}]}`, ":1: start_time: span"},
		{"version", trace.Native, `{"goodput_trace":2}`, ":1: goodput_trace: found version 2"},
		{"sum", trace.Native, "{\"goodput_trace\":1}\n" + `{"in":5,"out":1,"append":[[1,4]]}`, ":2: append: found 4 tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "file", c.text)
			_, err := trace.Open(c.format, path, trace.Options{})
			if err == nil || !strings.HasPrefix(err.Error(), path+c.want) {
				t.Errorf("got %v, want %s%s", err, path, c.want)
			}
		})
	}
}
