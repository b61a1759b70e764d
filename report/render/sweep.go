package render

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"goodput/loadgen/record"
	"goodput/report/knee"
	"goodput/report/stats"
)

// Sweep is what came out of a sweep.
type Sweep struct {
	Dir, PlanHash string
	// Method is bisect, grid or ramp; Preset is where the numbers came from.
	Method, Preset string
	// Arm is what was loaded, in short, and Target at length.
	Arm, Target string
	Virtual     bool
	N           int // requests of a trial
	Seeds       []uint64
	Tolerance   float64
	Knees       []SweepKnee
	// Bends are the inflections of the curve, where no objective was given.
	Bends []Bend
	// Interrupted: it was stopped early.
	Interrupted bool
}

// SweepKnee is what was found for one objective, or the trials of a grid.
type SweepKnee struct {
	SLO string // empty: there is no objective
	knee.Knee
}

// Bend is one inflection.
type Bend struct {
	Name string
	Rate float64 // requests per second; NaN: there is none
	Note string
}

// IntervalLabel says what the interval of a knee is.
func IntervalLabel(n int) string {
	return fmt.Sprintf("between-seed interval for %d-request trials", n)
}

// SweepText prints a sweep for people.
func SweepText(w io.Writer, s *Sweep) error {
	var b strings.Builder
	fmt.Fprintf(&b, "sweep      %s, %d requests a trial, %d seeds", s.Method, s.N, len(s.Seeds))
	if s.Method == "bisect" {
		fmt.Fprintf(&b, ", tolerance %.4g %%", 100*s.Tolerance)
	}
	fmt.Fprintf(&b, "\ntarget     %s\n", s.Target)
	if s.Interrupted {
		b.WriteString("INTERRUPTED: what follows is a part\n")
	}
	for i := range s.Knees {
		k := &s.Knees[i]
		if i == 0 {
			aloneText(&b, &k.Zero)
		}
		b.WriteString("\n")
		if k.SLO != "" {
			fmt.Fprintf(&b, "SLO        %s\n", k.SLO)
		}
		if s.Method == "bisect" {
			s.kneeText(&b, k)
		}
		curveText(&b, k)
	}
	s.bendText(&b)
	fmt.Fprintf(&b, "\nrun        %s (%s, %s)\n", s.Dir, record.TrialsName, record.KneesName)
	_, err := io.WriteString(w, b.String())
	return err
}

func aloneText(b *strings.Builder, z *knee.Zero) {
	if z.Requests == 0 {
		return
	}
	fmt.Fprintf(b, "alone      %d requests one after the other: ttft p50 %s ms, p95 %s ms; tpot p50 %s ms; e2e p50 %s ms\n",
		z.Requests, timeCell(z.TTFT, z.TTFT.P50), timeCell(z.TTFT, z.TTFT.P95), timeCell(z.TPOT, z.TPOT.P50), timeCell(z.E2E, z.E2E.P50))
}

// timeCell prints ns as ms; "-" for none.
func timeCell(s stats.Summary, ns float64) string {
	if s.N == 0 {
		return "-"
	}
	return cell(ns / 1e6)
}

func (s *Sweep) kneeText(b *strings.Builder, k *SweepKnee) {
	switch {
	case k.Outcome == knee.OK:
		fmt.Fprintf(b, "knee       %.4g requests/s", k.Rate)
		if !math.IsNaN(k.Lo) {
			fmt.Fprintf(b, " [%.4g, %.4g], %s (95 %%, %d seeds)", k.Lo, k.Hi, IntervalLabel(s.N), len(k.Seeds))
		} else {
			fmt.Fprintf(b, " for %d-request trials, one seed: no interval", s.N)
		}
		b.WriteString("\n           a longer trial sees more of the rare bad stretches: its knee is lower\n")
	case k.Outcome == "":
		b.WriteString("knee       not found\n")
	default:
		fmt.Fprintf(b, "knee       %s: %s\n", k.Outcome, k.Why)
		if lo := k.Passed(); k.Outcome == knee.Censored && lo > 0 {
			fmt.Fprintf(b, "           at least %.4g requests/s\n", lo)
		}
		if k.Outcome == knee.Infeasible && k.Zero.Tightest != "" {
			fmt.Fprintf(b, "           tightest feasible, for requests that are alone: %s\n", k.Zero.Tightest)
		}
	}
	if len(k.Seeds) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%12s %10s %10s %10s %7s\n", "seed", "knee/s", "passed at", "failed at", "trials")
	for _, x := range k.Seeds {
		n := 0
		for _, t := range k.Trials {
			if t.Seed == x.Seed {
				n++
			}
		}
		fmt.Fprintf(b, "%12d %10s %10s %10s %7d", x.Seed, rateCell(x.Rate), rateCell(x.Lo), rateCell(x.Hi), n)
		if x.Outcome != knee.OK {
			fmt.Fprintf(b, "  %s: %s", x.Outcome, x.Why)
		}
		b.WriteString("\n")
	}
}

