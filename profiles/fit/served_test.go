package fit

import (
	"math"
	"strings"
	"testing"

	"goodput/profiles"
)

func endpoint(t testing.TB) *Endpoint {
	t.Helper()
	m, err := profiles.LoadModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	return &Endpoint{Source: "a server", Family: "vllm", Version: "vllm@0.19", Overlap: true, Model: m, TP: 1, Budget: 8192}
}

// Twenty clients, each answered ten times in a row, 10 ms a token after 50 ms.
func TestRequests(t *testing.T) {
	var served []Served
	for client := range 20 {
		at := float64(client) * 0.01
		for range 10 {
			s := Served{Sent: at, First: at + 0.05, Prompt: 512, Cached: 100, Output: 101}
			s.Last = s.First + 1
			served = append(served, s)
			at = s.Last
		}
	}
	served = append(served, Served{Sent: 2, First: 1, Last: 3, Prompt: 5, Output: 9}, Served{Sent: 1, First: 2, Last: 3, Prompt: 5, Output: 1})
	points, drops := Requests(endpoint(t), served)
	if len(points) < 2 {
		t.Fatalf("points %v, left out %v", points, drops)
	}
	p := points[len(points)-2]
	if p.Kind != OpenLoop || math.Abs(p.Seconds-0.01) > 1e-9 || math.Abs(p.Batch-19) > 1.5 || math.Round(p.Input) != 512 || math.Round(p.Cached) != 100 || math.Round(p.Output) != 101 {
		t.Errorf("time per token: %+v", p)
	}
	if p.Others < 10 || p.Others > 20 { // fewer at either end of the run
		t.Errorf("%v others joined", p.Others)
	}
	if f := points[len(points)-1]; f.Kind != FirstToken || math.Abs(f.Seconds-0.05) > 1e-9 {
		t.Errorf("first token: %+v", f)
	}
	left := 0
	for _, d := range drops {
		left += d.Rows
	}
	var reasons []string
	for _, d := range drops {
		reasons = append(reasons, d.Why)
	}
	if text := strings.Join(reasons, "; "); left < 2 || !strings.Contains(text, "not in order") || !strings.Contains(text, "fewer than two tokens") {
		t.Errorf("left out: %v", drops)
	}
}

const exposition = `# HELP vllm:time_to_first_token_seconds Histogram of time to first token in seconds.
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.02",model_name="a}b"} 3.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="a}b"} 10.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="a}b"} 100.0
vllm:inter_token_latency_seconds_sum{engine="0"} 250.0
vllm:inter_token_latency_seconds_count{engine="0"} 25000.0
vllm:request_queue_time_seconds_sum 2
vllm:request_queue_time_seconds_count 100
vllm:request_prompt_tokens_sum 51200
vllm:request_prompt_tokens_count 100
vllm:generation_tokens_total 25600
vllm:iteration_tokens_total_count 3200 1700000000000
vllm:num_requests_running NaN
python_info{version="3.12"} 1.0
`

func TestMetrics(t *testing.T) {
	total, err := ReadMetrics(strings.NewReader(exposition))
	if err != nil {
		t.Fatal(err)
	}
	twice, err := ReadMetrics(strings.NewReader(strings.ReplaceAll(exposition, "_sum", "_sum")))
	if err != nil {
		t.Fatal(err)
	}
	points, drops := Readings(endpoint(t), []Totals{total})
	if len(points) != 2 || len(drops) != 0 {
		t.Fatalf("points %v, left out %v", points, drops)
	}
	p := points[0]
	if p.Kind != OpenLoop || p.Batch != 8 || p.Input != 512 || p.Output != 256 || p.Seconds != 0.01 {
		t.Errorf("%+v", p)
	}
	// 100 ms, less 20 ms in the queue.
	if f := points[1]; f.Kind != FirstToken || math.Abs(f.Seconds-0.08) > 1e-12 {
		t.Errorf("%+v", f)
	}
	// Nothing happened between two equal readings, and before an earlier one.
	points, drops = Readings(endpoint(t), []Totals{total, twice})
	if len(points) != 0 || len(drops) != 1 {
		t.Errorf("points %v, left out %v", points, drops)
	}
}

func TestReadMetricsRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "no counters of vLLM"},
		{"another server", "go_goroutines 5\n", "no counters of vLLM"},
		{"no value", "# x\nvllm:generation_tokens_total\n", "line 2"},
		{"no number", "vllm:generation_tokens_total many\n", `line 1: vllm:generation_tokens_total: "many" is no number`},
		{"negative", "vllm:generation_tokens_total -1\n", "line 1: vllm:generation_tokens_total is -1"},
		{"open labels", "vllm:generation_tokens_total{a=\"}\" 1\n", "do not end"},
		{"too many fields", "vllm:generation_tokens_total 1 2 3\n", "3 fields"},
		{"HTML", "<html>\n", "line 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ReadMetrics(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func FuzzReadMetrics(f *testing.F) {
	f.Add(exposition)
	f.Add("vllm:generation_tokens_total{a=\"\\\"}\"} 1e300\nvllm:generation_tokens_total 1e308\n")
	f.Add("{ 1")
	f.Fuzz(func(t *testing.T, text string) {
		total, err := ReadMetrics(strings.NewReader(text))
		if err != nil {
			return
		}
		points, _ := Readings(endpoint(t), []Totals{total})
		for _, p := range points {
			if !(p.Seconds > 0) || !(p.Batch >= 1) || !(p.Input >= 1) || !(p.Output >= 1) {
				t.Errorf("an impossible point: %+v", p)
			}
		}
	})
}
