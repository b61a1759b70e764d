package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"goodput/report/render"
)

// ofClasses is a run with a class of each name, which has so many of 100 requests that met
// what they were promised; below 0: the class had none.
func ofClasses(arm string, seed uint64, met map[string]int64, names ...string) *Trial {
	t := trialOf(arm, seed, 50, 100)
	for _, name := range names {
		c := render.Class{Name: name}
		if met[name] >= 0 {
			c.Figures = trialOf(arm, seed, met[name], 100).Report.Figures
		}
		t.Report.Classes = append(t.Report.Classes, c)
	}
	return t
}

// TestClasses: each class is compared by its own figures, and one that a run has no
// requests of is left out.
func TestClasses(t *testing.T) {
	var base, arm []*Trial
	for seed := range uint64(3) {
		n := int64(seed)
		base = append(base, ofClasses("a", seed, map[string]int64{"chat": 80 + n, "batch": 60, "rare": 5}, "chat", "batch", "rare"))
		arm = append(arm, ofClasses("b", seed, map[string]int64{"chat": 40 + n, "batch": 60, "rare": n - 1}, "chat", "batch", "rare"))
	}
	s := setOf(base, arm)
	list := s.Classes()
	if len(list) != 2 || list[0].Name != "chat" || list[1].Name != "batch" {
		t.Fatalf("%d classes: %+v", len(list), list)
	}
	if p := find(t, list[0].Set, "b", "attainment"); math.Abs(p.Value+0.4) > 1e-12 || !p.Conclusive() || p.Better() {
		t.Errorf("attainment of chat: %+v", p)
	}
	if p := find(t, list[1].Set, "b", "attainment"); p.Value != 0 {
		t.Errorf("attainment of batch: %+v", p)
	}
	var text, markdown, object bytes.Buffer
	for name, err := range map[string]error{"text": s.Text(&text), "markdown": s.Markdown(&markdown), "json": s.JSON(&object)} {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, want := range []string{"\n   chat    b  ", "chat   b    attainment", "* worse"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	if !strings.Contains(markdown.String(), "| chat | b | attainment | -40.00 points") || strings.Contains(markdown.String(), "rare") {
		t.Errorf("the Markdown is\n%s", markdown.String())
	}
	var out struct {
		Classes []struct {
			Name string
			Arms []struct {
				Name    string
				Figures []struct {
					Metric string
					Mean   *float64
				}
			}
			Pairs []struct{ Metric, Arm string }
		}
	}
	if err := json.Unmarshal(object.Bytes(), &out); err != nil || len(out.Classes) != 2 || len(out.Classes[0].Arms) != 2 {
		t.Fatalf("%v, %+v", err, out)
	}
	for _, p := range out.Classes[0].Pairs {
		if p.Metric == "imbalance" || p.Metric == "retries" {
			t.Errorf("class chat has the pool's %s", p.Metric)
		}
	}
}

// TestNoClasses: of a load that is all alike nothing is said of classes.
func TestNoClasses(t *testing.T) {
	s := setOf([]*Trial{trialOf("a", 0, 80, 100)}, []*Trial{trialOf("b", 0, 40, 100)})
	var b bytes.Buffer
	if err := s.Text(&b); err != nil || strings.Contains(b.String(), "classes") || len(s.Classes()) != 0 {
		t.Errorf("%v\n%s", err, b.String())
	}
	none := &Set{Arms: []string{"a"}, Trials: [][]*Trial{{nil}}}
	if got := none.Classes(); got != nil {
		t.Errorf("%v", got)
	}
}
