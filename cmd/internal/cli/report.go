package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/report/health"
	"goodput/report/query"
	"goodput/report/render"
)

const planName = "plan.yaml"

func newReport(env *Env) *cobra.Command {
	var format, output string
	var definitions bool
	c := &cobra.Command{
		Use:     "report RUN…",
		Short:   "print the figures of run directories",
		Example: "  goodput report runs/a\n  goodput report runs/a --format json --output a.json\n  goodput report --definitions",
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if definitions {
				return render.Definitions(env.Stdout)
			}
			if len(args) == 0 {
				return exitf(exitUsage, "which run? name its directory, as in: goodput report runs/a")
			}
			write, err := writerOf(format)
			if err != nil {
				return err
			}
			return toFile(env.Stdout, output, func(w io.Writer) error {
				for _, dir := range args {
					r, err := loadReport(dir)
					if err != nil {
						return err
					}
					if err := write(w, r); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, or json: one object a run")
	c.Flags().StringVar(&output, "output", "", "file to write to; empty: standard output")
	c.Flags().BoolVar(&definitions, "definitions", false, "print what each metric means")
	return c
}

func writerOf(format string) (func(io.Writer, *render.Report) error, error) {
	switch format {
	case "text":
		return render.Text, nil
	case "json":
		return render.JSON, nil
	}
	return nil, exitf(exitUsage, "--format: %q is unknown: use text or json", format)
}

// loadReport computes the figures of a run from its files.
func loadReport(dir string) (*render.Report, error) {
	f, err := query.Load(dir)
	if err != nil {
		return nil, err
	}
	slo, err := recordedSLO(dir)
	if err != nil {
		return nil, err
	}
	return judged(f, slo), nil
}

// judged judges the figures by the objective that the run had.
func judged(f *query.Figures, slo observe.SLO) *render.Report {
	return &render.Report{Figures: f, Health: health.Judge(f, slo.TTFT), SLO: slo.String()}
}

// recordedSLO reads the objective back from the run's plan.
func recordedSLO(dir string) (observe.SLO, error) {
	name := filepath.Join(dir, planName)
	text, err := readLimited(name, plan.MaxFile)
	if err != nil {
		return observe.SLO{}, fmt.Errorf("reading the run's plan: %w", err)
	}
	p := plan.Default()
	if err := plan.Load(&p, name, text); err != nil {
		return observe.SLO{}, err
	}
	return observe.ParseSLO(sloItems(&p))
}

// sloItems splits --goodput "ttft:2000 tpot:50" as well as two flags.
func sloItems(p *plan.Plan) []string {
	return strings.Fields(strings.ReplaceAll(strings.Join(p.Goodput, " "), ",", " "))
}

func newRecover(env *Env) *cobra.Command {
	return &cobra.Command{
		Use:     "recover RUN",
		Short:   "rebuild a run that was cut off by a crash",
		Example: "  goodput recover runs/a",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := record.Recover(args[0])
			if err != nil {
				return err
			}
			if !r.Done {
				_, err = fmt.Fprintf(env.Stdout, "%s needs no recovery\n", args[0])
				return err
			}
			_, err = fmt.Fprintf(env.Stdout, "recovered %d rows of %s into %d files; %d bytes at the end were unreadable\n",
				r.Rows, args[0], len(r.Files), r.LostBytes)
			return err
		},
	}
}
