package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recipesChecked is what the check of .ci/duckdb/recipes.mjs prints.
type recipesChecked struct {
	Recipes map[string]int `json:"recipes"` // rows of each that the report has, too
	Figures int            `json:"figures"`
	Wrong   []string       `json:"wrong"`
}

// recipes runs those of a guide on a directory, and holds them against a report.
func recipes(t *testing.T, guide, dir, report string) recipesChecked {
	t.Helper()
	script := filepath.Join("..", "..", ".ci", "duckdb")
	if _, err := os.Stat(filepath.Join(script, "node_modules")); err != nil {
		t.Fatalf("DuckDB is not installed: run npm install in .ci/duckdb (%v)", err)
	}
	cmd := command(t, "node", filepath.Join(script, "recipes.mjs"), filepath.Join("..", "..", guide), dir, report)
	var diag bytes.Buffer
	cmd.Stderr = &diag
	out, err := cmd.Output()
	var c recipesChecked
	if e := json.Unmarshal(out, &c); e != nil {
		t.Fatalf("%s on %s: %v, %v\n%s%s", guide, dir, err, e, out, diag.Bytes())
	}
	for _, w := range c.Wrong {
		t.Errorf("%s on %s: %s", guide, filepath.Base(dir), w)
	}
	return c
}

// printed runs goodput and keeps what it prints in a file.
func printed(t *testing.T, args ...string) (name string) {
	t.Helper()
	var diag bytes.Buffer
	cmd := command(t, "goodput", args...)
	cmd.Stderr = &diag
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("goodput %s: %v\n%s", strings.Join(args, " "), err, diag.Bytes())
	}
	name = filepath.Join(t.TempDir(), "printed.json")
	if err := os.WriteFile(name, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestE2ERecipes: each recipe of the documents gives the figures of the report, read from
// the same files by DuckDB, and each has rows in one of the runs.
func TestE2ERecipes(t *testing.T) {
	endToEnd(t, "node")
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	faults := at("faults.yaml")
	if err := os.WriteFile(faults, []byte("- {at: 3s, for: 2s, replica: 1, http: 503}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs := map[string][]string{
		"classes": {
			"run", "--duration", "20s", "--replicas", "2",
			"--class", "chat request-rate=8 dataset-name=prefix_repetition goodput=ttft:60", "--class", "batch request-rate=2 random-input-len=4096 goodput=e2el:20000",
		},
		"agent": {"run", "--dataset-name", "agent", "--agent-preset", "smoke", "--sessions-rate", "0.5", "--num-sessions", "40", "--goodput", "ttft:100"},
		"retries": {
			"run", "--request-rate", "40", "--num-prompts", "500", "--replicas", "3", "--faults", faults, "--retries", "2", "--warmup", "20req",
			"--random-output-len", "64", "--goodput", "ttft:60", "--max-error-rate", "1",
		},
		"speculation": {"run", "--request-rate", "10", "--num-prompts", "100", "--engine.speculative-method", "eagle", "--engine.num-speculative-tokens", "3", "--random-output-len", "64"},
		"knee":        {"sweep", "--replicas", "2", "--preset", "smoke", "--slo", "ttft p(95) <= 2s, tpot p(95) <= 50ms", "--slo", "e2e p(90) <= 3s"},
	}
	rows := map[string]int{}
	take := func(dir, report string) {
		for _, guide := range []string{"README.md", filepath.Join("report", "RECIPES.md")} {
			for id, n := range recipes(t, guide, dir, report).Recipes {
				rows[id] += n
			}
		}
	}
	for name, args := range runs {
		dir := at(name)
		printed(t, append(args, "--out", dir)...)
		take(dir, printed(t, "report", dir, "--format", "json"))
	}
	dir := at("arms")
	take(dir, printed(t, "compare", "--router", "least-outstanding", "--router", "round-robin", "--router", "random", "--request-rate", "80", "--num-prompts", "300",
		"--seeds", "3", "--random-output-len", "64", "--replicas", "4", "--goodput", "ttft:60", "--json", "--out", dir))

	// Over the network, with spans.
	spans := freeAddr(t)
	engines := serve(t, 1, "--replicas", "2", "--otlp-traces-endpoint", "http://"+spans+"/v1/traces")
	dir = at("spans")
	run(t, "--base-url", "http://"+engines.addrs[0], "--num-prompts", "40", "--request-rate", "20", "--random-input-len", "64", "--random-output-len", "16",
		"--ignore-eos", "--otlp-http-listen", spans, "--out", dir)
	take(dir, printed(t, "report", dir, "--format", "json"))

	for id, n := range rows {
		if n == 0 {
			t.Errorf("no run has rows for the recipe %q, so that nothing is known of it", id)
		}
	}
	if len(rows) < 25 {
		t.Errorf("only %d recipes were found: %v", len(rows), rows)
	}
	t.Logf("rows compared: %v", rows)
}
