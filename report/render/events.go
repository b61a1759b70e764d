package render

import (
	"fmt"
	"strings"
	"time"
)

// shownEvents is how many events the text has lines for.
const shownEvents = 10

// events writes what was done to the target, and to the rate by hand.
func (r *Report) events(b *strings.Builder) {
	all := r.Manifest.Events
	for i, e := range all {
		if i == shownEvents {
			fmt.Fprintf(b, "           … and %d more (manifest.json)\n", len(all)-i)
			return
		}
		if e.Percent > 0 {
			fmt.Fprintf(b, "rate       by hand at %s: %d %% of the planned\n", seconds(time.Duration(e.At)), e.Percent)
			continue
		}
		what, where := e.What, "all replicas"
		if e.Over {
			what += " over"
		}
		if e.Replica != "" {
			where = "replica " + e.Replica
		}
		fmt.Fprintf(b, "fault      at %s, %s: %s\n", seconds(time.Duration(e.At)), where, what)
	}
}
