package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"goodput/datasets/describe"
	"goodput/datasets/trace"
	"goodput/loadgen/plan"
)

func newDataset(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "dataset",
		Short: "look at trace files before they are replayed, and write plans",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newDatasetDescribe(env), newDatasetConvert(env), newDatasetPlan(env))
	return c
}

// traceFlags are what says how a trace file is read.
type traceFlags struct {
	name    string
	skipBad bool
	output  int
	seed    uint64
}

func (f *traceFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.name, "dataset-name", "trace", "format of the file; trace: told by its content")
	c.Flags().BoolVar(&f.skipBad, "skip-bad-rows", false, "leave out rows that are not as the format says, and count them")
	c.Flags().IntVar(&f.output, "custom-output-len", 256, "tokens of each answer where custom, openai-chat and openai-batch do not say it")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "root of the random choices of servegen")
}

// options are the format of a file, and what it does not say.
func (f *traceFlags) options(path string) (trace.Format, trace.Options, error) {
	o := trace.Options{Seed: f.seed, SkipBadRows: f.skipBad, OutputLen: f.output}
	if f.output < 1 {
		return "", o, fmt.Errorf("--custom-output-len: %d is not at least 1", f.output)
	}
	format, err := traceFormat(f.name, path)
	return format, o, err
}

func (f *traceFlags) open(path string) (*trace.Reader, error) {
	format, o, err := f.options(path)
	if err != nil {
		return nil, err
	}
	return trace.NewReader(format, path, o)
}

func newDatasetDescribe(env *Env) *cobra.Command {
	var flags traceFlags
	var engines *planFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "describe FILE",
		Short: "print arrivals, lengths, reuse and sessions of a trace, and what could mislead",
		Long: `Describe reads a trace once, in memory that does not grow with it, and prints how
requests arrive (CV of the gaps; dispersion, the variance of counts in bins over
their mean, 1 for Poisson), how long they are (quantiles, squared CV), how much of
the prompts an endless prefix cache would find, and how large the sessions are.

If a flag says what the engines are (--replicas, --gpu, --engine.num-gpu-blocks and the
like), it also tells what one cache of the size of theirs together would find, which
takes reading the trace into memory.`,
		Example: `  goodput dataset describe conversation_trace.jsonl
  goodput dataset describe --replicas 2 --engine.num-gpu-blocks 20000 conversation_trace.jsonl
  goodput dataset describe --dataset-name azure --json trace.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := flags.open(args[0])
			if err != nil {
				return err
			}
			defer d.Close()
			r, err := describe.Of(d)
			if err != nil {
				return err
			}
			if len(engines.given) > 0 || engines.config != "" {
				p, err := engines.resolve(env, (*plan.Plan).ValidatePool)
				if err != nil {
					return err
				}
				if r.Pool, err = describePool(&flags, args[0], &p); err != nil {
					return err
				}
			}
			if asJSON {
				e := json.NewEncoder(env.Stdout)
				e.SetIndent("", "  ")
				return e.Encode(r)
			}
			return printDescription(env.Stdout, r)
		},
	}
	flags.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	engines = newPlanFlags(c, "hardware", "pool", "engine")
	return c
}

func newDatasetConvert(env *Env) *cobra.Command {
	var flags traceFlags
	var to, out string
	var lossy bool
	c := &cobra.Command{
		Use:   "convert FILE",
		Short: "write a trace as goodput's own JSONL or TraceLab's CSV",
		Long: `Convert writes all rows of a trace in another format: goodput, which holds all that
is read of any format, or tracelab, a CSV of sessions as lengths and waits. What the
new format can't hold is an error, unless --lossy leaves it out and says in how many
rows.`,
		Example: `  goodput dataset convert --to goodput -o session.jsonl trace_0277.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := flags.open(args[0])
			if err != nil {
				return err
			}
			defer d.Close()
			var lost []trace.Loss
			write := func(w io.Writer) (err error) {
				lost, err = trace.Convert(d, w, trace.Format(to), lossy)
				return err
			}
			if out == "" {
				err = write(env.Stdout)
			} else {
				err = writeWhole(out, write)
			}
			if s := d.Skipped(); err == nil && s.Bad+s.Dropped > 0 {
				fmt.Fprintf(env.Stderr, "left out %d bad rows and %d that are no requests\n", s.Bad, s.Dropped)
			}
			for _, l := range lost {
				fmt.Fprintf(env.Stderr, "%s can't hold %s: lost in %d rows\n", to, l.What, l.Rows)
			}
			return err
		},
	}
	flags.register(c)
	c.Flags().StringVar(&to, "to", "goodput", "format to write: goodput, tracelab")
	c.Flags().StringVarP(&out, "output", "o", "", "file to write; empty: standard output")
	c.Flags().BoolVar(&lossy, "lossy", false, "leave out what the new format can't hold, and say in how many rows")
	return c
}
