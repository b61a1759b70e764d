package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"goodput/fakeengine/router"
	"goodput/fakeengine/shaper"
	"goodput/loadgen/plan"
)

// routerList is the value of --router that asks for what it may be.
const routerList = "list"

// writeRouters prints the rules and their parameters.
func writeRouters(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range router.Names() {
		fmt.Fprintf(t, "%s\t\t%s\n", r.Name, r.Help)
		for _, p := range r.Params {
			fmt.Fprintf(t, "\t:%s=%s\t%s\n", p.Name, p.Default, p.Help)
		}
	}
	fmt.Fprint(t, "\nParameters follow the name after a colon, as in --router p2c:d=3,replace=true.\n")
	return t.Flush()
}

// routersText names the routers of the pool.
func routersText(p *plan.Plan) string {
	s := "router " + p.Router
	if p.Routers > 1 {
		s = fmt.Sprintf("%d routers %s", p.Routers, p.Router)
	}
	if len(p.Shaper) > 0 {
		s = fmt.Sprintf("%s in front of %s", strings.Join(p.Shaper, " and "), s)
	}
	if p.Canary != "" {
		s += fmt.Sprintf(", and %s for half of the load, by %s,", p.Canary, p.CanaryBy)
	}
	if p.Scrape > 0 {
		s += fmt.Sprintf(" on reports every %v", p.Scrape)
	}
	if p.ScrapeStagger {
		s += ", staggered"
	}
	return s
}

// newShapers makes what is in front of the plan's routers.
func newShapers(p *plan.Plan) ([]shaper.Shaper, error) {
	var out []shaper.Shaper
	for i, text := range p.Shaper {
		s, err := shaper.New(text, p.Chance()+uint64(i)<<32)
		if err != nil {
			return nil, fmt.Errorf("--shaper: %w", err)
		}
		out = append(out, s)
	}
	return out, nil
}

// writeShapers prints the shapers and their parameters.
func writeShapers(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range shaper.Names() {
		fmt.Fprintf(t, "%s\t\t%s\n", s.Name, s.Help)
		for _, p := range s.Params {
			fmt.Fprintf(t, "\t:%s=%s\t%s\n", p.Name, p.Default, p.Help)
		}
	}
	fmt.Fprint(t, "\nParameters follow the name after a colon, as in --shaper vtc:in-flight=32,variant=fixed.\n")
	return t.Flush()
}
