package record

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
)

func TestManifestTellsTheRun(t *testing.T) {
	dir := t.TempDir() + "/run"
	m := Meta{
		RunID: "run", PlanHash: "abc", Seed: 1 << 63, Version: "1.2.3",
		Epoch: time.Date(2025, 1, 2, 3, 4, 5, 600, time.UTC), Started: time.Date(2025, 1, 2, 3, 4, 4, 0, time.UTC),
		Arms: []string{"a", "b"}, Target: map[string]string{"url": "http://127.0.0.1"}, Dataset: map[string]string{"name": "random"},
	}
	w, err := Create(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	want := Manifest{
		Schema: Schema, RunID: "run", State: Running, PlanHash: "abc", Seed: 1 << 63, Version: "1.2.3",
		Started: "2025-01-02T03:04:04Z", Anchors: []Anchor{{0, "2025-01-02T03:04:05.0000006Z"}},
		Arms: m.Arms, Target: m.Target, Dataset: m.Dataset,
	}
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, run.Manifest); d != "" {
		t.Errorf("at the start (-want +got):\n%s", d)
	}
	rows := plainRows(3, 1)
	rows[1].Outcome = HTTP429
	rows[2].Final = false
	for i := range rows {
		w.Write(&rows[i])
	}
	err = w.Close(Final{
		Ended: time.Date(2025, 1, 2, 3, 5, 5, 0, time.UTC), EndedAt: 60_000_000_000,
		Window: &Window{Start: 1, End: 2}, Counts: &Counts{Scheduled: 3, Completed: 1, Failed: 1, Dropped: 1},
		Counters: map[string]int64{"gaps_clamped": 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	want.State, want.Ended = Complete, "2025-01-02T03:05:05Z"
	want.Anchors = append(want.Anchors, Anchor{60_000_000_000, want.Ended})
	want.Window, want.Counts = &Window{Start: 1, End: 2}, &Counts{Scheduled: 3, Completed: 1, Failed: 1, Dropped: 1}
	want.Outcomes = map[string]int64{"ok": 1, "http_429": 1}
	want.Counters = map[string]int64{"gaps_clamped": 4, CounterDropped: 0, CounterLost: 0, CounterClamped: 0}
	want.Files = []File{{"requests-00001.parquet", 3}}
	if run, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, run.Manifest); d != "" {
		t.Errorf("at the end (-want +got):\n%s", d)
	}
}

// Invariant 11: what was not observed has no number in the manifest, not even 0.
func TestInvariant11UnknownIsAbsent(t *testing.T) {
	dir := t.TempDir() + "/run"
	w, err := Create(dir, virtual)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(Final{EndedAt: clock.Never}); err != nil {
		t.Fatal(err)
	}
	text := string(readFile(t, dir, ManifestName))
	for _, key := range []string{"started", "ended", "anchors", "window", "counts", "version"} {
		if strings.Contains(text, `"`+key+`"`) {
			t.Errorf("%s is in the manifest:\n%s", key, text)
		}
	}
}

func TestParseManifestRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "unexpected end"},
		{"not JSON", "seed: 1", "invalid character"},
		{"something else", `{"name":"x"}`, `"schema" is missing`},
		{"a later version", `{"schema":2,"later":true}`, "schema 2, but this program reads schema 1"},
		{"an unknown key", `{"schema":1,"state":"running","colour":"red"}`, `"colour"`},
		{"no state", `{"schema":1}`, `state ""`},
		{"two values", `{"schema":1,"state":"running"}{}`, "after"},
		{"a foreign file", `{"schema":1,"state":"running","files":[{"name":"../x","rows":1}]}`, "../x"},
		{"a wrong type", `{"schema":1,"state":"running","seed":"one"}`, "seed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ParseManifest([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func FuzzManifest(f *testing.F) {
	b, err := newManifest(virtual).encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"schema":1,"state":"complete","counts":{"scheduled":1},"files":[{"name":"requests-00001.parquet","rows":1}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		m, err := ParseManifest(in)
		if err != nil {
			return
		}
		b, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseManifest(b)
		if err != nil {
			t.Fatal(err)
		}
		b2, err := again.encode()
		if err != nil || string(b) != string(b2) {
			t.Fatalf("%v: %s became %s", err, b, b2)
		}
	})
}

// TestNotedEventsOutliveACrash: what is noted stands in the manifest before the run ends,
// and among the events of its end in order of time.
func TestNotedEventsOutliveACrash(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Meta{RunID: "run"})
	if err != nil {
		t.Fatal(err)
	}
	for i, percent := range []int64{110, 90} {
		if err := w.Note(Event{At: clock.Time(10 * (i + 1)), What: RateByHand, Percent: percent}); err != nil {
			t.Fatal(err)
		}
		m, err := readManifest(dir)
		if err != nil {
			t.Fatal(err)
		}
		if n, least, most := m.Steered(); n != i+1 || least != percent || most != 110 || m.State != Running {
			t.Errorf("%d changes to %d … %d, %s", n, least, most, m.State)
		}
	}
	if err := w.Close(Final{Events: []Event{{At: 15, What: "slow", Replica: "1"}}}); err != nil {
		t.Fatal(err)
	}
	m, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []Event{{At: 10, What: RateByHand, Percent: 110}, {At: 15, What: "slow", Replica: "1"}, {At: 20, What: RateByHand, Percent: 90}}
	if diff := cmp.Diff(want, m.Events); diff != "" {
		t.Error(diff)
	}
	if n, _, _ := (&Manifest{}).Steered(); n != 0 {
		t.Errorf("%d changes of nothing", n)
	}
}
