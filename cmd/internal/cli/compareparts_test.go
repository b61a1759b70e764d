package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/record"
	"goodput/report/compare"
)

// compared runs a comparison and returns its exit code, JSON and messages.
func compared(t *testing.T, args ...string) (code int, out []byte, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Main(Env{
		Args:   append([]string{"compare", "--json"}, args...),
		Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" },
	})
	return code, stdout.Bytes(), stderr.String()
}

type pairJSON struct {
	Metric, Agg           string
	Ratio, Difference, Lo *float64
	Conclusive            bool
}

// shared is a load whose prefixes a router may follow.
var shared = []string{
	"--request-rate", "60", "--replicas", "8", "--dataset-name", "shared_prefix", "--shared-prefix-num-groups", "48",
	"--shared-prefix-prompts-per-group", "16", "--shared-prefix-system-prompt-len", "4096", "--shared-prefix-output-len", "128",
	"--engine.num-gpu-blocks", "6000",
}

// A canary by request tells that tokens come as fast with either rule, since both halves
// share the batches, although a pool with one of them alone is much faster.
func TestSplitHidesTheDifference(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	code, out, errs := compared(t, append(shared, "--router", "round-robin", "--router", "prefix-hash", "--seeds", "3", "--split", "request", "--out", dir)...)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var j struct {
		Pairs []pairJSON
		Split struct {
			By    string
			Pairs []pairJSON
		}
	}
	if err := json.Unmarshal(out, &j); err != nil {
		t.Fatal(err)
	}
	of := func(pairs []pairJSON) pairJSON {
		for _, p := range pairs {
			if p.Metric == "tpot" && p.Agg == "p(95)" {
				return p
			}
		}
		t.Fatal("no tpot p(95)")
		return pairJSON{}
	}
	alone, split := of(j.Pairs), of(j.Split.Pairs)
	if !alone.Conclusive || math.Log(*split.Ratio)/math.Log(*alone.Ratio) > 0.5 {
		t.Errorf("tpot p(95) changes to %.3f times with all of the load (conclusive: %v), to %.3f in the split", *alone.Ratio, alone.Conclusive, *split.Ratio)
	}
	halves(t, filepath.Join(dir, "split-0"))
	x, ok, err := compare.ReadIndex(dir)
	if err != nil || !ok || x.Split == nil || len(x.Split.Dirs) != 3 {
		t.Errorf("the index is %+v, %v", x, err)
	}
}

// halves checks that the rows of a split run name both arms, each about half of the time,
// and that those of a session name one.
func halves(t *testing.T, dir string) {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	if err := run.Requests(func(r *record.Request) error { n[r.Arm]++; return nil }); err != nil {
		t.Fatal(err)
	}
	all := n["baseline"] + n["canary"]
	if len(n) != 2 || n["canary"] < all*2/5 || n["canary"] > all*3/5 {
		t.Errorf("rows by arm: %v", n)
	}
}

