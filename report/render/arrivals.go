package render

import (
	"fmt"
	"strings"

	"goodput/report/query"
)

// arrivals writes how the delivered arrivals compare with the intended ones.
func (r *Report) arrivals(b *strings.Builder) {
	a := &r.Arrivals
	if !a.Known() {
		return
	}
	fmt.Fprintf(b, "arrivals   %s: KS of gaps %.3f", a.Verdict(), a.KS)
	if a.CV.Known {
		fmt.Fprintf(b, ", CV %.3g (intended %.3g)", a.CV.Delivered, a.CV.Intended)
	}
	for _, d := range []struct {
		bin string
		query.Dispersion
	}{{"1 s", a.Short}, {"10 s", a.Long}} {
		if d.Known {
			fmt.Fprintf(b, ", dispersion at %s %.3g (intended %.3g)", d.bin, d.Delivered, d.Intended)
		}
	}
	if a.Bursts > 0 {
		fmt.Fprintf(b, ", %d catch-up bursts of %d requests, at most %d at once", a.Bursts, a.InBursts, a.Largest)
	}
	if r.Sent > a.N && a.N >= query.MaxArrivals/2 {
		fmt.Fprintf(b, "; of the first %d requests", a.N)
	}
	b.WriteByte('\n')
}

type jsonArrivals struct {
	Verdict      string         `json:"verdict"`
	N            int64          `json:"n"`
	KS           *float64       `json:"ks"`
	GapCV        jsonDispersion `json:"gap_cv"`
	Dispersion1  jsonDispersion `json:"dispersion_1s"`
	Dispersion10 jsonDispersion `json:"dispersion_10s"`
	Bursts       int64          `json:"bursts"`
	InBursts     int64          `json:"requests_in_bursts"`
	Largest      int64          `json:"largest_burst"`
}

type jsonDispersion struct {
	Intended  *float64 `json:"intended"`
	Delivered *float64 `json:"delivered"`
}

func arrivalsJSON(a *query.Arrivals) jsonArrivals {
	of := func(d query.Dispersion) jsonDispersion {
		return jsonDispersion{maybe(d.Intended, d.Known), maybe(d.Delivered, d.Known)}
	}
	return jsonArrivals{a.Verdict(), a.N, maybe(a.KS, a.Known()), of(a.CV), of(a.Short), of(a.Long), a.Bursts, a.InBursts, a.Largest}
}
