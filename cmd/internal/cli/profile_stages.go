package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"goodput/fakeengine/accuracy"
	"goodput/profiles/evidence"
)

// stagesReport is the answer of profile validate --stages.
type stagesReport struct {
	Schema  int           `json:"schema"`
	Verdict string        `json:"verdict"` // pass; fail: a stage exceeds the bound
	Bound   float64       `json:"bound"`   // relative error of both means
	Stages  []stageReport `json:"stages"`
}

type stageReport struct {
	Where      string      `json:"where"`
	Run        string      `json:"run"`
	Model      string      `json:"model"`
	TP         int         `json:"tp"`
	Rate       float64     `json:"requests_per_s"`
	Engine     string      `json:"engine"`
	TTFT       stageFigure `json:"ttft_mean"`
	PerToken   stageFigure `json:"e2e_per_token_mean"`
	E2EMean    stageFigure `json:"e2e_mean"`
	E2EP90     stageFigure `json:"e2e_p90"`
	E2EP99     stageFigure `json:"e2e_p99"`
	OtherTTFT  stageFigure `json:"ttft_mean_with_the_other_admission"`
	Contradict string      `json:"contradicted,omitempty"`
	Within     bool        `json:"within"`
}

type stageFigure struct {
	Measured  float64 `json:"measured_ms"`
	Predicted float64 `json:"predicted_ms"`
	Error     float64 `json:"error"`
}

func stageError(measured, predicted float64) stageFigure {
	return stageFigure{measured, predicted, predicted/measured - 1}
}

// runStages compares a table of open-loop stages.
func (v *validation) runStages(env *Env) error {
	if v.points != "" || v.html != "" || len(v.gpus) > 0 {
		return exitf(exitUsage, "--stages: give it without --points, --html and --gpu: it is a table of its own")
	}
	text, err := readLimited(v.stages, maxPoints)
	if err != nil {
		return fmt.Errorf("--stages: %w", err)
	}
	stages, err := evidence.ParseStages(v.stages, bytes.NewReader(text))
	if err != nil {
		return exitf(exitUsage, "--stages: %w", err)
	}
	own, err := v.own()
	if err != nil {
		return err
	}
	got, err := accuracy.CompareStages(stages, own)
	if err != nil {
		return exitf(exitUsage, "--stages: %w", err)
	}
	r := newStagesReport(got)
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

func newStagesReport(in []accuracy.StageResult) *stagesReport {
	r := &stagesReport{Schema: 1, Verdict: "pass", Bound: accuracy.StageBound}
	for i := range in {
		g := &in[i]
		s := g.Stage
		if !g.Within() {
			r.Verdict = "fail"
		}
		r.Stages = append(r.Stages, stageReport{
			Where: s.Where(), Run: s.Run, Model: s.Model, TP: s.TP, Rate: s.Rate, Engine: g.Engine,
			TTFT: stageError(s.TTFT, g.TTFT), PerToken: stageError(g.MeasuredPerToken(), g.PerToken), OtherTTFT: stageError(s.TTFT, g.LaterTTFT),
			E2EMean: stageError(s.E2EMean, g.E2EMean), E2EP90: stageError(s.E2EP90, g.E2EP90), E2EP99: stageError(s.E2EP99, g.E2EP99),
			Contradict: g.Contradicted, Within: g.Within(),
		})
	}
	return r
}

// name says which stage it is.
func (s *stageReport) name() string {
	_, model, _ := strings.Cut("/"+s.Model, "/")
	if _, last, found := strings.Cut(model, "/"); found {
		model = last
	}
	return fmt.Sprintf("%s TP%d %g/s", model, s.TP, s.Rate)
}

func (s *stageReport) verdict() string {
	if s.Within {
		return string(accuracy.Within)
	}
	return string(accuracy.Exceeded)
}

func (r *stagesReport) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "open-loop stages: measured means in ms, and errors; at most %.0f %% for both means\n", 100*r.Bound)
	fmt.Fprintln(t, "stage\tengine\tTTFT\terror\tif admitted otherwise\tE2E/token\terror\tE2E mean\tp90\tp99\tverdict")
	var notes []string
	for i := range r.Stages {
		s := &r.Stages[i]
		mark := ""
		if s.Contradict != "" {
			mark = "*"
			notes = append(notes, fmt.Sprintf("* %s: time per token %s; E2E over the answer asked for stands in for it", s.name(), s.Contradict))
		}
		fmt.Fprintf(t, "%s\t%s\t%.4g\t%s\t%s\t%.4g%s\t%s\t%s\t%s\t%s\t%s\n", s.name(), s.Engine, s.TTFT.Measured, signed(&s.TTFT.Error), signed(&s.OtherTTFT.Error),
			s.PerToken.Measured, mark, signed(&s.PerToken.Error), signed(&s.E2EMean.Error), signed(&s.E2EP90.Error), signed(&s.E2EP99.Error), s.verdict())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, n := range notes {
		if _, err := fmt.Fprintln(w, n); err != nil {
			return err
		}
	}
	return nil
}

// failure is the error of stages beyond the bound; nil: there are none.
func (r *stagesReport) failure() error {
	var errs []string
	for i := range r.Stages {
		if s := &r.Stages[i]; !s.Within {
			errs = append(errs, fmt.Sprintf("%s: TTFT %s, time per token %s", s.name(), signed(&s.TTFT.Error), signed(&s.PerToken.Error)))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return &exitError{exitGate, errors.New("bounds exceeded: " + strings.Join(errs, "; "))}
}