func TestSplitBySession(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	code, _, errs := compared(t, "--router", "round-robin", "--router", "prefix-hash", "--dataset-name", "agent", "--agent-preset", "smoke",
		"--sessions-rate", "2", "--num-sessions", "60", "--seeds", "1", "--split", "session", "--out", dir)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	run, err := record.Open(filepath.Join(dir, "split-0"))
	if err != nil {
		t.Fatal(err)
	}
	arm, arms := map[string]string{}, map[string]int{}
	if err := run.Requests(func(r *record.Request) error {
		if was, ok := arm[r.SessionID]; ok && was != r.Arm {
			t.Errorf("session %s is of %s and %s", r.SessionID, was, r.Arm)
		}
		arm[strings.Clone(r.SessionID)] = strings.Clone(r.Arm)
		arms[strings.Clone(r.Arm)]++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(arm) != 60 || len(arms) != 2 {
		t.Errorf("%d sessions, rows by arm: %v", len(arm), arms)
	}
}

// Knees of arms are searched with the same seeds, and differ by what the arms do.
func TestCompareKnees(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	script := filepath.Join(t.TempDir(), "slow.yaml")
	write(t, script, "- {at: 0s, slow: 1.2}\n")
	code, out, errs := compared(t, "--arm", "plain", "--arm", "slow faults="+script, "--request-rate", "20", "--num-prompts", "100", "--seeds", "3",
		"--replicas", "1", "--knee", "tpot p(95) <= 12ms", "--knee-preset", "smoke", "--out", dir)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var j struct {
		Arms []struct {
			Knee struct {
				SLO, Outcome string
				Rate, Lo, Hi float64
				N            int
			}
		}
		Pairs []pairJSON
	}
	if err := json.Unmarshal(out, &j); err != nil {
		t.Fatal(err)
	}
	for _, a := range j.Arms {
		if k := a.Knee; k.Outcome != "ok" || !(k.Lo <= k.Rate && k.Rate <= k.Hi) || k.N != 300 || k.SLO != "tpot p(95) <= 12ms" {
			t.Errorf("%+v", k)
		}
	}
	for _, p := range j.Pairs {
		if p.Metric == "knee" && (p.Ratio == nil || *p.Ratio > 0.95 || !p.Conclusive) {
			t.Errorf("engines that are a fifth slower: %+v", p)
		}
	}
	x, _, err := compare.ReadIndex(dir)
	if err != nil || len(x.Knees) != 2 {
		t.Fatalf("%+v, %v", x, err)
	}
	run, err := record.Open(filepath.Join(dir, x.Knees[1].Dir))
	if err != nil {
		t.Fatal(err)
	}
	if rows, found, err := run.Knees(); err != nil || !found || len(rows) != 4 || rows[0].Arm != "slow" {
		t.Errorf("%d rows, %v, %v", len(rows), found, err)
	}
}

// What a comparison printed can be had again from its files, knees and split included.
func TestComparisonIsReportedFromItsFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	code, out, errs := compared(t, "--router", "p2c", "--router", "round-robin", "--request-rate", "40", "--num-prompts", "120", "--seeds", "2",
		"--random-output-len", "32", "--replicas", "2", "--split", "request", "--knee", "ttft p(95) <= 1s", "--knee-preset", "smoke", "--out", dir)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for format, want := range map[string]string{
		"json": string(out), "text": "split by request: ", "markdown": "| round-robin | ttft p95 | ", "html": "<h2 id=\"compared\">Compared</h2>",
	} {
		var got, log bytes.Buffer
		env := Env{Args: []string{"report", dir, "--format", format}, Stdout: &got, Stderr: &log, Getenv: func(string) string { return "" }}
		if code := Main(env); code != exitOK || !strings.Contains(got.String(), want) {
			t.Errorf("%s: exit %d, %s\n%s", format, code, log.String(), cmp.Diff(want, got.String()))
		}
	}
	// A comparison that was cut off is of the seeds that all arms have.
	x, _, err := compare.ReadIndex(dir)
	if err != nil {
		t.Fatal(err)
	}
	x.Runs, x.Split, x.Knees = x.Runs[:3], nil, nil
	if err := x.Write(dir); err != nil {
		t.Fatal(err)
	}
	if s, err := loadComparison(dir); err != nil || len(s.Seeds) != 1 || s.Check() != nil {
		t.Errorf("%v, %v", s, err)
	}
	x.Runs = x.Runs[:1]
	if err := x.Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := loadComparison(dir); err == nil || !strings.Contains(err.Error(), "no seed was run with all 2 arms") {
		t.Error(err)
	}
}

func TestComparePartsRefuse(t *testing.T) {
	for want, args := range map[string][]string{
		"did you mean ttft":            {"--router", "p2c", "--router", "random", "--knee", "tfft p(95) <= 2s"},
		"smoke, ci, report":            {"--router", "p2c", "--router", "random", "--knee", "ttft p(95) <= 2s", "--knee-preset", "fast"},
		"is sessions":                  {"--router", "p2c", "--router", "random", "--dataset-name", "agent", "--sessions-rate", "1", "--num-sessions", "5", "--knee", "ttft p(95) <= 2s"},
		"of two arms, and there are 3": {"--router", "p2c", "--router", "random", "--router", "round-robin", "--split", "request"},
		`"row" is unknown`:             {"--router", "p2c", "--router", "random", "--split", "row"},
		"--split: the requests of random belong to no sessions": {"--router", "p2c", "--router", "random", "--split", "session"},
		"differ in their --router and in not":                   {"--arm", "a", "--arm", "b tp=2", "--split", "request"},
	} {
		dir := filepath.Join(t.TempDir(), "c")
		if !strings.Contains(strings.Join(args, " "), "agent") {
			args = append(args, "--request-rate", "20", "--num-prompts", "50")
		}
		if code, _, errs := compared(t, append(args, "--out", dir)...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, want %q:\n%s", args, code, want, errs)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
