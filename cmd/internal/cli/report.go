package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"goodput/loadgen/observe"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/rng"
	"goodput/report/health"
	"goodput/report/query"
	"goodput/report/render"
)

const planName = "plan.yaml"

func newReport(env *Env) *cobra.Command {
	var format, output, definitions, plots, plotsFormat string
	var detailed, bootstrap bool
	c := &cobra.Command{
		Use:   "report RUN…",
		Short: "print the figures of runs, sweeps and comparisons",
		Example: "  goodput report runs/a\n  goodput report runs/a --format json --output a.json\n" +
			"  goodput report runs/a runs/b --format html --output page.html\n  goodput report runs/knee --format html --output knee.html\n  goodput report runs/rules --format html --output rules.html\n  goodput report runs/a --plots plots --plots-format png\n" +
			"  goodput report runs/a --format vllm-json --output a.json\n  goodput report runs/a --definitions=vllm\n  goodput report --definitions",
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			definitions, args = splitDefinitions(definitions, args)
			write, err := reportWriter(format, definitions, detailed, bootstrap)
			switch {
			case err != nil:
				return err
			case plotsFormat != svgPlots && plotsFormat != pngPlots:
				return exitf(exitUsage, "--plots-format: %q is unknown: use svg or png", plotsFormat)
			case definitions == ours:
				return toFile(env.Stdout, output, render.Definitions)
			case len(args) == 0 && definitions == vllmDefinitions:
				return toFile(env.Stdout, output, writeVLLMDefinitions)
			case len(args) == 0:
				return exitf(exitUsage, "which run? name its directory, as in: goodput report runs/a")
			}
			if plots != "" {
				if err := writePlots(plots, plotsFormat, args); err != nil {
					return err
				}
			}
			if format == htmlFormat {
				return toFile(env.Stdout, output, func(w io.Writer) error { return writePage(w, args) })
			}
			return toFile(env.Stdout, output, func(w io.Writer) error {
				for _, dir := range args {
					if err := write(w, dir); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, markdown, json (one object a run), html (one page that needs no network, several runs beside each other), or vllm-json (the result file of vllm bench serve: its keys, units and definitions)")
	c.Flags().StringVar(&output, "output", "", "file to write to; empty: standard output")
	c.Flags().StringVar(&plots, "plots", "", "folder to write each chart of the HTML page to, as a file of --plots-format; it is made if missing")
	c.Flags().StringVar(&plotsFormat, "plots-format", svgPlots, "svg, which follows the reader's light or dark; or png, which is light and 1200 dots wide")
	c.Flags().BoolVar(&bootstrap, "bootstrap", false, "add 95 % intervals of latencies within each run: exploratory, since they are too narrow at high load and say nothing of another run")
	c.Flags().BoolVar(&detailed, "save-detailed", false, "vllm-json: with the lists of all requests, as if the run had it")
	c.Flags().StringVar(&definitions, "definitions", "", "print what each metric means; vllm: what it means to vllm bench serve and, for runs, both figures side by side")
	c.Flags().Lookup("definitions").NoOptDefVal = ours
	return c
}

// The values of --definitions.
const (
	ours            = "ours"
	vllmDefinitions = "vllm"
)

// splitDefinitions takes "vllm" behind --definitions for its value, which the flag,
// being one that may stand alone, leaves among the arguments.
func splitDefinitions(value string, args []string) (string, []string) {
	if i := slices.Index(args, vllmDefinitions); value == ours && i >= 0 {
		return vllmDefinitions, slices.Delete(slices.Clone(args), i, i+1)
	}
	return value, args
}

// reportWriter is what writes one run.
func reportWriter(format, definitions string, detailed, bootstrap bool) (func(w io.Writer, dir string) error, error) {
	formats := map[string]func(io.Writer, *render.Report) error{"text": render.Text, "markdown": render.Markdown, "json": render.JSON}
	switch {
	case bootstrap && (definitions != "" || format == "vllm-json" || format == htmlFormat):
		return nil, exitf(exitUsage, "--bootstrap: it is in the text, Markdown and JSON of runs: leave one of the two out")
	case definitions == vllmDefinitions:
		return writeVLLMColumns, nil
	case definitions != "" && definitions != ours:
		return nil, exitf(exitUsage, "--definitions: %q is unknown: use vllm, or leave the value out", definitions)
	case format == "vllm-json":
		return func(w io.Writer, dir string) error { return writeVLLM(w, dir, detailed) }, nil
	case format == htmlFormat: // of all runs at once
		return nil, nil
	case formats[format] == nil:
		return nil, exitf(exitUsage, "--format: %q is unknown: use text, markdown, json, html or vllm-json", format)
	}
	return func(w io.Writer, dir string) error {
		switch {
		case bootstrap && (isComparison(dir) || isSweep(dir)):
			return exitf(exitUsage, "--bootstrap: it is within one run, and %s is of several, which have intervals between them: leave it out", dir)
		case isComparison(dir):
			return writeComparison(w, dir, format)
		case isSweep(dir):
			return writeSweep(w, dir, format)
		}
		r, err := loadReport(dir)
		if err == nil && bootstrap {
			random := rng.New(0, "bootstrap", 0)
			r.Exploratory, err = query.Bootstrap(r.Figures, &random)
		}
		if err != nil {
			return err
		}
		return formats[format](w, r)
	}, nil
}

// writeSweep writes a sweep as the sweep itself did; in Markdown it is a block of text.
func writeSweep(w io.Writer, dir, format string) error {
	s, err := loadSweep(dir)
	if err != nil {
		return err
	}
	switch format {
	case "json":
		return render.SweepJSON(w, s)
	case "markdown":
		if _, err := fmt.Fprintf(w, "### %s\n\n```\n", dir); err != nil {
			return err
		}
		if err := render.SweepText(w, s); err != nil {
			return err
		}
		_, err = fmt.Fprintln(w, "```")
		return err
	}
	return render.SweepText(w, s)
}

// loadReport computes the figures of a run from its files.
func loadReport(dir string) (*render.Report, error) {
	f, err := query.Load(dir)
	if err != nil {
		return nil, err
	}
	if f.Manifest.Load[record.LoadKind] == record.Sweep {
		return nil, exitf(exitUsage, "%s is a sweep, which keeps trials and no requests: read %s and %s, or give the directory of a run", dir, record.TrialsName, record.KneesName)
	}
	p, err := recordedPlan(dir)
	if err != nil {
		return nil, err
	}
	slo, err := observe.ParseSLO(sloItems(&p))
	if err != nil {
		return nil, err
	}
	r := judged(f, &p, slo)
	return r, loadClasses(r, &p)
}

// judged judges the figures by the objective that the run had.
func judged(f *query.Figures, p *plan.Plan, slo observe.SLO) *render.Report {
	r := &render.Report{Figures: f, Health: health.Judge(f, tightest(p, slo)), SLO: slo.String()}
	if p.Mixed() {
		r.SLO = "that of each class"
	}
	return r
}

// recordedSLO reads the objective back from the run's plan.
func recordedSLO(dir string) (observe.SLO, error) {
	p, err := recordedPlan(dir)
	if err != nil {
		return observe.SLO{}, err
	}
	return observe.ParseSLO(sloItems(&p))
}

// recordedPlan reads the plan of a run.
func recordedPlan(dir string) (plan.Plan, error) {
	p := plan.Default()
	name := filepath.Join(dir, planName)
	text, err := readLimited(name, plan.MaxFile)
	if err != nil {
		return p, fmt.Errorf("reading the run's plan: %w", err)
	}
	return p, plan.Load(&p, name, text)
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
			if err == nil && r.Sessions > 0 {
				_, err = fmt.Fprintf(env.Stdout, "and %d sessions\n", r.Sessions)
			}
			return err
		},
	}
}
