package evidence

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	header = "id,source,url_or_repo_path,license,gpu,tp,model_key,dtype,engine,kind,load_mode,batch_or_concurrency,input_len,output_len,context_len,step_time_ms,tpot_ms_mean,output_tok_s,metric_name,metric_value,metric_unit\n"
	step   = "a,lab,repo@1:file,MIT,H100-SXM-80GB,1,llama-3.1-8b,bf16,vllm,step_decode,,8,,,1024,9.5,,,,,\n"
	closed = "b,lab,repo@1:file,MIT,H100-SXM-80GB,1,llama-3.1-8b,bf16,vllm,serving,closed-loop,8,1024,128,,,10,700,,,\n"
	blocks = "c,lab,repo@1:file,MIT,H100-SXM-80GB,1,llama-3.1-8b,bf16,vllm,kv_blocks,,,,,,,,,kv_blocks,7463,blocks\n"
)

func TestParse(t *testing.T) {
	got, err := Parse("t.csv", strings.NewReader(header+step+closed+blocks))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 {
		t.Fatalf("%d rows, want 3", len(got))
	}
	if p := got[0]; p.Kind != StepDecode || p.Batch != 8 || p.ContextLen != 1024 || p.Step != 9.5 || p.OutputLen != 0 || p.Unfit || p.Where() != "t.csv:2" {
		t.Errorf("first row: %+v", p)
	}
	if p := got[1]; p.Load != ClosedLoop || p.TPOT.Typical() != 10 || p.OutputTokS != 700 {
		t.Errorf("second row: %+v", p)
	}
	if p := got[2]; p.Metric != 7463 || p.MetricName != "kv_blocks" {
		t.Errorf("third row: %+v", p)
	}
}

// TestParseRejects changes one thing of a good table at a time.
func TestParseRejects(t *testing.T) {
	for _, c := range []struct {
		name, table string
		line        int
		field, why  string
	}{
		{"empty", "", 1, "", "empty"},
		{"no rows", header, 1, "", "no rows"},
		{"column in seconds", strings.Replace(header, "step_time_ms", "step_time_s", 1) + step, 1, "step_time_s", "use step_time_ms"},
		{"column twice", strings.Replace(header, "output_len", "input_len", 1) + step, 1, "input_len", "twice"},
		{"column missing", strings.Replace(header, "dtype,", "", 1) + step, 1, "dtype", "missing"},
		{"fields missing", header + "a,b\n", 2, "", "number of fields"},
		{"open quote", header + step + "\"a,b\n", 3, "", "quote"},
		{"step in seconds", header + strings.Replace(step, "9.5", "0.0095", 1), 2, "step_time_ms", "in seconds"},
		{"TPOT in seconds", header + strings.Replace(closed, ",10,700", ",0.010,700", 1), 2, "tpot_ms_mean", "in seconds"},
		{"TPOT in microseconds", header + strings.Replace(closed, ",10,700", ",10000000,700", 1), 2, "tpot_ms_mean", "in microseconds"},
		{"throughput per minute", header + strings.Replace(closed, ",10,700", ",10,42000", 1), 2, "output_tok_s", "units"},
		{"with a unit", header + strings.Replace(step, "9.5", "9.5 ms", 1), 2, "step_time_ms", "without a unit"},
		{"negative", header + strings.Replace(step, "9.5", "-9.5", 1), 2, "step_time_ms", "more than 0"},
		{"zero", header + strings.Replace(step, "9.5", "0", 1), 2, "step_time_ms", "more than 0"},
		{"not a number", header + strings.Replace(step, "9.5", "NaN", 1), 2, "step_time_ms", "need a number"},
		{"infinite", header + strings.Replace(step, "9.5", "1e999", 1), 2, "step_time_ms", "need a number"},
		{"half a GPU", header + strings.Replace(step, "GB,1,", "GB,0.5,", 1), 2, "tp", "whole number"},
		{"figure missing", header + strings.Replace(step, "9.5", "", 1), 2, "step_time_ms", "missing"},
		{"no figure at all", header + strings.Replace(closed, ",10,700", ",,", 1), 2, "tpot_ms_mean", "missing"},
		{"no licence", header + strings.Replace(step, "MIT", "", 1), 2, "license", "missing"},
		{"kind", header + strings.Replace(step, "step_decode", "decode", 1), 2, "kind", "step_decode"},
		{"load", header + strings.Replace(closed, "closed-loop", "closed", 1), 2, "load_mode", "closed-loop"},
		{"unit of a metric", header + strings.Replace(blocks, ",blocks", ",GB", 1), 2, "metric_unit", "blocks"},
		{"unknown metric", header + strings.Replace(blocks, ",kv_blocks,7463", ",pages,7463", 1), 2, "metric_name", "unknown"},
		{"the same id", header + step + step, 3, "id", "line 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("t.csv", strings.NewReader(c.table))
			e, ok := errors.AsType[*Error](err)
			if !ok {
				t.Fatalf("got %v, want an *Error", err)
			}
			if e.File != "t.csv" || e.Line != c.line || e.Field != c.field || !strings.Contains(e.Why, c.why) {
				t.Errorf("got %v, want line %d, field %q and a reason with %q", e, c.line, c.field, c.why)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(header + step + closed + blocks)
	f.Add(header)
	f.Add("\ufeff" + header + step)
	f.Add("id,\"so\"\"urce\n")
	f.Fuzz(func(t *testing.T, table string) {
		points, err := Parse("t.csv", strings.NewReader(table))
		if err != nil {
			return
		}
		for i := range points {
			p := &points[i]
			if p.Line < 2 || p.ID == "" || p.License == "" || p.Step < 0 || p.Batch < 0 {
				t.Errorf("accepted %+v", p)
			}
			if b := p.Bucket(); b < 0 || b > 99 {
				t.Errorf("bucket %d", b)
			}
		}
	})
}

func TestParsePublishedTables(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "calibration")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no published tables beside the module: %v", err)
	}
	for name, want := range map[string]int{
		"points_h100.csv": 755, "points_a100.csv": 257, "points_mi300x.csv": 362,
		"ops_h100.csv": 349, "ops_a100.csv": 400, "ops_mi300x.csv": 28,
	} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		points, err := Parse(name, f)
		f.Close()
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if len(points) != want {
			t.Errorf("%s: %d rows, want %d", name, len(points), want)
		}
		for i := range points {
			// What the rule sets aside is not in these files.
			if b := points[i].Bucket(); b < 30 {
				t.Errorf("%s is in bucket %d: the tables hold 30 and more", points[i].ID, b)
			}
		}
	}
}
