package tui_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"goodput/loadgen/monitor"
	"goodput/loadgen/record"
	"goodput/report/knee"
	"goodput/report/tui"
)

// laboratory is an Experiment of one state.
type laboratory struct {
	fixed
	doing tui.Doing
}

func (l laboratory) Doing() tui.Doing { return l.doing }

// searching is a sweep of two objectives, the second half way.
func searching() laboratory {
	seeds := []uint64{0, 1, 2}
	var trials []knee.Trial
	for i, rate := range []float64{20, 40, 80, 160, 113, 95} {
		trials = append(trials, knee.Trial{Seed: 0, Rate: rate, N: 300, Good: 297, Bad: 3, Pass: rate < 100, Stop: knee.Complete})
		if rate > 150 {
			trials[i].Good, trials[i].Bad, trials[i].Stop, trials[i].Drift = 40, 16, knee.Curtailed, true
		}
	}
	trials = append(trials, knee.Trial{Seed: 1, Rate: 95, N: 300, Good: 290, Bad: 1, Pass: true, Stop: knee.Curtailed},
		knee.Trial{Seed: 1, Rate: 119, N: 300, Invalid: "the generator was late"})
	s := knee.Stand(seeds, 0.2, trials)
	o := tui.Objective{SLO: "ttft p(95) <= 2s", Seeds: s.Seeds, Settled: s.Settled, Rate: monitor.Number(s.Rate), Lo: monitor.Number(s.Lo), Hi: monitor.Number(s.Hi)}
	for _, t := range trials {
		row := record.Trial{SLO: &o.SLO, Seed: int64(t.Seed), Rate: t.Rate, N: 300, Good: int32(t.Good), Bad: int32(t.Bad), Stop: string(t.Stop), Drift: t.Drift, Verdict: "fail"}
		p95, goodput := int64(t.Rate*1e7), t.Goodput()
		row.TTFTP95 = &p95
		if !math.IsNaN(goodput) {
			row.Goodput = &goodput
		}
		switch {
		case t.Invalid != "":
			row.Verdict, row.Invalid = "invalid", &t.Invalid
		case t.Pass:
			row.Verdict = "pass"
		}
		o.Trials = append(o.Trials, row)
	}
	first := tui.Objective{
		SLO: "tpot p(95) <= 50ms", Outcome: string(knee.OK), Rate: 101, Lo: 98.5, Hi: 104, Settled: 3,
		Seeds:  []knee.SeedStanding{{Seed: 0, Lo: 99, Hi: 103, Trials: 4, Settled: true}},
		Trials: o.Trials[:2],
	}
	pic := monitor.Blank("4 engines")
	pic.CPU, pic.Elapsed = 1.5, 12*1000*ms
	return laboratory{fixed{pic: pic}, tui.Doing{Search: &tui.Search{
		Method: "bisect", N: 300, Tolerance: 0.2, Objectives: []tui.Objective{first, o}, UnderWay: []tui.Probe{{Seed: 1, Rate: 106.5}, {Seed: 2, Rate: 95}},
	}}}
}

// comparing is a comparison of three arms with four of five seeds.
func comparing() laboratory {
	none := monitor.None()
	c := &tui.Comparison{
		Arms: []tui.Arm{{Name: "round-robin", Done: 5}, {Name: "p2c", Done: 4}, {Name: "prefix-hash with a long name", Done: 4}}, Seeds: 5, Paired: 4,
		UnderWay: []string{"p2c seed 4"}, Invalid: []string{"p2c, seed 2 (late): lag p99 of 12 ms"},
		Figures: []tui.Figure{
			{Title: "ttft p95", Base: "94.8 ms", Cells: []tui.Difference{
				{Mean: "82.15 ms", Change: "-13.3 % [-15.3 %, -11.3 %]", Verdict: tui.Better, Value: -0.133, Lo: -0.153, Hi: -0.113},
				{Mean: "102.5 ms", Change: "+8.1 % [+2.9 %, +13.5 %]", Verdict: tui.Worse, Value: 0.081, Lo: 0.029, Hi: 0.135},
			}},
			{Title: "hit rate", Base: "0.00 %", Cells: []tui.Difference{
				{Mean: "1.20 %", Change: "+1.20 points [-0.10 points, +2.50 points]", Verdict: tui.Inconclusive, Value: none, Lo: none, Hi: none},
				{Mean: "-", Change: "-", Value: none, Lo: none, Hi: none},
			}},
		},
	}
	pic := monitor.Blank("runs/rules")
	pic.Total, pic.Sent, pic.InFlight, pic.Elapsed = 15, 13, 0, 30*1000*ms
	return laboratory{fixed{pic: pic}, tui.Doing{Comparison: c}}
}

// looked is a model of an experiment that has received its picture and these keys.
func looked(w, h int, l laboratory, o tui.Options, keys ...string) tea.Model {
	var m tea.Model = tui.New(l, o)
	m, _ = m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	m, _ = m.Update(m.Init()())
	return press(m, keys...)
}

func options(s tui.Screen) tui.Options {
	return tui.Options{Colors: termenv.Ascii, Screens: append([]tui.Screen{s}, tui.OfRun()...)}
}

// TestExperimentFrames compares the screens of experiments with those that were looked at.
func TestExperimentFrames(t *testing.T) {
	for _, size := range sizes {
		for _, c := range []struct {
			screen tui.Screen
			lab    laboratory
		}{{tui.Knee, searching()}, {tui.Compare, comparing()}} {
			name := fmt.Sprintf("%v-%dx%d.txt", c.screen, size[0], size[1])
			t.Run(name, func(t *testing.T) { golden(t, name, looked(size[0], size[1], c.lab, options(c.screen)).View()) })
		}
	}
}

