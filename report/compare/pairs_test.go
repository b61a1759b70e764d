package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"goodput/loadgen/record"
	"goodput/report/gate"
	"goodput/report/health"
	"goodput/report/query"
	"goodput/report/render"
)

// trialOf is a run with an attainment and a number of retries.
func trialOf(arm string, seed uint64, met, attempts int64) *Trial {
	f := &query.Figures{Scheduled: 100, Sent: 100, SLO: true, Judged: 100, Met: met, Window: 1e9}
	f.Attempts.N = attempts
	f.Outcomes[record.OK] = 100
	return &Trial{Arm: arm, Seed: seed, Report: &render.Report{Figures: f, Health: health.Health{Verdict: health.OK}}}
}

func setOf(arms ...[]*Trial) *Set {
	s := &Set{Dir: "runs/x", Trials: arms}
	for _, a := range arms {
		s.Arms = append(s.Arms, a[0].Arm)
	}
	for _, t := range arms[0] {
		s.Seeds = append(s.Seeds, t.Seed)
	}
	return s
}

func find(t testing.TB, s *Set, arm, metric string) Pair {
	t.Helper()
	for _, p := range s.Pairs() {
		if p.Arm == arm && p.Metric.Name == metric {
			return p
		}
	}
	t.Fatalf("no pair of %s %s", arm, metric)
	return Pair{}
}

func TestPairs(t *testing.T) {
	base := []*Trial{trialOf("a", 0, 80, 100), trialOf("a", 1, 90, 100), trialOf("a", 2, 70, 100)}
	half := []*Trial{trialOf("b", 0, 40, 107), trialOf("b", 1, 45, 108), trialOf("b", 2, 35, 109)}
	equal := []*Trial{trialOf("c", 0, 80, 100), trialOf("c", 1, 90, 100), trialOf("c", 2, 70, 100)}
	s := setOf(base, half, equal)
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if p := find(t, s, "b", "goodput"); !p.Ratio || math.Abs(p.Value-0.5) > 1e-12 || !p.Conclusive() || p.Better() {
		t.Errorf("goodput of half: %+v", p)
	}
	// Differences 40, 45, 35 points: mean 40, and Student's 4.303 times 5 over the root of 3.
	p := find(t, s, "b", "attainment")
	if p.Ratio || math.Abs(p.Value+0.4) > 1e-12 || math.Abs(p.Lo+0.4+0.12421) > 1e-4 {
		t.Errorf("attainment of half: %+v", p)
	}
	if p := find(t, s, "b", "retries"); p.Value != 8 || p.BaseMean != 0 || p.Better() {
		t.Errorf("retries, from none: %+v", p)
	}
	for _, m := range []string{"goodput", "attainment", "retries"} {
		if p := find(t, s, "c", m); p.Conclusive() || p.Change() != "the same" {
			t.Errorf("%s of equal arms: %s, %+v", m, p.Change(), p)
		}
	}
}

// One seed gives a difference and no interval, and nothing conclusive.
func TestOneSeed(t *testing.T) {
	s := setOf([]*Trial{trialOf("a", 0, 80, 100)}, []*Trial{trialOf("b", 0, 40, 100)})
	if p := find(t, s, "b", "goodput"); p.Value != 0.5 || !math.IsNaN(p.Lo) || p.Conclusive() {
		t.Errorf("%+v", p)
	}
	var b bytes.Buffer
	if err := s.Text(&b); err != nil || !strings.Contains(b.String(), "one seed has no interval") {
		t.Errorf("%v:\n%s", err, &b)
	}
	b.Reset()
	if err := s.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var out struct {
		Pairs []struct {
			Metric   string
			Ratio    *float64
			Lo       *float64
			HolmP    *float64 `json:"holm_p"`
			BaseMean *float64 `json:"base_mean"`
		}
	}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	for _, p := range out.Pairs {
		if p.Lo != nil || p.HolmP != nil || p.BaseMean == nil {
			t.Errorf("%+v", p)
		}
	}
}

// With more arms a difference needs more evidence (Holm), never less.
func TestHolmOverArms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		met := rapid.SliceOfN(rapid.Int64Range(1, 100), 4, 4)
		row := func(name string) []*Trial {
			var out []*Trial
			for i, v := range met.Draw(t, name) {
				out = append(out, trialOf(name, uint64(i), v, 100))
			}
			return out
		}
		arms := [][]*Trial{row("base"), row("b"), row("c"), row("d")}
		for _, p := range setOf(arms...).Pairs() {
			if p.Holm < p.P || p.Holm > 1 {
				t.Fatalf("p %v, Holm's %v", p.P, p.Holm)
			}
		}
	})
}

func TestCheckNamesTheMissingRun(t *testing.T) {
	s := setOf([]*Trial{trialOf("a", 7, 80, 100)}, []*Trial{trialOf("b", 7, 80, 100)})
	s.Trials[1][0] = nil
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "arm b has no run with seed 7") {
		t.Error(err)
	}
}

func TestStatisticOfUnknown(t *testing.T) {
	trial := trialOf("a", 0, 80, 100)
	for _, m := range []string{"ttft", "queue", "hit_rate", "knee", "imbalance", "preemptions"} {
		if v := trial.Statistic(gate.Known(m), gate.Agg{Name: "p", Q: .5}).Value; !math.IsNaN(v) {
			t.Errorf("%s of a run without any: %v", m, v)
		}
	}
}

func TestParseIndex(t *testing.T) {
	const good = `{"schema":1,"arms":[{"name":"a","set":[]},{"name":"b","set":[{"key":"tp","value":"2"}]}],"seeds":[0],"runs":[{"arm":"a","seed":0,"dir":"a-0"}]}`
	if _, err := ParseIndex([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"schema", `"schema":1`, `"schema":2`, "schema 2"},
		{"outside", `"dir":"a-0"`, `"dir":"../a-0"`, "no directory below"},
		{"unknown arm", `"arm":"a"`, `"arm":"c"`, "not listed"},
		{"unknown seed", `"seed":0`, `"seed":3`, "not listed"},
		{"arm twice", `"name":"b"`, `"name":"a"`, "twice"},
		{"unknown key", `"seeds"`, `"sedes"`, "unknown field"},
		{"more text", good, good + " 1", "after the closing brace"},
		{"run twice", `"runs":[`, `"runs":[{"arm":"a","seed":0,"dir":"x"},`, "two runs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseIndex([]byte(strings.Replace(good, c.old, c.new, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte(`{"schema":1,"arms":[{"name":"a","set":[]}],"seeds":[0],"runs":[{"arm":"a","seed":0,"dir":"a-0"}]}`))
	f.Add([]byte(`{"schema":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := ParseIndex(text)
		if err != nil {
			return
		}
		dir := t.TempDir()
		if err := x.Write(dir); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := ReadIndex(dir); err != nil || !ok {
			t.Errorf("what was read can't be read again: %v", err)
		}
	})
}

func ExampleSet_Pairs() {
	s := setOf(
		[]*Trial{trialOf("old", 0, 80, 100), trialOf("old", 1, 60, 100)},
		[]*Trial{trialOf("new", 0, 88, 100), trialOf("new", 1, 66, 100)},
	)
	for _, p := range s.Pairs() {
		if p.Metric.Name == "goodput" {
			fmt.Printf("%s %s %s conclusive %v\n", p.Arm, p.Title, p.Change(), p.Conclusive())
		}
	}
	// Output: new goodput +10.0 % [+10.0 %, +10.0 %] conclusive true
}
