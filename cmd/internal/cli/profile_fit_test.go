package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/plan"
	"goodput/profiles"
	"goodput/profiles/fit"
)

// sharedFile is a file of the reference data beside the project.
func sharedFile(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the package")
		}
	}
	path := filepath.Join(dir, "..", "shared", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no reference data: %v", err)
	}
	return path
}

// runCLI runs a command line, and returns what it prints and its exit code.
func runCLI(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = Main(Env{Args: args, Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
	return out.String(), errs.String(), code
}

// The shipped profiles are what the fit makes of the calibration tables, but for the
// rounding of other processors.
func TestFitReproducesShippedProfiles(t *testing.T) {
	for _, c := range []struct {
		name, from string
		families   []string
		doubt      float64
	}{
		{"h100-sxm", "kernels", []string{"vllm"}, 1},
		{"h100-sxm@sglang", "profile", []string{"sglang"}, 2},
		{"h100-sxm@trtllm-2023", "profile", []string{"trtllm-2023"}, 1},
		{"a100-sxm-80gb", "kernels", []string{"vllm", "vllm-v0"}, 1},
		{"a100-sxm-80gb@lmdeploy-2023", "profile", []string{"lmdeploy-2023"}, 2},
		{"mi300x@vllm-v0", "profile", []string{"vllm-v0"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kind, _, _ := strings.Cut(c.name, "@")
			table, _, _ := strings.Cut(kind, "-")
			f := fitting{
				points: []string{sharedFile(t, "calibration/points_"+table+".csv")}, families: c.families,
				from: c.from, doubt: c.doubt, name: c.name, date: "2026-11",
			}
			p := plan.Default()
			p.GPU = kind
			q, _, err := f.request(&p)
			if err != nil {
				t.Fatal(err)
			}
			q.CoefficientsOnly = true
			got, err := fit.Fit(q)
			if err != nil {
				t.Fatal(err)
			}
			want, err := profiles.LoadGPU(c.name)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.Fitted {
				k := &got.Fitted[i]
				if g, w := k.Value(&got.GPU), k.Value(&want); math.Abs(g/w-1) > 0.02 {
					t.Errorf("%s is %.4g, shipped is %.4g", k.Name, g, w)
				}
				if s := k.Status(&want); s != profiles.Fitted {
					t.Errorf("%s is shipped as %s", k.Name, s)
				}
			}
		})
	}
}

// The command in the head of a shipped profile makes that file, byte for byte on the kind of
// processor that it was made on: others round differently in the last digits.
func TestFitWritesProfile(t *testing.T) {
	const name = "a100-sxm-80gb@lmdeploy-2023"
	points := sharedFile(t, "calibration/points_a100.csv")
	shipped, err := profiles.Text(name)
	if err != nil {
		t.Fatal(err)
	}
	_, command, found := strings.Cut(string(shipped), "#   goodput ")
	command, _, _ = strings.Cut(command, "\n")
	if !found {
		t.Fatal("the shipped file does not say how it was made")
	}
	file := filepath.Join(t.TempDir(), "fitted.yaml")
	args := strings.Fields(strings.Replace(command, "points_a100.csv", points, 1))
	stdout, stderr, code := runCLI(append(args, "--out", file)...)
	if code != 0 || !strings.Contains(stdout, "held out, a fifth of the configurations at a time  47") {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	made, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOARCH == "amd64" {
		if diff := cmp.Diff(string(shipped), string(made)); diff != "" {
			t.Errorf("(-shipped +made):\n%s", diff)
		}
	}
	got, err := profiles.ReadGPU(file, made)
	if err != nil {
		t.Fatal(err)
	}
	want, err := profiles.LoadGPU(name)
	if err != nil {
		t.Fatal(err)
	}
	if e := got.ITLError; e.Status != profiles.Measured || e.Points != 47 || math.Abs(e.Value-want.ITLError.Value) > 0.01 {
		t.Errorf("error %+v, shipped is %+v", e, want.ITLError)
	}
}

// Runs of engines with one profile, fitted to from another one, are met better than
// by that.
func TestFitToRuns(t *testing.T) {
	dir := t.TempDir()
	args := []string{"profile", "fit", "--gpu", "h100-sxm", "--name", "mine", "--doubt", "3", "--date", "2026-11", "--json", "--engine.max-num-batched-tokens", "2048"}
	for _, rate := range []string{"2", "6", "11"} {
		out := filepath.Join(dir, rate)
		if _, stderr, code := runCLI("run", "--gpu", "a100-sxm-80gb", "--request-rate", rate, "--num-prompts", "100", "--dataset-name", "random",
			"--random-input-len", "512", "--random-output-len", "96", "--random-range-ratio", "0.5", "--out", out); code != 0 {
			t.Fatalf("run: exit code %d: %s", code, stderr)
		}
		args = append(args, "--run", out)
	}
	stdout, stderr, code := runCLI(args...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var r fitReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if !(r.HeldOut.Points >= 8 && r.HeldOut.Median < 0.1) {
		t.Errorf("held out: %+v", r.HeldOut)
	}
	if len(r.Sources) == 0 || len(r.Fitted) < 5 {
		t.Errorf("%d sources left out, %d coefficients", len(r.Sources), len(r.Fitted))
	}
}

// Runs of engines of the vLLM profile, fitted to from TensorRT-LLM's of the same GPU, give the
// steps of the former: the reading of weights and what it takes beside within 5 %.
func TestFitRecoversTheProfileOfRuns(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	args := []string{"profile", "fit", "--gpu", "h100-sxm@trtllm", "--families", "vllm", "--name", "mine", "--doubt", "2", "--date", "2026-11", "--out", file}
	for i, load := range [][3]string{{"1", "256", "64"}, {"20", "256", "64"}, {"60", "256", "128"}, {"8", "1024", "64"}, {"20", "2048", "64"}, {"90", "128", "96"}} {
		out := filepath.Join(dir, string(rune('a'+i)))
		if _, stderr, code := runCLI("run", "--gpu", "h100-sxm", "--request-rate", load[0], "--num-prompts", "120", "--dataset-name", "random",
			"--random-input-len", load[1], "--random-output-len", load[2], "--random-range-ratio", "0.3", "--ignore-eos", "--replicas", "1", "--out", out); code != 0 {
			t.Fatalf("run: exit code %d: %s", code, stderr)
		}
		args = append(args, "--run", out)
	}
	if _, stderr, code := runCLI(args...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	checkRecovered(t, file, 0.05)
}

func TestFitRefusesInput(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stdout, _, code := runCLI("profile", "validate", "--print-points")
	if code != 0 {
		t.Fatal("no points")
	}
	lines := strings.SplitAfter(stdout, "\n")
	few := write("few.csv", strings.Join(lines[:3], ""))
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "give --points, --run or --metrics"},
		{"too few", []string{"--points", few}, "no profile is written"},
		{"no such file", []string{"--points", filepath.Join(dir, "none.csv")}, "--points: "},
		{"no table", []string{"--points", write("bad.csv", "a,b\n1,2\n")}, "bad.csv:1"},
		{"no run", []string{"--run", dir}, "--run: "},
		{"no metrics", []string{"--metrics", write("m.txt", "go_goroutines 3\n")}, "m.txt: no counters of vLLM"},
		{"wild doubt", []string{"--points", few, "--doubt", "0"}, "--doubt: 0 is outside"},
		{"no month", []string{"--points", few, "--date", "May"}, `--date: "May" is no month`},
		{"unknown start", []string{"--points", few, "--from", "moon"}, `--from: "moon" is unknown`},
		{"no kernels", []string{"--points", few, "--gpu", "h200-sxm", "--from", "kernels"}, "no kernel figures of the GPU h200-sxm"},
		{"unknown GPU", []string{"--points", few, "--gpu", "h100"}, "--gpu: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.yaml")
			_, stderr, code := runCLI(append([]string{"profile", "fit", "--out", out}, c.args...)...)
			if code != exitUsage || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d and %q, want %d and %q", code, stderr, exitUsage, c.want)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("a profile was written")
			}
		})
	}
}
