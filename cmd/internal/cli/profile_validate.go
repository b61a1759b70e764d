package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goodput/fakeengine/accuracy"
	"goodput/profiles"
	"goodput/profiles/evidence"
)

// validation is what profile validate was asked for.
type validation struct {
	points, profile     string
	stages              string
	html                string
	gpus                []string
	asJSON, printPoints bool
}

// maxPoints bounds a table of points, in bytes: a hundred times the embedded one.
const maxPoints = 16 << 20

func newProfileValidate(env *Env) *cobra.Command {
	var v validation
	c := &cobra.Command{
		Use:   "validate",
		Short: "compare predictions with published measurements",
		Long: `Validate predicts what others have measured on real GPUs and says how far off it is.
Single steps come from the step-time form; TPOT, throughput and TTFT from running the
engine in virtual time with as many requests in flight as were measured; offline
batches from running it on all of them at once; KV blocks from the memory arithmetic.

Errors are relative to the measured figure. Bias is the median error with its sign:
below 0, predictions are too small. Rows beyond what the measurements behind a profile
had (its "covered" section) are listed apart, as unvalidated, and count for no bound.
Rows that can't be predicted are counted with the reason.

The exit code is 1 when a bound is exceeded: the median absolute error of steps and
TPOT may be 9 % on h100-sxm (engines of 2024 and later), 12 % on a100-sxm-80gb and 8 %
on mi300x, the 90th percentile 25 %, 34 % and 17 %; of throughput the median may be
15 % on h100-sxm; no KV block count there may be off by more than 3 %.

--stages compares open-loop stages instead, each replayed through an engine of its
settings with the rules of the version that it was measured with (column engine; without
one, vllm@0.15): means of TTFT and of E2E over tokens may be off by 12 %. Requests come at
random instants, as many as rate and duration give, and send as many prompts in turn as
column distinct_prompts says (without one, 100): inference-perf's load of type constant
with a shared prefix. A time per token that contradicts its own E2E and length of answers
is marked, and E2E stands in for it.

Without --points it uses an embedded table of some hundred rows, all of sources under
open licences, each with its address. Of those, a profile may have been fitted on some;
its errors on rows that it was not fitted on are in goodput profile show.`,
		Example: `  goodput profile validate
  goodput profile validate --gpu mi300x --html mi300x.html
  goodput profile validate --print-points > points.csv
  goodput profile validate --points points.csv --json
  goodput profile validate --profile fitted.yaml
  goodput profile validate --stages open-loop.csv`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return v.run(env) },
	}
	c.Flags().StringVar(&v.points, "points", "", "CSV of measurements, in the columns of --print-points; empty: the embedded ones")
	c.Flags().StringVar(&v.stages, "stages", "", "CSV of open-loop stages to compare instead: exp, model, hardware, tp, lengths, rate_rps, ttft_mean_ms, itl_mean_ms, …")
	c.Flags().StringVar(&v.profile, "profile", "", "profile to validate, a YAML file, in place of the embedded one of its name")
	c.Flags().StringSliceVar(&v.gpus, "gpu", nil, "GPU profiles to validate; empty: all that have measurements")
	c.Flags().BoolVar(&v.asJSON, "json", false, "print everything as JSON, each comparison included")
	c.Flags().StringVar(&v.html, "html", "", "also write one self-contained HTML file with predicted-over-measured plots")
	c.Flags().BoolVar(&v.printPoints, "print-points", false, "print the embedded measurements as CSV and stop")
	return c
}

func (v *validation) run(env *Env) error {
	if v.printPoints {
		text, err := evidence.Text()
		if err != nil {
			return err
		}
		_, err = env.Stdout.Write(text)
		return err
	}
	if v.stages != "" {
		return v.runStages(env)
	}
	for _, name := range v.gpus {
		if !slices.Contains(gpuKinds(), name) {
			return exitf(exitUsage, "--gpu: no GPU profile %q: use one of %s (each row is compared with the profile of its kind of engine)", name, strings.Join(gpuKinds(), ", "))
		}
	}
	points, err := v.load()
	if err != nil {
		return err
	}
	own, err := v.own()
	if err != nil {
		return err
	}
	if len(v.gpus) > 0 {
		if points = accuracy.On(points, v.gpus); len(points) == 0 {
			return exitf(exitUsage, "--points: no row was measured on %s", strings.Join(v.gpus, " or "))
		}
	}
	compared, missed, err := accuracy.Compare(points, own)
	if err != nil {
		return fmt.Errorf("--points: %w", err)
	}
	r := newAccuracyReport(compared, missed)
	if r.Compared == 0 {
		return exitf(exitUsage, "--points: none of the %d rows can be compared: %s", len(points), r.reasons())
	}
	if v.html != "" {
		if err := writeWhole(v.html, r.page); err != nil {
			return exitf(exitUsage, "--html: %w", err)
		}
	}
	if v.asJSON {
		err = writeJSON(env.Stdout, r)
	} else {
		err = r.text(env.Stdout)
	}
	if err != nil {
		return err
	}
	return r.failure()
}

// gpuKinds are the GPUs, whatever the engine.
func gpuKinds() []string {
	return slices.DeleteFunc(profiles.GPUs(), func(name string) bool { return strings.Contains(name, "@") })
}

// maxProfile bounds a profile, in bytes.
const maxProfile = 1 << 20

// own reads the profile that was given; nil: none was. Only its GPU is validated.
func (v *validation) own() (*profiles.GPU, error) {
	if v.profile == "" {
		return nil, nil
	}
	if len(v.gpus) > 0 {
		return nil, exitf(exitUsage, "--gpu: the profile of --profile says what GPU it is for: give one of the two")
	}
	text, err := readLimited(v.profile, maxProfile)
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	g, err := profiles.ReadGPU(v.profile, text)
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	if !slices.Contains(profiles.GPUs(), g.Name) {
		return nil, exitf(exitUsage, "--profile: %s: name: %q is no GPU with measurements: use one of %s", v.profile, g.Name, strings.Join(profiles.GPUs(), ", "))
	}
	kind, _, _ := strings.Cut(g.Name, "@") // the rest is the engines
	v.gpus = []string{kind}
	return &g, nil
}

func (v *validation) load() ([]evidence.Point, error) {
	if v.points == "" {
		return evidence.Published()
	}
	text, err := readLimited(v.points, maxPoints)
	if err != nil {
		return nil, fmt.Errorf("--points: %w", err)
	}
	points, err := evidence.Parse(v.points, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("--points: %w", err)
	}
	return points, nil
}

// writeWhole makes the file only if all of it can be written.
func writeWhole(name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

// failure is the error of exceeded bounds; nil: there are none.
func (r *accuracyReport) failure() error {
	var errs []string
	for i := range r.Bounds {
		if b := &r.Bounds[i]; b.Verdict == accuracy.Exceeded {
			errs = append(errs, fmt.Sprintf("%s %s: %s, want %s", b.GPU, b.Name, b.reached(), b.limits()))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &exitError{exitGate, errors.New("bounds exceeded: " + strings.Join(errs, "; "))}
}
