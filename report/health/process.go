package health

import (
	"fmt"
	"time"

	"goodput/loadgen/record"
	"goodput/report/query"
)

const (
	// full is the share of processors from which they count as used up: nothing is left
	// for what comes at random.
	full = 0.9
	// enoughWaits is the number of waits below which their P99 rests on two or three.
	enoughWaits = 300
)

// cause is what of the process explains that requests left late, with what to change,
// and the verdict that follows.
func cause(g *record.Generator) (Verdict, string) {
	share, known := g.Share()
	switch {
	case known && share >= full:
		return ClientLimited, fmt.Sprintf("the generator used %s: lower the rate, or give it more processors", used(share, g.Procs))
	case known && g.Busiest != nil && *g.Busiest >= full:
		return ClientLimited, fmt.Sprintf("the generator used %s in its busiest second, %s in the mean: lower the rate, or give it more processors",
			used(*g.Busiest, g.Procs), used(share, g.Procs))
	case known && g.MachineBusy != nil && *g.MachineBusy >= full:
		return Late, fmt.Sprintf("the processors of the machine were busy for %.0f %% of the time, and the generator used %s: end what else runs there, or move the generator to a machine of its own",
			100**g.MachineBusy, used(share, g.Procs))
	case g != nil && g.GCPauseMax != nil && *g.GCPauseMax > maxLag:
		return Late, fmt.Sprintf("garbage collections stopped the generator for up to %s: give it more memory and GOGC=400, or lower the rate", short(float64(*g.GCPauseMax)))
	}
	return Late, "lower the rate or give the generator more processor"
}

// used is a share of processors in words. Threads in the kernel can make it more than
// the whole.
func used(share float64, procs int) string {
	return fmt.Sprintf("%.0f %% of %d processor%s", 100*min(1, share), procs, plural(procs))
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// bunched says which requests left together, if those that waited for a place can't
// be among them.
func bunched(f *query.Figures) string {
	a := &f.Arrivals
	if a.Bursts == 0 || f.Manifest.Counters[record.CounterCapQueued] > 0 {
		return ""
	}
	return fmt.Sprintf(", %d of %d in catch-up bursts of up to %d", a.InBursts, a.N, a.Largest)
}

// judgeProcess looks at what kept the generator from seeing and sending in time though
// its schedule held.
func judgeProcess(f *query.Figures, limit time.Duration, add func(v Verdict, format string, args ...any)) {
	c := f.Manifest.Counters
	g := f.Manifest.Generator
	if n := c[record.CounterNoFiles]; n > 0 {
		add(ClientLimited, "%d attempts failed because no further file could be opened%s: raise the limit (ulimit -n), or lower the rate or --max-concurrency", n, fileText(g))
	}
	if n := c[record.CounterNoPorts]; n > 0 {
		add(ClientLimited, "%d attempts failed for want of a local port%s: widen net.ipv4.ip_local_port_range, or have the server keep connections open", n, portText(g))
	}
	// The stamps of what a server sends are made by goroutines. In this process nothing
	// is stamped but by the loop, whose lag says it all.
	if g == nil || f.Manifest.Target[record.TargetModel] == "" {
		return
	}
	if g.SchedP99 != nil && g.Waits >= enoughWaits && *g.SchedP99 > limit {
		verdict, why := cause(g)
		if verdict == Late {
			verdict = ClientLimited // the schedule may have held
		}
		add(verdict, "goroutines waited up to %s for a processor (P99), so that answers were stamped late; %s", short(float64(*g.SchedP99)), why)
	}
}

func fileText(g *record.Generator) string {
	if g == nil || g.FileLimit == nil {
		return ""
	}
	return fmt.Sprintf(" (%d are allowed)", *g.FileLimit)
}

func portText(g *record.Generator) string {
	if g == nil || g.Ports == nil || g.Sockets == nil {
		return ""
	}
	return fmt.Sprintf(" (%d sockets on the machine, %d ports to one address)", *g.Sockets, *g.Ports)
}
