package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"goodput/datasets/describe"
	"goodput/datasets/trace"
	"goodput/loadgen/plan"
)

// printDescription prints the statistics of a trace for people.
func printDescription(w io.Writer, r *describe.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "format     %s\nrows       %d", r.Format, r.Rows)
	if s := r.Skipped; s.Bad > 0 {
		fmt.Fprintf(&b, ", %d bad ones left out, the first: %s", s.Bad, s.FirstBad)
	}
	if s := r.Skipped; s.Dropped > 0 {
		fmt.Fprintf(&b, ", %d left out: %s", s.Dropped, s.DroppedWhy)
	}
	b.WriteString("\n")
	if a := r.Arrivals; a != nil {
		fmt.Fprintf(&b, "arrivals   over %v at %s/s, CV of gaps %s, longest gap %v, %d at the instant of the one before\n",
			seconds(a.SpanSeconds), figure(a.Rate, "%.4g"), figure(a.CV, "%.3f"), seconds(a.MaxGap), a.Ties)
		fmt.Fprintf(&b, "dispersion in bins of 1 s %s, 10 s %s, 60 s %s (Poisson: 1)\n", figure(a.D1, "%.2f"), figure(a.D10, "%.2f"), figure(a.D60, "%.2f"))
	} else {
		b.WriteString("arrivals   no times\n")
	}
	fmt.Fprintf(&b, "tokens     %10s %10s %10s %10s %10s %8s\n", "mean", "p50", "p95", "p99", "max", "CV²")
	printLengths(&b, "  in", &r.Input)
	printLengths(&b, "  out", &r.Output)
	fmt.Fprintf(&b, "  correlation of the two %s\n", figure(r.InOut, "%.2f"))
	printReuse(&b, r.Reuse)
	printPool(&b, r.Pool)
	if s := r.Sessions; s != nil {
		how := "named by the file"
		if s.Inferred {
			how = "inferred from blocks"
		}
		fmt.Fprintf(&b, "sessions   %d, %s; requests of each: mean %.2f, p50 %.4g, p90 %.4g, max %d\n", s.Count, how, s.Mean, s.P50, s.P90, s.Max)
	}
	for _, text := range r.Warnings {
		fmt.Fprintf(&b, "note       %s\n", text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printLengths(w io.Writer, name string, l *describe.Lengths) {
	fmt.Fprintf(w, "%-10s %10.1f %10.1f %10.1f %10.1f %10d %8s\n", name, l.Mean, l.P50, l.P95, l.P99, l.Max, figure(l.CV2, "%.2f"))
}

func printReuse(w io.Writer, u *describe.Reuse) {
	if u == nil {
		fmt.Fprintln(w, "reuse      unknown")
		return
	}
	fmt.Fprintf(w, "reuse      an endless cache finds %.2f %% of prompt tokens", 100*u.TokenHit)
	if u.FullBlocks != nil {
		fmt.Fprintf(w, " (full blocks only %.2f %%), %.2f %% of blocks, %.0f distinct", 100**u.FullBlocks, 100**u.BlockHit, u.Distinct)
	}
	if u.Kept > 0 {
		fmt.Fprintf(w, "; kept within sessions %.2f %%", 100*u.Kept)
	}
	if u.Estimated {
		fmt.Fprint(w, "; estimated from a sample of blocks")
	}
	fmt.Fprintln(w)
}

// printPool prints what caches of the pool's size find; nothing if none was asked for.
func printPool(w io.Writer, p *describe.Pool) {
	switch {
	case p == nil:
	case p.TokenHit == nil || p.Endless == nil:
		fmt.Fprintf(w, "  of the pool's %d blocks of %d tokens: unknown\n", p.Blocks, p.BlockTokens)
	default:
		fmt.Fprintf(w, "  in whole blocks of %d tokens, one request after the other: %.2f %% by one cache of the pool's %d, %.2f %% by an endless one\n",
			p.BlockTokens, 100**p.TokenHit, p.Blocks, 100**p.Endless)
	}
}

// describePool finds what a cache of the plan's engines would hold of a trace. It reads
// the trace into memory.
func describePool(flags *traceFlags, path string, p *plan.Plan) (*describe.Pool, error) {
	setup, err := newEngineSetup(p)
	if err != nil {
		return nil, err
	}
	blocks := cacheBlocks(p, &setup)
	if blocks == 0 {
		return nil, errors.New("--engine.enable-prefix-caching: these engines keep no prefixes, so there is no hit to tell: leave out the flags of engines")
	}
	format, opts, err := flags.options(path)
	if err != nil {
		return nil, err
	}
	t, err := trace.Open(format, path, opts)
	if err != nil {
		return nil, err
	}
	return describe.OfPool(t, p.EngineBlockSize, blocks), nil
}

// figure is a number, or ? for one that is not known.
func figure(v *float64, format string) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprintf(format, *v)
}

func seconds(s float64) time.Duration { return time.Duration(s * 1e9).Round(time.Millisecond) }
