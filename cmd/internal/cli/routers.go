package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"goodput/fakeengine/router"
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
