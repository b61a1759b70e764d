package html

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/compare"
	"goodput/report/health"
	"goodput/report/query"
	"goodput/report/render"
)

// hostile is text that must not become markup.
const hostile = `<script>alert("x")</script>&'`

// recorded is the report of a run of n requests on two replicas, read back from files.
func recorded(t *testing.T, n int) *render.Report {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run<b>")
	w, err := record.Create(dir, record.Meta{
		RunID: "t", Virtual: true, Target: map[string]string{"text": hostile}, Dataset: map[string]string{"text": hostile},
	})
	if err != nil {
		t.Fatal(err)
	}
	const ms = clock.Time(time.Millisecond)
	for i := range n {
		var r record.Request
		r.Reset()
		r.Seq, r.Final, r.Replica = int64(i), true, fmt.Sprintf("%s%d", hostile, i%2)
		r.Intended = clock.Time(i) * 25 * ms
		r.Dispatched, r.Writing, r.Wrote = r.Intended, r.Intended, r.Intended
		r.FirstToken = r.Intended + clock.Time(20+i*7919%90)*ms
		r.LastToken = r.FirstToken + 400*ms
		r.Done, r.Closed = r.LastToken, r.LastToken
		r.PromptTokens, r.CachedTokens, r.OutputTokens, r.Chunks = 100, 40, 41, 41
		r.SLOMet = record.Yes
		if i%50 == 7 {
			r.Outcome, r.Error, r.SLOMet = record.HTTP5xx, hostile, record.No
		}
		w.Write(&r)
	}
	if err := w.Close(record.Final{Window: &record.Window{End: clock.Time(n) * 25 * ms}}); err != nil {
		t.Fatal(err)
	}
	f, err := query.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return &render.Report{Figures: f, Health: health.Judge(f, 0), SLO: hostile}
}

func written(t *testing.T, runs ...*render.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, runs); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The page holds what it shows, asks for nothing, and takes no text for markup.
func TestPageIsSelfContained(t *testing.T) {
	page := written(t, recorded(t, 400), recorded(t, 40))
	for _, bad := range []string{"<script", "http://", "https://", "@import", "url(", "src="} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, want := range []string{"valid", "&lt;script&gt;", "Latency", "In flight", "KV usage: the run recorded no series", "n_eff", "Compared"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if n, svgs := strings.Count(page, "<figcaption>"), strings.Count(page, `role="img"`); n == 0 || n != svgs {
		t.Errorf("%d captions for %d charts", n, svgs)
	}
	if charts, numbers := strings.Count(page, "<figure"), strings.Count(page, "<summary>Numbers"); charts != numbers {
		t.Errorf("%d charts, and %d have their numbers as a table", charts, numbers)
	}
}

func TestInvalidRunsSaySoFirst(t *testing.T) {
	r := recorded(t, 40)
	r.Health = health.Health{Verdict: health.Late, Why: []string{"lag <b>"}}
	page := written(t, r)
	at := strings.Index(page, "INVALID (late)")
	if at < 0 || at > strings.Index(page, "<section") || !strings.Contains(page, "lag &lt;b&gt;") {
		t.Error("the verdict does not come first")
	}
}

// Runs without requests, or with one, have a page too.
func TestSmallRuns(t *testing.T) {
	for _, n := range []int{0, 1, 2} {
		if page := written(t, recorded(t, n)); strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
			t.Errorf("%d requests: a figure that is none", n)
		}
	}
	if err := Write(io.Discard, nil); err == nil {
		t.Error("a page of no run")
	}
}

// Each chart is a well-formed file of its own, with its legend.
func TestPlotsAreFiles(t *testing.T) {
	figures, err := Plots([]*render.Report{recorded(t, 400), recorded(t, 40)})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i := range figures {
		f := &figures[i]
		if names[f.Name] {
			t.Errorf("two charts are called %s", f.Name)
		}
		names[f.Name] = true
		text := f.File()
		for d := xml.NewDecoder(bytes.NewReader(text)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
		}
		if strings.Count(string(text), "legend-text") != len(f.Legend) {
			t.Errorf("%s: not all of %d names are in its legend", f.Name, len(f.Legend))
		}
	}
	if len(figures) < 10 {
		t.Errorf("only %d charts", len(figures))
	}
}

// armsOf is a comparison of two arms with two seeds, of which one run does not count.
func armsOf(t *testing.T) *compare.Set {
	s := &compare.Set{Dir: "cmp", Arms: []string{"old <b>", "new"}, Seeds: []uint64{0, 1}}
	for _, name := range s.Arms {
		row := make([]*compare.Trial, len(s.Seeds))
		for i := range row {
			row[i] = &compare.Trial{Arm: name, Seed: s.Seeds[i], Report: recorded(t, 200+100*i)}
		}
		s.Trials = append(s.Trials, row)
	}
	s.Trials[1][1].Report.Health = health.Health{Verdict: health.Late, Why: []string{"lag is high"}}
	return s
}

func writtenSet(t *testing.T, s *compare.Set) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteComparison(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A comparison's page has its tables, names the runs that do not count, and shows one run
// of each arm.
func TestComparisonPage(t *testing.T) {
	s := armsOf(t)
	page := writtenSet(t, s)
	for _, want := range []string{"<caption>Against old &lt;b&gt;, paired by seed</caption>", "new, seed 1 (late): lag is high", `id="run2"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, `id="run3"`) || strings.Contains(page, "a difference may be chance") {
		t.Error("runs of other seeds are on the page, or its differences are called chance")
	}
	if figures, err := ComparisonPlots(s); err != nil || len(figures) < 10 {
		t.Errorf("%d charts, %v", len(figures), err)
	}
	s.Trials[0][1] = nil
	if err := WriteComparison(io.Discard, s); err == nil {
		t.Error("a page of arms that are not paired")
	}
}
