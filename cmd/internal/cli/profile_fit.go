package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/profiles"
	"goodput/profiles/evidence"
	"goodput/profiles/fit"
)

// fitting is what profile fit was asked for.
type fitting struct {
	points, runs, metrics, families []string
	from, name, title, date, out    string
	doubt                           float64
	asJSON                          bool
}

func newProfileFit(env *Env) *cobra.Command {
	var flags *planFlags
	var f fitting
	c := &cobra.Command{
		Use:   "fit",
		Short: "fit a GPU profile to measurements",
		Long: `Fit chooses the coefficients of a GPU profile so that predictions meet measurements,
and writes the profile with the errors that it makes on configurations it had not
seen. Measurements are any of:

  --points   tables of published figures, in the columns of goodput profile validate
             --print-points; rows of other GPUs and engines are left out and counted
  --run      directories of goodput run against a real server of one engine: the times
             of requests that met about the same load. Vary the rate, or give several
             runs. Of several engines the batches would come out too large
  --metrics  answers of a vLLM server's /metrics, in the order of time, each after a
             minute or more of another load

For --run and --metrics, say what the server runs: --engine-model, --tp and so on.

The fit is robust (outliers are outvoted), holds out a fifth of the configurations at a
time, and leaves out each source in turn. --from says what it starts from and is drawn
to: the profile of --gpu, or what single kernels reach on it. Coefficients on which no
point depends stay. With too few points, or all alike, nothing is written.`,
		Example: `  goodput profile validate --print-points > points.csv
  goodput profile fit --gpu h100-sxm --points points.csv --families trtllm --name h100-sxm@trtllm --out fitted.yaml
  goodput profile fit --gpu h100-sxm --engine-model qwen3-32b --tp 2 --run runs/a --run runs/b --name mine --out mine.yaml
  goodput profile fit --gpu a100-sxm-80gb --engine-model llama-3.1-8b --metrics m0.txt,m1.txt,m2.txt,m3.txt,m4.txt --name mine`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			p, err := flags.resolve(env, (*plan.Plan).ValidatePool)
			if err != nil {
				return err
			}
			return f.run(env, &p)
		},
	}
	c.Flags().StringSliceVar(&f.points, "points", nil, "CSV of measurements")
	c.Flags().StringSliceVar(&f.runs, "run", nil, "run directory")
	c.Flags().StringSliceVar(&f.metrics, "metrics", nil, "file of a /metrics answer")
	c.Flags().StringSliceVar(&f.families, "families", []string{"vllm"}, "families of engines whose rows are used (vllm, vllm-v0, trtllm, sglang, …); the first one is that of --run and --metrics")
	c.Flags().StringVar(&f.from, "from", "profile", "what to start from: profile (that of --gpu) or kernels")
	c.Flags().Float64Var(&f.doubt, "doubt", 1, "how far the start may be off: 2 squares the factors of the priors")
	c.Flags().StringVar(&f.name, "name", "", "name of the new profile; empty: that of --gpu")
	c.Flags().StringVar(&f.title, "title", "", "title of the new profile; empty: that of --gpu")
	c.Flags().StringVar(&f.date, "date", "", "date in the new profile, YYYY-MM; empty: this month")
	c.Flags().StringVar(&f.out, "out", "", "file to write; empty: only print the errors")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print coefficients and errors as JSON")
	flags = newPlanFlags(c, "hardware", "engine")
	return c
}

func (f *fitting) run(env *Env, p *plan.Plan) error {
	q, drops, err := f.request(p)
	if err != nil {
		return err
	}
	r, err := fit.Fit(q)
	if few, ok := errors.AsType[*fit.TooFew](err); ok {
		return exitf(exitUsage, "%s: %w%s; no profile is written", f.sources(), few, dropped(drops))
	}
	if err != nil {
		return err
	}
	text, err := r.YAML()
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := os.WriteFile(f.out, text, 0o644); err != nil {
			return exitf(exitUsage, "--out: %w", err)
		}
	}
	report := newFitReport(&q, &r, drops, f.out)
	if f.asJSON {
		return writeJSON(env.Stdout, report)
	}
	return report.text(env.Stdout)
}

