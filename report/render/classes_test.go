package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/record"
	"goodput/report/query"
)

// withClasses is a report of two classes, of which the second had no request.
func withClasses() *Report {
	r := sample()
	part := *r.Figures
	part.Scheduled, part.Met, part.Judged = 250, 200, 240
	part.Outcomes = [record.NumOutcomes]int64{record.OK: 240, record.Reset: 10}
	part.MeasuredHit = query.Ratio{}
	r.Classes = []Class{{Name: "chat|x", SLO: "ttft:2000", Priority: 3, Figures: &part}, {Name: "batch"}}
	return r
}

func TestClassRows(t *testing.T) {
	want := [][]string{
		{"chat|x", "250", "240", "10", "2.500", "2.000", "80.00 %", "100.0", "250.0", "900.0", "7.000", "-", "-", "-", "ttft:2000"},
		{"batch", "0", "0", "0", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"},
	}
	if diff := cmp.Diff(want, withClasses().ClassRows()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, row := range want {
		if len(row) != len(ClassHead()) {
			t.Errorf("%d columns, %d heads", len(row), len(ClassHead()))
		}
	}
}

func TestClassesInEachFormat(t *testing.T) {
	var text, markdown, object bytes.Buffer
	r := withClasses()
	for _, err := range []error{Text(&text, r), Markdown(&markdown, r), JSON(&object, r)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(text.String(), "\nchat|x  250  240") {
		t.Errorf("no row of the class in:\n%s", &text)
	}
	if !strings.Contains(markdown.String(), `| chat\|x | 250 | 240 |`) {
		t.Errorf("no row of the class in:\n%s", &markdown)
	}
	var got struct {
		Classes []struct {
			Name       string
			SLO        *string
			Priority   int
			Requests   int64
			Outcomes   map[string]int64
			Attainment *float64
			GoodputRPS *float64 `json:"goodput_rps"`
			Cache      struct {
				MeasuredHit *float64 `json:"measured_hit"`
			}
		}
	}
	if err := json.Unmarshal(object.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if n := len(got.Classes); n != 2 {
		t.Fatalf("%d classes", n)
	}
	c := got.Classes[0]
	if c.Name != "chat|x" || c.SLO == nil || *c.SLO != "ttft:2000" || c.Priority != 3 || c.Requests != 250 || c.Outcomes["reset"] != 10 ||
		c.Attainment == nil || *c.Attainment != 0.8 || c.GoodputRPS == nil || *c.GoodputRPS != 2 || c.Cache.MeasuredHit != nil {
		t.Errorf("%+v", c)
	}
	if c = got.Classes[1]; c.SLO != nil || c.Attainment != nil || c.GoodputRPS != nil || c.Requests != 0 {
		t.Errorf("a class without requests: %+v", c)
	}
	r.Classes = nil
	text.Reset()
	if err := Text(&text, r); err != nil || strings.Contains(text.String(), "\nclass ") {
		t.Errorf("%v, classes of a load without any:\n%s", err, &text)
	}
}