// TestExperimentNumbers: what stands on the screens is what the experiment says.
func TestExperimentNumbers(t *testing.T) {
	s, c := searching(), comparing()
	o := s.doing.Search.Objectives[1]
	var knees []string
	for _, x := range o.Seeds {
		for _, v := range []float64{x.Lo, x.Hi} {
			if v > 0 {
				knees = append(knees, strings.Replace(fmt.Sprintf("%.1f/s", v), "113.0", "113", 1))
			}
		}
	}
	failed := searching()
	failed.doing.Search.Objectives[1].Outcome, failed.doing.Search.Objectives[1].Why = string(knee.Inconclusive), "seed 2: the trial at 25.34/s was spoiled"
	for i := range failed.doing.Search.Objectives[1].Trials {
		if x := &failed.doing.Search.Objectives[1].Trials[i]; x.Verdict == "invalid" {
			x.Good = 17 // of a part: it says nothing
		}
	}
	for _, x := range []struct {
		name   string
		screen tui.Screen
		lab    laboratory
		keys   []string
		want   []string
	}{
		{"search", tui.Knee, s, nil, append(knees, o.SLO, fmt.Sprintf("knee %.0f/s so far", float64(o.Rate)), fmt.Sprintf("95.0/s, %d of 3 seeds settled", o.Settled), fmt.Sprintf("running %d trials", len(o.Trials)),
			"seed 1 at 106/s, seed 2 at 95.0/s", "99.00 %", "≤ 94.67 %", "≥ 96.67 %", "800 ms", "the generator was late", "backlog grows", "settled")},
		{"objective before", tui.Knee, s, []string{"o"}, []string{"tpot p(95) <= 50ms knee 101/s [98.5, 104]", "[ ]: 95 % between", "passed at"}},
		{"no knee", tui.Knee, failed, nil, []string{"<= 2s inconclusive seed 2: the trial at 25.34/s was spoiled", " 8 119/s 1 – – – – invalid "}},
		{"both round", tui.Knee, s, []string{"o", "o"}, []string{o.SLO}},
		{"trials down", tui.Knee, s, []string{"down", "down"}, []string{" 6 95.0/s"}},
		{"compare", tui.Compare, c, nil, []string{
			"round-robin 5/5", "p2c 4/5", "under way p2c seed 4", "4 of 5 so far", "INVALID p2c, seed 2 (late): lag p99 of 12 ms",
			"94.8 ms", "82.15 ms -13.3 % [-15.3 %, -11.3 %] * better", "+8.1 % [+2.9 %, +13.5 %] * worse", "inconclusive", "running 13 of 15 runs", "87 %",
		}},
		{"not begun", tui.Knee, laboratory{fixed: s.fixed}, nil, []string{"no trial yet"}},
		{"no runs", tui.Compare, laboratory{fixed: s.fixed}, nil, []string{"no run has been begun"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			v := looked(220, 60, x.lab, options(x.screen), x.keys...).View()
			text := strings.Join(strings.Fields(v), " ")
			for _, want := range x.want {
				if !strings.Contains(text, strings.Join(strings.Fields(want), " ")) {
					t.Errorf("no %q in\n%s", want, v)
				}
			}
		})
	}
}

// TestExperimentFill: as TestFramesFill, with each screen that an experiment has.
func TestExperimentFill(t *testing.T) {
	empty := comparing()
	empty.doing = tui.Doing{Search: &tui.Search{Objectives: []tui.Objective{{Rate: monitor.None(), Lo: monitor.None(), Hi: monitor.None()}}}, Comparison: &tui.Comparison{}}
	for _, lab := range []laboratory{searching(), comparing(), empty, {}} {
		for _, screen := range []tui.Screen{tui.Knee, tui.Compare} {
			for _, size := range append(sizes, [2]int{40, 10}, [2]int{60, 15}, [2]int{81, 200}) {
				for _, colors := range []termenv.Profile{termenv.Ascii, termenv.TrueColor} {
					o := options(screen)
					o.Colors = colors
					for _, keys := range [][]string{nil, {"down"}, {"?"}, {"o"}, {"2"}, {"s"}} {
						lines := strings.Split(looked(size[0], size[1], lab, o, keys...).View(), "\n")
						if len(lines) != size[1] {
							t.Fatalf("%v %v %v: %d lines", screen, size, keys, len(lines))
						}
						for _, l := range lines {
							if w := ansi.StringWidth(l); w != size[0] {
								t.Fatalf("%v %v %v: %d cells in %q", screen, size, keys, w, l)
							}
						}
					}
				}
			}
		}
	}
}

// TestExperimentKeys: the keys choose among the screens that there are.
func TestExperimentKeys(t *testing.T) {
	m := looked(120, 40, searching(), options(tui.Knee), "2")
	if v := m.View(); !strings.Contains(v, "[2 Overview]") {
		t.Error(v)
	}
	m = press(m, "8") // there are seven
	if v := m.View(); !strings.Contains(v, "[2 Overview]") {
		t.Error(v)
	}
	m, _ = m.Update(tea.MouseMsg{X: 3, Y: 1, Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
	if v := m.View(); !strings.Contains(v, "[1 Knee]") {
		t.Error(v)
	}
	m, _ = m.Update(tea.KeyMsg{Type: tea.KeyShiftTab})
	if v := m.View(); !strings.Contains(v, "[7 Heatmap]") {
		t.Error(v)
	}
}