func (f *fitting) sources() string {
	var out []string
	for _, s := range []struct {
		flag  string
		given []string
	}{{"--points", f.points}, {"--run", f.runs}, {"--metrics", f.metrics}} {
		if len(s.given) > 0 {
			out = append(out, s.flag)
		}
	}
	return strings.Join(out, ", ")
}

var months = regexp.MustCompile(`^\d{4}-(0[1-9]|1[0-2])$`)

func (f *fitting) request(p *plan.Plan) (q fit.Request, drops []fit.Drop, err error) {
	if f.sources() == "" {
		return q, nil, exitf(exitUsage, "nothing to fit to: give --points, --run or --metrics")
	}
	if !(f.doubt >= 0.1 && f.doubt <= 10) {
		return q, nil, exitf(exitUsage, "--doubt: %v is outside 0.1 to 10", f.doubt)
	}
	if f.date == "" {
		f.date = clock.Wall().UTC().Format("2006-01")
	}
	if !months.MatchString(f.date) {
		return q, nil, exitf(exitUsage, "--date: %q is no month: write it as 2026-11", f.date)
	}
	base, err := loadGPU(p.GPU)
	if err != nil {
		return q, nil, fmt.Errorf("--gpu: %w", err)
	}
	kind, _, _ := strings.Cut(base.Name, "@")
	switch f.from {
	case "profile":
	case "kernels":
		if base, err = fit.Kernels(base, kind); err != nil {
			return q, nil, exitf(exitUsage, "--from: %w", err)
		}
	default:
		return q, nil, exitf(exitUsage, "--from: %q is unknown: use profile or kernels", f.from)
	}
	q = fit.Request{Base: base, Name: f.name, Title: f.title, Date: f.date, Doubt: f.doubt, Build: buildSteps, Command: f.command(p.GPU)}
	if q.Name == "" {
		q.Name = base.Name
	}
	if q.Title == "" {
		q.Title = base.Title
	}
	if q.Points, drops, err = f.published(kind, base.Memory.Value); err != nil {
		return q, nil, err
	}
	if len(f.runs)+len(f.metrics) == 0 {
		return q, drops, nil
	}
	e, err := f.endpoint(p)
	if err != nil {
		return q, nil, err
	}
	served, less, err := f.served(e)
	if err != nil {
		return q, nil, err
	}
	q.Points = append(q.Points, served...)
	return q, append(drops, less...), nil
}

// command makes the same profile again from the same tables; empty: it was made from a
// server.
func (f *fitting) command(gpu string) string {
	if len(f.runs)+len(f.metrics) > 0 {
		return ""
	}
	out := "goodput profile fit --gpu " + gpu
	for _, flag := range [][2]string{{"from", f.from}, {"families", strings.Join(f.families, ",")}, {"doubt", fmt.Sprint(f.doubt)}, {"name", f.name}} {
		if flag[1] != "" {
			out += " --" + flag[0] + " " + flag[1]
		}
	}
	for _, table := range f.points {
		out += " --points " + filepath.Base(table)
	}
	if f.title != "" {
		out += fmt.Sprintf(" --title %q", f.title)
	}
	return out + " --date " + f.date
}

// published reads the tables.
func (f *fitting) published(kind string, memory float64) ([]fit.Point, []fit.Drop, error) {
	var rows []evidence.Point
	for _, name := range f.points {
		text, err := readLimited(name, maxPoints)
		if err != nil {
			return nil, nil, fmt.Errorf("--points: %w", err)
		}
		more, err := evidence.Parse(name, bytes.NewReader(text))
		if err != nil {
			return nil, nil, fmt.Errorf("--points: %w", err)
		}
		rows = append(rows, more...)
	}
	points, drops := fit.Published(rows, kind, memory)
	other := 0
	points = slices.DeleteFunc(points, func(p fit.Point) bool {
		if slices.Contains(f.families, p.Family) {
			return false
		}
		other++
		return true
	})
	if other > 0 {
		drops = append(drops, fit.Drop{Why: "of another family of engines (--families)", Rows: other})
	}
	return points, drops, nil
}

