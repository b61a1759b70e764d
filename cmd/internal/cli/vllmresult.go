package cli

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"goodput/loadgen/clock"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/report/query"
	"goodput/report/vllm"
)

// writeVLLM writes a run as the result file of vllm bench serve.
func writeVLLM(w io.Writer, dir string, detailed bool) error {
	p, err := recordedPlan(dir)
	if err != nil {
		return err
	}
	if isSweep(dir) {
		return exitf(exitUsage, "%s is a sweep, which keeps trials and no requests: give the directory of a run", dir)
	}
	s, err := vllmSetup(&p)
	if err != nil {
		return err
	}
	r, err := vllm.Load(dir, detailed || p.SaveDetailed)
	if err != nil {
		return err
	}
	if name := r.Manifest.Target[record.TargetModel]; name != "" {
		s.Model = name
	}
	s.NumPrompts = int64(p.NumPrompts)
	if s.NumPrompts == 0 {
		s.NumPrompts = r.Completed + r.Failed
	}
	return vllm.JSON(w, r, s)
}

// vllmSetup is what the result file says of the plan.
func vllmSetup(p *plan.Plan) (*vllm.Setup, error) {
	metrics, err := vllm.ParseMetrics(p.PercentileMetrics)
	if err != nil {
		return nil, fmt.Errorf("--percentile-metrics: %w", err)
	}
	percentiles, err := vllm.ParsePercentiles(p.MetricPercentiles)
	if err != nil {
		return nil, fmt.Errorf("--metric-percentiles: %w", err)
	}
	return &vllm.Setup{
		Backend: p.Backend, Label: p.Label, Model: vllmModel(p),
		RequestRate: float64(p.RequestRate), Burstiness: float64(p.Burstiness), MaxConcurrency: p.MaxConcurrency, Metadata: p.Metadata,
		Metrics: metrics, Percentiles: percentiles,
	}, nil
}

// vllmModel is the model's name, as far as the plan tells it.
func vllmModel(p *plan.Plan) string {
	if !p.Remote() {
		return p.EngineModel
	}
	return p.Model
}

// saveVLLM writes the result file that the plan asks for beside the run.
func saveVLLM(s *session) error {
	p := &s.plan
	if !p.SaveResult && !p.AppendResult {
		return nil
	}
	name := p.ResultFilename
	if name == "" {
		name = vllmName(p, s.facts[record.TargetModel])
	}
	if p.ResultDir != "" {
		if err := os.MkdirAll(p.ResultDir, 0o777); err != nil {
			return fmt.Errorf("--result-dir: %w", err)
		}
		name = filepath.Join(p.ResultDir, name)
	}
	mode := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if p.AppendResult {
		mode = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(name, mode, 0o666)
	if err != nil {
		return fmt.Errorf("--save-result: %w", err)
	}
	if err := writeVLLM(f, s.dir, false); err != nil {
		f.Close()
		return fmt.Errorf("--save-result: %s: %w", name, err)
	}
	return f.Close()
}

// vllmName is the name that vllm bench serve gives its file.
func vllmName(p *plan.Plan, model string) string {
	label := p.Label
	if label == "" {
		label = p.Backend
	}
	rate := p.RequestRate.String()
	if r := float64(p.RequestRate); !p.RequestRate.Inf() && r == float64(int64(r)) {
		rate = strconv.FormatFloat(r, 'f', 1, 64)
	}
	if model == "" {
		model = vllmModel(p)
	}
	capped := ""
	if p.MaxConcurrency > 0 {
		capped = fmt.Sprintf("-concurrency%d", p.MaxConcurrency)
	}
	return fmt.Sprintf("%s-%sqps%s-%s-%s.json", label, rate, capped, path.Base(model), clock.Wall().Format("20060102-150405"))
}

// writeVLLMDefinitions prints what the metrics of vllm bench serve mean, beside ours.
func writeVLLMDefinitions(w io.Writer) error {
	for _, d := range vllm.Definitions() {
		if _, err := fmt.Fprintf(w, "%-18s %s\n%-18s   beside %s: %s\n", d.Name, d.Text, "", d.Ours, d.Differs); err != nil {
			return err
		}
	}
	return nil
}

// writeVLLMColumns prints the figures of a run by our definitions and by those of vllm
// bench serve, in milliseconds.
func writeVLLMColumns(w io.Writer, dir string) error {
	f, err := query.Load(dir)
	if err != nil {
		return err
	}
	r, err := vllm.Load(dir, false)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "run %s\n%-18s %10s %10s %10s %10s   %-18s %10s %10s %10s %10s\n",
		dir, "ours, ms", "n", "mean", "p50", "p99", "vllm's, ms", "n", "mean", "p50", "p99")
	for _, d := range vllm.Definitions() {
		s := r.Series(d.Name)
		m, ok := f.Metric(d.Ours)
		if !ok || m.N == 0 && s.N() == 0 {
			continue
		}
		mean, _, known := s.Moments()
		p50, _ := s.Percentile(50)
		p99, _ := s.Percentile(99)
		fmt.Fprintf(w, "%-18s %10d %10s %10s %10s   %-18s %10d %10s %10s %10s\n",
			d.Ours, m.N, millis(m.Mean, m.N > 0), millis(m.P50, m.N > 0), millis(m.P99, m.N > 0),
			d.Name, s.N(), millis(mean, known), millis(p50, known), millis(p99, known))
	}
	_, err = fmt.Fprintln(w, "goodput report --definitions vllm tells how they differ")
	return err
}

// millis prints nanoseconds as milliseconds, or a dash.
func millis(ns float64, known bool) string {
	if !known {
		return "-"
	}
	return strconv.FormatFloat(ns/1e6, 'f', 3, 64)
}
