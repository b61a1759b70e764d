package html

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"goodput/report/knee"
	"goodput/report/render"
	"goodput/report/stats"
)

// swept is a sweep of three seeds with every kind of trial.
func swept() *render.Sweep {
	s := &render.Sweep{Dir: "runs/<s>", Method: "bisect", Target: "4 engines", Virtual: true, N: 300, Seeds: []uint64{1, 2, 3}, Tolerance: 0.1}
	k := knee.Knee{Outcome: knee.OK, Rate: 40, Lo: 37, Hi: 43}
	for seed := uint64(1); seed <= 3; seed++ {
		k.Seeds = append(k.Seeds, knee.SeedKnee{Seed: seed, Outcome: knee.OK, Rate: 40, Lo: 39, Hi: 41})
		for _, rate := range []float64{10, 20, 39} {
			some := stats.Summary{N: 300, P50: rate * 1e6, P95: rate * 3e6, P99: rate * 4e6}
			k.Trials = append(k.Trials, knee.Trial{Seed: seed, Rate: rate, N: 300, Good: 297, Bad: 3, Pass: true, Stop: knee.Complete, Figures: knee.Figures{TTFT: some, TPOT: some}})
		}
		k.Trials = append(k.Trials, knee.Trial{Seed: seed, Rate: 41, N: 300, Good: 100, Bad: 16, Stop: knee.Curtailed, Drift: true})
	}
	k.Trials = append(k.Trials, knee.Trial{Seed: 9, Rate: 50, N: 300, Invalid: "late"})
	lost := knee.Knee{Outcome: knee.Infeasible, Rate: 0, Lo: math.NaN(), Hi: math.NaN(), Why: "3 of 40 requests met it when alone"}
	s.Knees = []render.SweepKnee{{SLO: "ttft p(95) <= 2s", Knee: k}, {SLO: "<script>", Knee: lost}}
	return s
}

// Without an objective the page has a curve of what was delivered, and no verdict.
func TestOpenSweepPage(t *testing.T) {
	s := &render.Sweep{Dir: "g", Method: "grid", N: 200, Seeds: []uint64{1}, Knees: []render.SweepKnee{{}}}
	for _, rate := range []float64{10, 20, 40} {
		some := stats.Summary{N: 300, P50: rate * 1e6, P95: rate * 3e6}
		s.Knees[0].Trials = append(s.Knees[0].Trials, knee.Trial{
			Rate: rate, N: 200, Good: 190, Bad: 10, Open: true, Stop: knee.Complete,
			Figures: knee.Figures{TTFT: some, TPOT: some, E2E: some, Span: 200 / rate, Delivered: rate - 1, MaxInFlight: 777},
		})
	}
	var b bytes.Buffer
	if err := WriteSweeps(&b, []*render.Sweep{s}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{"Delivered", "ended ok %", `<td class="words">complete</td>`, "<td>95.00</td>", render.InFlightNote} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, bad := range []string{"attained", "met the objective", "met all", ">pass<", "Attainment"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
}

func TestSweepPage(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSweeps(&b, []*render.Sweep{swept()}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, want := range []string{
		"40 requests/s [37, 43], between-seed interval for 300-request trials", "slo-infeasible: 3 of 40", ">knee</text>", "runs/&lt;s&gt;",
		"&lt;script&gt;", "at most (ended early)", "33.33 to 94.67", "invalid: late", "Time to first token",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, bad := range []string{"<script", "NaN", "Inf<", "http://", "src="} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	if n, svgs := strings.Count(page, "<figcaption>"), strings.Count(page, `role="img"`); n != 4 || n != svgs {
		t.Errorf("%d captions for %d charts, want 4", n, svgs)
	}
	figures, err := SweepPlots([]*render.Sweep{swept(), swept()})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := range figures {
		names[figures[i].Name] = true
	}
	if len(figures) != 8 || len(names) != 8 {
		t.Errorf("%d charts of %d names", len(figures), len(names))
	}
	if err := WriteSweeps(&b, nil); err == nil {
		t.Error("a page of no sweep")
	}
}