// rateCell is blank for a rate that does not exist; a rate of 0 is none.
func rateCell(v float64) string {
	if !(v > 0) {
		return "-"
	}
	return fmt.Sprintf("%.4g", v)
}

// curveText is the goodput curve: all trials in the order of their rates.
func curveText(b *strings.Builder, k *SweepKnee) {
	if len(k.Trials) == 0 {
		return
	}
	list := byRate(k.Trials)
	met, rate, end := "attained %", "goodput/s", "verdict"
	note := "times in ms, of whole trials only; a trial whose verdict is certain is not run to its end"
	if list[0].Open {
		met, rate, end, note = "ended ok %", "delivered", "ended", "times in ms, of whole trials only; delivered: "+DeliveredNote
	}
	fmt.Fprintf(b, "\n%9s %12s %11s %10s %10s %10s %10s %10s %10s  %s\n",
		"rate/s", "seed", met, rate, "ttft p50", "ttft p95", "tpot p95", "e2e p50", "in flight", end)
	for i := range list {
		t := &list[i]
		f := &t.Figures
		rate := t.Goodput()
		if t.Open {
			rate = f.Delivered
		}
		fmt.Fprintf(b, "%9s %12d %11s %10s %10s %10s %10s %10s %10d  %s\n", rateCell(t.Rate), t.Seed, attainedCell(t), rateCell(rate),
			known(t, f.TTFT, f.TTFT.P50), known(t, f.TTFT, f.TTFT.P95), known(t, f.TPOT, f.TPOT.P95), known(t, f.E2E, f.E2E.P50), f.MaxInFlight, VerdictText(t))
	}
	fmt.Fprintf(b, "           %s\n           %s\n", note, InFlightNote)
}

// byRate sorts a copy.
func byRate(trials []knee.Trial) []knee.Trial {
	list := slices.Clone(trials)
	slices.SortStableFunc(list, func(a, b knee.Trial) int { return cmp.Or(cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.Seed, b.Seed)) })
	return list
}

// known is a cell that is blank unless the trial is whole: the figures of a part would
// be of the quicker one.
func known(t *knee.Trial, s stats.Summary, v float64) string {
	if !t.Whole() || t.Stop != knee.Complete {
		return "-"
	}
	return timeCell(s, v)
}

// DeliveredNote says what the delivered rate of a trial is.
const DeliveredNote = "successes per second, of all requests, from when a tenth of those that count had ended until nine tenths had"

// InFlightNote says what the requests in flight of a trial are.
const InFlightNote = "in flight: the most at once, also of requests before and behind those that are judged: the load goes on until these have ended"

func attainedCell(t *knee.Trial) string {
	lo, hi := t.Attainment()
	switch {
	case t.Good+t.Bad == 0:
		return "-"
	case t.Open:
		return fmt.Sprintf("%.2f", 100*float64(t.Good)/float64(t.N))
	case t.Whole():
		return fmt.Sprintf("%.2f", 100*lo)
	case t.Pass:
		return fmt.Sprintf(">= %.2f", 100*lo)
	}
	return fmt.Sprintf("<= %.2f", 100*hi)
}

// Verdict is that of one trial: pass, fail, none without an objective, or invalid.
func Verdict(t *knee.Trial) string {
	switch {
	case t.Invalid != "":
		return "invalid"
	case t.Open:
		return "none"
	case t.Pass:
		return "pass"
	}
	return "fail"
}

// VerdictText is the verdict of a trial with what else there is to say of it.
func VerdictText(t *knee.Trial) string {
	out := Verdict(t)
	switch {
	case t.Open && t.Invalid == "":
		out = string(t.Stop)
	case t.Stop != knee.Complete && t.Stop != "":
		out += ", " + string(t.Stop)
	}
	if t.Drift {
		out += ", backlog grows"
	}
	if t.Verify {
		out += ", verifies"
	}
	if t.Invalid != "" {
		out += ": " + t.Invalid
	}
	return out
}

func (s *Sweep) bendText(b *strings.Builder) {
	if len(s.Bends) == 0 {
		return
	}
	if s.Method != "ramp" {
		b.WriteString("\ninflections, without an objective (--slo gives a knee)\n")
	}
	for _, x := range s.Bends {
		value := "none"
		if !math.IsNaN(x.Rate) {
			value = fmt.Sprintf("%.4g/s", x.Rate)
		}
		fmt.Fprintf(b, "  %-22s %10s  %s\n", x.Name, value, x.Note)
	}
}
