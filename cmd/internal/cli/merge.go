package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/report/render"
)

func newMerge(env *Env) *cobra.Command {
	var out string
	var force bool
	c := &cobra.Command{
		Use:   "merge RUN… --out DIR",
		Short: "make one run of the shards of a load that several processes offered",
		Long: `Merge puts together what goodput run --shard wrote, process by process, copied to
one machine. The new directory is a run like any other: its arrivals are tested as a
whole, and it is invalid if one of the generators was late.

It refuses directories that are no parts of one load: of different plans, seeds or
starts, a shard that is there twice, one that is missing or was cut off, and requests
of the schedule that are in no part or in two. Times count from --start-at by the clock
of each machine. How far these clocks are apart is not known here: keep them together
by NTP or PTP.`,
		Example: `  S=$(date -u -d '+30 sec' +%FT%TZ)
  goodput run --shard 0/2 --start-at $S --base-url http://router:8000 --request-rate 400 --duration 60s --out runs/s0    # on one machine
  goodput run --shard 1/2 --start-at $S --base-url http://router:8000 --request-rate 400 --duration 60s --out runs/s1    # on another
  goodput merge runs/s0 runs/s1 --out runs/all`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exitf(exitUsage, "which runs? name the directories of all shards, as in: goodput merge runs/s0 runs/s1 --out runs/all")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if out == "" {
				return exitf(exitUsage, "--out: where to? name a new directory for the whole run")
			}
			return mergeRuns(env, args, out, force)
		},
	}
	c.Flags().StringVar(&out, "out", "", "directory of the whole run, which is made")
	c.Flags().BoolVar(&force, "force", false, "merge what there is of shards that are missing or were cut off; the run says so, and is invalid. What is there twice or of another plan is refused all the same")
	return c
}

// mergeRuns merges the runs and prints the figures of the whole.
func mergeRuns(env *Env, dirs []string, out string, force bool) error {
	m := record.Merge{Dir: out, Force: force}
	var plans []plan.Plan
	for _, dir := range dirs {
		run, err := record.Open(dir)
		if err != nil {
			return err
		}
		p, err := recordedPlan(dir)
		if err != nil {
			return err
		}
		m.Parts, plans = append(m.Parts, run), append(plans, p)
	}
	if err := samePlan(dirs, plans); err != nil {
		return err
	}
	for _, dir := range dirs {
		r, err := loadReport(dir)
		if err != nil {
			return err
		}
		m.Notes = append(m.Notes, record.MergedShard{Verdict: string(r.Health.Verdict), Why: r.Health.Why})
	}
	var err error
	if m.Files, err = wholeFiles(dirs[0], plans[0], out); err != nil {
		return err
	}
	done, err := m.Run()
	if err != nil {
		return exitf(exitUsage, "%w", err)
	}
	fmt.Fprintf(env.Stderr, "merged     %d rows of %d shards into %s\n", done.Rows, len(dirs), out)
	report, err := loadReport(out)
	if err != nil {
		return exitf(exitInternal, "the merged run can't be read back: %w", err)
	}
	if err := render.Text(env.Stdout, report); err != nil {
		return err
	}
	if !report.Health.Valid() {
		return exitf(exitInvalid, "the measurement is invalid (%s): %s", report.Health.Verdict, strings.Join(report.Health.Why, "; "))
	}
	return nil
}

// samePlan names the first parameter in which two of the plans differ.
func samePlan(dirs []string, plans []plan.Plan) error {
	for i := range plans[1:] {
		a, b := &plans[0], &plans[i+1]
		for _, f := range plan.Fields() {
			if x, y := f.Get(a), f.Get(b); f.Hashed && x != y {
				return exitf(exitUsage, "%s and %s are no parts of one load: --%s is %q in one and %q in the other; give all shards the same flags", dirs[0], dirs[i+1], f.Key, x, y)
			}
		}
	}
	return nil
}

// wholeFiles are those that the whole run has beside its record. Its plan is that of the
// whole load.
func wholeFiles(dir string, p plan.Plan, out string) (map[string][]byte, error) {
	p.Shard, p.StartAt, p.Out = "", "", out
	text, err := p.YAML()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{planName: text}
	config, err := os.ReadFile(filepath.Join(dir, agentConfigName))
	switch {
	case err == nil:
		files[agentConfigName] = config
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return files, nil
}