// endpoint describes the server behind --run and --metrics.
func (f *fitting) endpoint(p *plan.Plan) (*fit.Endpoint, error) {
	h, err := newHardware(p)
	if err != nil {
		return nil, err
	}
	if len(f.families) == 0 {
		return nil, exitf(exitUsage, "--families: name the engine of the server, such as vllm")
	}
	return &fit.Endpoint{
		Family: f.families[0], Version: p.Engine, Overlap: p.EngineHostOverlap, Pipelined: p.EngineAsync,
		Model: h.model, TP: h.tp, Budget: p.EngineMaxNumBatchedTokens,
	}, nil
}

// maxMetrics bounds a /metrics answer, in bytes.
const maxMetrics = 16 << 20

// served reads runs and metrics.
func (f *fitting) served(e *fit.Endpoint) (points []fit.Point, drops []fit.Drop, err error) {
	for _, dir := range f.runs {
		requests, err := readServed(dir)
		if err != nil {
			return nil, nil, fmt.Errorf("--run: %w", err)
		}
		e.Source = "goodput run " + dir
		p, less := fit.Requests(e, requests)
		points, drops = append(points, p...), append(drops, less...)
	}
	var readings []fit.Totals
	for _, name := range f.metrics {
		text, err := readLimited(name, maxMetrics)
		if err != nil {
			return nil, nil, fmt.Errorf("--metrics: %w", err)
		}
		t, err := fit.ReadMetrics(bytes.NewReader(text))
		if err != nil {
			return nil, nil, fmt.Errorf("--metrics: %s: %w", name, err)
		}
		readings = append(readings, t)
	}
	e.Source = "/metrics of a server"
	p, less := fit.Readings(e, readings)
	return append(points, p...), merged(append(drops, less...)), nil
}

// merged adds up drops of the same reason.
func merged(in []fit.Drop) []fit.Drop {
	var out []fit.Drop
	for _, d := range in {
		at := slices.IndexFunc(out, func(o fit.Drop) bool { return o.Why == d.Why })
		if at < 0 {
			out = append(out, d)
			continue
		}
		out[at].Rows += d.Rows
	}
	return out
}

// readServed reads the successes of a run in its measured phase.
func readServed(dir string) ([]fit.Served, error) {
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	var out []fit.Served
	err = run.Requests(func(r *record.Request) error {
		if !r.Final || r.Phase != record.Measure || r.Outcome != record.OK || !r.FirstToken.Known() || !r.LastToken.Known() || !r.Writing.Known() {
			return nil
		}
		prompt := r.PromptTokens
		if prompt <= 0 {
			prompt = r.PlannedPromptTokens
		}
		s := fit.Served{Sent: float64(r.Writing) / 1e9, First: float64(r.FirstToken) / 1e9, Last: float64(r.LastToken) / 1e9, Prompt: int(prompt), Output: int(r.OutputTokens)}
		if r.CachedTokens > 0 {
			s.Cached = int(r.CachedTokens)
		}
		out = append(out, s)
		return nil
	}, record.WithoutGaps())
	return out, err
}

// buildSteps is the step-time form as a fit sees it.
func buildSteps(gpu *profiles.GPU, model *profiles.Model, tp int, overlap bool) (fit.Steps, error) {
	a, err := steptime.New(*gpu, *model, tp, 1)
	if err != nil {
		return nil, err
	}
	if overlap {
		a = a.Overlap()
	}
	return stepsOf{a}, nil
}

var (
	_ fit.Steps   = stepsOf{}
	_ fit.Bounded = stepsOf{}
)

type stepsOf struct{ model *steptime.Analytic }

// Step implements fit.Steps.
func (s stepsOf) Step(b *fit.Batch) int64 { return s.model.Step(batchOf(b)) }

// Floor implements fit.Bounded.
func (s stepsOf) Floor(b *fit.Batch) int64 { return s.model.Floor(batchOf(b)) }

