package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const prometheusConfig = `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
  - job_name: engines
    static_configs: [{targets: [TARGETS]}]
`

// The rules are what an endpoint picker of the Gateway API inference extension goes by
// (its model server protocol), and what dashboards of vLLM compute.
const prometheusRules = `
groups:
  - name: picker
    rules:
      - {record: picker:queue, expr: 'sum by (instance) (vllm:num_requests_waiting)'}
      - {record: picker:running, expr: 'sum by (instance) (vllm:num_requests_running)'}
      - {record: picker:kv, expr: 'max by (instance) (vllm:kv_cache_usage_perc)'}
      - {record: picker:block_size, expr: 'count by (instance, block_size, num_gpu_blocks) (vllm:cache_config_info)'}
      - {record: picker:lora, expr: 'max by (instance, max_lora, running_lora_adapters, waiting_lora_adapters) (vllm:lora_requests_info)'}
      - {record: engine:hits, expr: 'sum(vllm:prefix_cache_hits_total) / sum(vllm:prefix_cache_queries_total)'}
      - {record: engine:ttft, expr: 'histogram_quantile(0.95, sum by (le) (vllm:time_to_first_token_seconds_bucket))'}
      - {record: engine:done, expr: 'sum(vllm:request_success_total{finished_reason="length"})'}
`

// TestE2EPrometheus has a real Prometheus scrape the engines and evaluate rules.
func TestE2EPrometheus(t *testing.T) {
	endToEnd(t)
	if _, err := exec.LookPath("prometheus"); err != nil {
		t.Skip("prometheus is not installed: .ci/run does, where it can be had")
	}
	const n = 60
	engines := serve(t, 2, "--replicas", "2", "--per-replica-ports", "--engine.enable-lora", "--lora-modules", "a*4")
	addr, dir := freeAddr(t), t.TempDir()
	for name, text := range map[string]string{
		"prometheus.yml": strings.ReplaceAll(prometheusConfig, "TARGETS", strings.Join(engines.addrs, ", ")), "rules.yml": prometheusRules,
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := command(t, "prometheus", "--config.file="+dir+"/prometheus.yml", "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+addr, "--log.level=warn")
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	waitFor(t, addr)
	for _, a := range engines.addrs {
		_, code := run(t, "--base-url", "http://"+a, "--dataset-name", "random", "--random-input-len", "64", "--random-output-len", "8",
			"--num-prompts", fmt.Sprint(n/2), "--request-rate", "20", "--ignore-eos", "--lora-modules", "a*4", "--out", t.TempDir()+"/run")
		if code != 0 && code != 4 {
			t.Fatalf("exit %d", code)
		}
	}
	// Until the rules have seen the end of the load.
	if got := eventually(t, addr, "engine:done", func(v []series) bool { return len(v) == 1 && v[0].value == n }); len(got) != 1 {
		t.Errorf("engine:done is %v", got)
	}
	for _, q := range []struct {
		query string
		want  int // series
		holds func(s series) bool
	}{
		{"up", 2, func(s series) bool { return s.value == 1 }},
		{"picker:queue", 2, func(s series) bool { return s.value == 0 }},
		{"picker:running", 2, func(s series) bool { return s.value == 0 }},
		{"picker:kv", 2, func(s series) bool { return s.value >= 0 && s.value <= 1 }},
		{"picker:block_size", 2, func(s series) bool { return s.labels["block_size"] == "16" && s.labels["num_gpu_blocks"] != "" }},
		{"picker:lora", 2, func(s series) bool { return s.labels["max_lora"] == "1" && s.value > 1e9 }},
		{"engine:hits", 1, func(s series) bool { return s.value >= 0 && s.value < 1 }},
		{"engine:ttft", 1, func(s series) bool { return s.value > 0 && s.value < 10 }},
	} {
		got := eventually(t, addr, q.query, func(v []series) bool { return len(v) >= q.want })
		if len(got) < q.want {
			t.Errorf("%s has %d series, want %d: %v", q.query, len(got), q.want, got)
		}
		for _, s := range got {
			if !q.holds(s) {
				t.Errorf("%s is %+v", q.query, s)
			}
		}
	}
}

// series is one result of a query.
type series struct {
	labels map[string]string
	value  float64
}

// eventually asks until the answer is as wanted, for up to a minute, and returns the last.
func eventually(t *testing.T, addr, query string, done func([]series) bool) []series {
	t.Helper()
	var last []series
	for deadline := time.Now().Add(time.Minute); ; {
		got, err := ask(addr, query)
		if err == nil {
			if last = got; done(got) {
				return got
			}
		}
		if time.Now().After(deadline) {
			t.Logf("%s: %v, %v", query, last, err)
			return last
		}
		<-time.NewTimer(250 * time.Millisecond).C
	}
}

func ask(addr, query string) ([]series, error) {
	resp, err := http.Get("http://" + addr + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var body struct {
		Status string
		Error  string
		Data   struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return nil, err
	}
	if body.Status != "success" {
		return nil, errors.New(body.Error)
	}
	var out []series
	for _, r := range body.Data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, series{r.Metric, v})
	}
	return out, nil
}
