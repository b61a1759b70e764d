package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"goodput/datasets"
	"goodput/datasets/trace"
	"goodput/loadgen/plan"
)

func newDatasetPlan(env *Env) *cobra.Command {
	var flags *planFlags
	var out string
	c := &cobra.Command{
		Use:   "plan",
		Short: "write the requests or sessions that a run would ask for, to be replayed",
		Long: `Plan writes what goodput run with the same flags would ask for, in goodput's own
JSONL: every prompt by its content keys and lengths, every answer, and sessions with
their waits, threads and shapes. Nothing is lost: a run with --dataset-name trace
--dataset-path FILE asks for the same again, and with the same --seed and rate at the
same instants.

Arrivals are written only where a trace has them; those of a generated load follow
from --request-rate or --sessions-rate of the replay.`,
		Example: `  goodput dataset plan --dataset-name prefix_repetition --num-prompts 500 > plan.jsonl
  goodput run --dataset-name trace --dataset-path plan.jsonl --request-rate 8
  goodput dataset plan --dataset-name agent --agent-preset chat --num-sessions 50 -o chats.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := flags.resolve(env, anyRate)
			if err != nil {
				return err
			}
			write, err := exporter(p)
			if err != nil {
				return err
			}
			if out == "" {
				return write(env.Stdout)
			}
			return writeStream(out, write)
		},
	}
	flags = newPlanFlags(c, "load", "dataset", "engine")
	c.Flags().StringVarP(&out, "output", "o", "", "file to write; empty: standard output")
	flags.also = []string{"output"}
	return c
}

// anyRate checks a plan whose rate of arrivals may be left out, as it changes nothing of
// what is asked for.
func anyRate(p *plan.Plan) error {
	given := p.RequestRate != 0 || p.SessionsRate != 0 || p.Ramped() || p.Concurrency > 0 || p.SessionsConcurrency > 0
	switch {
	case given || p.Duration > 0 || plan.IsTrace(p.DatasetName):
	case plan.IsAgent(p.DatasetName):
		p.SessionsRate = plan.Rate(math.Inf(1))
	default:
		p.RequestRate = plan.Rate(math.Inf(1))
	}
	return p.Validate()
}

// exporter plans the load, and returns what writes it.
func exporter(p plan.Plan) (func(io.Writer) error, error) {
	switch {
	case p.Mixed():
		return nil, errors.New("--class: a file holds one load, and each class has its own: write a plan for each of them")
	case p.StationaryStart:
		return nil, errors.New("--stationary-start: a file can't hold sessions that have begun before the run: leave it out")
	}
	set, sessions, p, err := openLoad(p)
	switch {
	case err != nil:
		return nil, err
	case sessions == nil:
		n := p.NumPrompts
		if n == 0 {
			n = set.Len()
		}
		if n == mostClosed {
			return nil, errors.New("--num-prompts: how many requests? only --duration ends this load")
		}
		return func(w io.Writer) error { return trace.Export(w, set, n) }, nil
	case sessions.Sessions() == mostConcurrent:
		return nil, errors.New("--num-sessions: how many sessions? only --duration ends this load")
	}
	var of datasets.SessionSet = sessions.sessionSet
	return func(w io.Writer) error { return trace.ExportSessions(w, of) }, nil
}

// writeStream writes the named file as it goes, and puts it in place when it is whole.
// What stands there and is no regular file, such as a device or a link, stays and is
// written into.
func writeStream(name string, write func(io.Writer) error) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			return fmt.Errorf("--output: %w", err)
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp")
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), name)
}