func batchOf(b *fit.Batch) *steptime.Batch {
	return &steptime.Batch{
		Tokens: b.Tokens, Seqs: b.Seqs, Emit: b.Emit, Prefills: b.Prefills,
		DecodeCtx: b.DecodeCtx, DecodeMax: b.DecodeMax, PrefillHist: b.PrefillHist, PrefillPairs2: b.PrefillPairs2,
	}
}

// dropped lists what was left out, for a message.
func dropped(drops []fit.Drop) string {
	var out []string
	for _, d := range drops {
		out = append(out, fmt.Sprintf("%d x %s", d.Rows, d.Why))
	}
	if len(out) == 0 {
		return ""
	}
	return " (left out: " + strings.Join(out, "; ") + ")"
}

// fitReport is the answer of profile fit.
type fitReport struct {
	Schema   int           `json:"schema"`
	Name     string        `json:"name"`
	File     string        `json:"file,omitempty"`
	Fitted   []fittedValue `json:"coefficients"`
	InSample fitErrors     `json:"in_sample"`
	HeldOut  fitErrors     `json:"held_out"`
	Kinds    []fitErrors   `json:"held_out_by_kind"`
	Families []fitErrors   `json:"held_out_by_family"`
	Sources  []fitErrors   `json:"sources_left_out"`
	Dropped  []fit.Drop    `json:"dropped"`
}

type fittedValue struct {
	Name  string  `json:"name"`
	Prior float64 `json:"prior"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

type fitErrors struct {
	Name   string  `json:"name"`
	Points int     `json:"points"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	Bias   float64 `json:"bias"`
}

func newFitReport(q *fit.Request, r *fit.Result, drops []fit.Drop, file string) *fitReport {
	if r.Impossible > 0 {
		drops = append(drops, fit.Drop{Why: "faster than the GPU's peak rates", Rows: r.Impossible})
	}
	out := &fitReport{Schema: 1, Name: q.Name, File: file, Dropped: drops}
	for i := range r.Fitted {
		c := &r.Fitted[i]
		out.Fitted = append(out.Fitted, fittedValue{c.Name, c.Value(&q.Base), c.Value(&r.GPU), c.Unit(&r.GPU)})
	}
	errs := func(name string, e fit.Errors) fitErrors { return fitErrors{name, e.Points, e.Median, e.P90, e.Signed} }
	groups := func(in []fit.Group) []fitErrors {
		list := []fitErrors{}
		for _, g := range in {
			list = append(list, errs(g.Name, g.Errors))
		}
		return list
	}
	out.InSample, out.HeldOut = errs("in sample", r.InSample), errs("held out", r.HeldOut)
	out.Kinds, out.Families, out.Sources = groups(r.Kinds), groups(r.Families), groups(r.Sources)
	return out
}

func (x *fitReport) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "coefficient\tprior\tfitted\tunit")
	for _, c := range x.Fitted {
		fmt.Fprintf(t, "%s\t%.4g\t%.4g\t%s\n", c.Name, c.Prior, c.Value, c.Unit)
	}
	fmt.Fprintln(t, "\nabsolute relative error\tpoints\tmedian\tp90\tbias")
	row := func(name string, e *fitErrors) {
		fmt.Fprintf(t, "%s\t%d\t%.1f %%\t%.1f %%\t%+.1f %%\n", name, e.Points, 100*e.Median, 100*e.P90, 100*e.Bias)
	}
	row("fitted points", &x.InSample)
	row("held out, a fifth of the configurations at a time", &x.HeldOut)
	for i := range x.Kinds {
		row("  "+x.Kinds[i].Name, &x.Kinds[i])
	}
	if len(x.Families) > 1 {
		for i := range x.Families {
			row("  "+x.Families[i].Name, &x.Families[i])
		}
	}
	for i := range x.Sources {
		row("without "+x.Sources[i].Name, &x.Sources[i])
	}
	if len(x.Dropped) > 0 {
		fmt.Fprintf(t, "\nleft out:%s\n", strings.TrimSuffix(strings.TrimPrefix(dropped(x.Dropped), " (left out:"), ")"))
	}
	if x.File != "" {
		fmt.Fprintf(t, "\nwritten: %s (profile %s)\n", x.File, x.Name)
	}
	return t.Flush()
}
