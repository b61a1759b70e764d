package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
)

// swept runs a small sweep and returns its exit code and what it prints.
func swept(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Main(Env{
		Args:   append([]string{"sweep", "--num-prompts", "200", "--seeds", "2", "--tolerance", "20%", "--replicas", "1", "--random-input-len", "256", "--random-output-len", "32"}, args...),
		Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" },
	})
	return code, stdout.String(), stderr.String()
}

// The same seed gives the same bytes, whatever else runs at the same time, and the
// recorded plan repeats the sweep.
func TestSweepRepeats(t *testing.T) {
	t.Chdir(t.TempDir())
	slo := []string{"--slo", "ttft p(95) <= 200ms", "--slo", "{tenant=tenant-1} e2e p(90) <= 900ms, error_rate <= 1%", "--goodput", "ttft:300 tpot:40", "--cache-salts", "2"}
	var first string
	for i := range 2 {
		code, out, errs := swept(t, append(slo, "--json", "--out", "run")...)
		if code != exitOK {
			t.Fatalf("exit %d: %s", code, errs)
		}
		if i == 0 {
			first = out
			if err := os.Rename("run", "first"); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(first, out); d != "" {
			t.Errorf("the same sweep differs (-first +second):\n%s", d)
		}
	}
	for _, name := range []string{record.TrialsName, record.KneesName, planName} {
		a, err1 := os.ReadFile(filepath.Join("first", name))
		b, err2 := os.ReadFile(filepath.Join("run", name))
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v %v", name, err1, err2)
		}
	}
	if err := os.Rename("run", "second"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	args := []string{"sweep", "--config", "second/plan.yaml", "--json"}
	if code := Main(Env{Args: args, Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}); code != exitOK || !strings.Contains(out.String(), first[:len(first)-2]) {
		t.Errorf("exit %d: the recorded plan does not repeat the sweep:\n%s", code, cmp.Diff(first, out.String()))
	}
	var parsed struct {
		Knees []struct {
			SLO, Outcome string
			Rate, Lo, Hi *float64
			N            int
		}
		Trials []struct{ Verdict string }
	}
	if err := json.Unmarshal([]byte(first), &parsed); err != nil {
		t.Fatal(err)
	}
	if len(parsed.Knees) != 3 || len(parsed.Trials) < 12 {
		t.Fatalf("%d knees and %d trials", len(parsed.Knees), len(parsed.Trials))
	}
	for _, k := range parsed.Knees {
		if k.Outcome != "ok" || k.Rate == nil || !(*k.Lo <= *k.Rate && *k.Rate <= *k.Hi) || k.N != 200 {
			t.Errorf("%+v", k)
		}
	}
}

func TestSweepOutcomes(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"infeasible", []string{"--slo", "ttft p(95) <= 1ms"}, exitGate, "tightest feasible, for requests that are alone: ttft p(95) <= "},
		{"censored", []string{"--slo", "ttft p(95) <= 60s", "--max-rate", "30", "--start", "20"}, exitOK, "censored: seed 0: the objective holds at the highest rate of the search, 30/s"},
		{"bends", []string{"--points", "4"}, exitOK, "kneedle"},
		{"no objective", []string{"--points", "4"}, exitOK, "sweep-dependent"},
		{"grid", []string{"--method", "grid", "--points", "3", "--slo", "ttft p(95) <= 1s", "--min-rate", "5", "--max-rate", "20"}, exitOK, "         10 "},
		{"tenant that nobody is", []string{"--slo", "{tenant=nobody} ttft p(95) <= 1s"}, exitGate, "slo-infeasible"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := swept(t, append(c.args, "--out", filepath.Join(t.TempDir(), "run"))...)
			if code != c.code || !strings.Contains(out, c.want) {
				t.Errorf("exit %d, want %d and %q:\n%s\n%s", code, c.code, c.want, out, errs)
			}
		})
	}
}

// A grid without an objective has no verdict in any of its accounts.
func TestOpenGrid(t *testing.T) {
	t.Chdir(t.TempDir())
	code, text, errs := swept(t, "--method", "grid", "--min-rate", "5", "--max-rate", "40", "--points", "3", "--json", "--out", "g")
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var got struct {
		Knees  []any
		Trials []struct {
			SLO, Attainment, Goodput *any
			Delivered                *float64
			Good                     int
			Verdict                  string
			Clauses                  []any
		}
		Inflections []any
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Trials) != 6 || len(got.Knees) != 0 || len(got.Inflections) != 3 {
		t.Fatalf("%d trials, %d knees and %d inflections", len(got.Trials), len(got.Knees), len(got.Inflections))
	}
	for _, x := range got.Trials {
		if x.SLO != nil || x.Attainment != nil || x.Goodput != nil || x.Verdict != "none" || len(x.Clauses) != 0 || x.Delivered == nil || x.Good != 200 {
			t.Errorf("a trial without an objective: %+v", x)
		}
	}
	run, err := record.Open("g")
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := run.Trials()
	if err != nil || len(rows) != 6 {
		t.Fatal(len(rows), err)
	}
	for i := range rows {
		if r := &rows[i]; r.SLO != nil || r.Goodput != nil || r.Verdict != "none" || r.Delivered == nil {
			t.Errorf("a row without an objective: %+v", r)
		}
	}
	var out, bad bytes.Buffer
	if code := Main(Env{Args: []string{"report", "g"}, Stdout: &out, Stderr: &bad, Getenv: func(string) string { return "" }}); code != exitOK {
		t.Fatalf("exit %d: %s", code, &bad)
	}
	for _, word := range []string{"attained", "goodput/s", "pass", "verdict"} {
		if strings.Contains(out.String(), word) {
			t.Errorf("the text has %q:\n%s", word, &out)
		}
	}
}

func TestSweepRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"did you mean ttft":                 {"--slo", "tfft p(95) <= 2s"},
		"no single request meets or misses": {"--slo", "ttft mean <= 2s"},
		"give --goodput":                    {"--slo", "attainment >= 95%"},
		"a sweep sets the rate itself":      {"--request-rate", "5"},
		"as long as its --num-prompts take": {"--duration", "5s"},
		"is sessions":                       {"--dataset-name", "agent"},
		"smoke, ci, report":                 {"--preset", "fast"},
		"bisect, grid, ramp":                {"--method", "hill"},
		"not above --min-rate":              {"--min-rate", "5", "--max-rate", "4"},
		"requests have no label phase":      {"--slo", "{phase=warmup} ttft p(95) <= 2s"},
		"of sessions":                       {"--goodput", "sct:5"},
		"it looks for the first miss":       {"--method", "ramp"},
		"outside 50 to":                     {"--num-prompts", "5"},
	} {
		if code, out, errs := swept(t, append(args, "--out", filepath.Join(t.TempDir(), "run"))...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, want %q:\n%s%s", args, code, want, out, errs)
		}
	}
}

// At all rates a seed has the same arrivals, but for the scale of time, and the same
// requests.
func TestTrialsScaleTime(t *testing.T) {
	for _, arrival := range []string{"poisson", "gamma", "weibull", "constant"} {
		p := plan.Default()
		p.Arrival, p.NumPrompts = arrival, 100
		if arrival == "gamma" || arrival == "weibull" {
			p.Burstiness = 0.5
		}
		r, err := newTrialRunner(&Env{}, p, observe.SLO{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.load(7)
		if err != nil {
			t.Fatal(err)
		}
		slow, err1 := s.source(3)
		fast, err2 := s.source(48)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		for range 2000 {
			a, ok1 := slow.Next()
			b, ok2 := fast.Next()
			if off := int64(a.At) - 16*int64(b.At); !ok1 || !ok2 || a.Item != b.Item || off < -16 || off > 16 {
				t.Fatalf("%s: arrival %d at %v with item %d, and 16 times faster at %v with item %d", arrival, a.Seq, a.At, a.Item, b.At, b.Item)
			}
		}
	}
}

// What a sweep printed can be read back from its files, but for the requests that were
// alone; and it has a page.
func TestSweepReadsBack(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, errs := swept(t, "--slo", "ttft p(95) <= 200ms", "--slo", "e2e p(90) <= 1ms", "--out", "s")
	if code != exitGate {
		t.Fatalf("exit %d: %s", code, errs)
	}
	report := func(args ...string) (int, string) {
		var b bytes.Buffer
		code := Main(Env{Args: append([]string{"report"}, args...), Stdout: &b, Stderr: &b, Getenv: func(string) string { return "" }})
		return code, b.String()
	}
	var kept []string
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "alone ") && !strings.Contains(line, "requests that are alone") {
			kept = append(kept, line)
		}
	}
	if code, text := report("s"); code != exitOK || text != strings.Join(kept, "") {
		t.Errorf("exit %d: %s", code, cmp.Diff(strings.Join(kept, ""), text))
	}
	if code, text := report("s", "--format", "json"); code != exitOK || !json.Valid([]byte(text)) {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text := report("s", "--format", "html"); code != exitOK || !strings.Contains(text, ">knee</text>") {
		t.Errorf("exit %d: no page", code)
	}
	if code, text := report("s", "--format", "markdown"); code != exitOK || !strings.HasPrefix(text, "### s\n") {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text := report("s", ".", "--format", "html"); code != exitUsage || !strings.Contains(text, "is no sweep") {
		t.Errorf("exit %d: %s", code, text)
	}
	if code, text := report("s", "--format", "vllm-json"); code != exitUsage || !strings.Contains(text, "is a sweep") {
		t.Errorf("exit %d: %s", code, text)
	}
}
