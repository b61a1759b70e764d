package trace

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
)

func reader(t interface{ Fatal(...any) }, format Format, text []byte) *Reader {
	src, err := formats[format].read(bytes.NewReader(text), "f", Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &Reader{format: format, path: "f", file: io.NopCloser(nil), from: src, contexts: map[uint64]int{}}
}

func converted(t interface{ Fatal(...any) }, from Format, text []byte, to Format) []byte {
	var out bytes.Buffer
	if _, err := Convert(reader(t, from, text), &out, to, false); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestConvertIsLossless: what TraceLab's CSV can say survives the way to our JSONL
// and back, and the other way round.
func TestConvertIsLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timed := rapid.Bool().Draw(t, "timed")
		var text bytes.Buffer
		w, err := newNativeWriter(&text, Traits{Timed: timed, Waits: true, Identified: true})
		if err != nil {
			t.Fatal(err)
		}
		for s := range rapid.IntRange(1, 4).Draw(t, "sessions") {
			at := int64(0)
			if timed {
				at = rapid.Int64Range(0, 1e12).Draw(t, "at")
			}
			r := Row{At: at, Session: string(rune('a' + s)), Parent: -1, Spawn: -1, Join: -1}
			context := rapid.IntRange(0, 1000).Draw(t, "before")
			for range rapid.IntRange(1, 5).Draw(t, "steps") {
				r.Keep = rapid.IntRange(0, context).Draw(t, "keep")
				r.In = r.Keep + rapid.IntRange(1, 500).Draw(t, "add")
				r.Out = rapid.IntRange(1, 500).Draw(t, "out")
				r.After = time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "after"))
				r.Before = time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "before"))
				r.Trigger = datasets.Trigger(rapid.IntRange(0, 4).Draw(t, "trigger"))
				r.Tenant = rapid.Uint32Range(0, 9).Draw(t, "tenant")
				if err := w.write(&r); err != nil {
					t.Fatal(err)
				}
				context = r.In + r.Out
			}
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		lab := converted(t, Native, text.Bytes(), TraceLab)
		if diff := cmp.Diff(text.String(), string(converted(t, TraceLab, lab, Native))); diff != "" {
			t.Fatalf("by way of TraceLab (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(string(lab), string(converted(t, Native, converted(t, TraceLab, lab, Native), TraceLab))); diff != "" {
			t.Fatalf("by way of JSONL (-want +got):\n%s", diff)
		}
	})
}

// TestNativeHoldsAll: each fixture has the same items and sessions after conversion.
func TestNativeHoldsAll(t *testing.T) {
	for file, format := range map[string]Format{
		"mooncake_min.jsonl": Mooncake, "aiperf_mooncake_delta_min.jsonl": Mooncake, "weka_relative_min.json": Weka,
		"sharegpt_min.json": ShareGPT, "otel_flat_min.json": OTel, "goodput_min.jsonl": Native, "burstgpt8_min.csv": BurstGPT,
	} {
		t.Run(file, func(t *testing.T) {
			want, err := Open(format, "testdata/"+file, Options{})
			if err != nil {
				t.Fatal(err)
			}
			d, err := NewReader(format, "testdata/"+file, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			var out bytes.Buffer
			if _, err := Convert(d, &out, Native, false); err != nil {
				t.Fatal(err)
			}
			set, err := read(Native, &out, "f", Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := set.(*Table)
			var a, b datasets.Item
			for i := range want.Len() {
				want.Item(i, &a)
				got.Item(i, &b)
				a.OutKey, b.OutKey = 0, 0 // named by format and row
				if diff := cmp.Diff(a, b, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Key" || p.Last().String() == ".Prefix" }, cmp.Ignore())); diff != "" {
					t.Errorf("row %d (-want +got):\n%s", i, diff)
				}
			}
			if got.Len() != want.Len() || got.Sessions() != want.Sessions() || got.Timed() != want.Timed() {
				t.Errorf("%d rows of %d sessions, want %d of %d", got.Len(), got.Sessions(), want.Len(), want.Sessions())
			}
		})
	}
}

func TestConvertRefusesLoss(t *testing.T) {
	for file, want := range map[string]string{
		"azure_2023_min.csv": "tracelab would lose the recorded times of steps", "sharegpt_min.json": "that lengths are estimates",
	} {
		d, err := NewReader(map[string]Format{"azure_2023_min.csv": Azure, "sharegpt_min.json": ShareGPT}[file], "testdata/"+file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := Convert(d, &out, TraceLab, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
		d.Close()
	}
	var out bytes.Buffer
	lost, err := Convert(reader(t, Mooncake, []byte(`{"timestamp":5,"input_length":2,"output_length":1,"hash_ids":[1]}`)), &out, TraceLab, true)
	if err != nil || !strings.HasSuffix(out.String(), "\n5,row-1,0,0,2,1,0,0,-1,-1,-1,user,0,0\n") {
		t.Errorf("%v:\n%s", err, out.String())
	}
	if diff := cmp.Diff([]Loss{{"the content of prompts", 1}, {"that they have no session", 1}}, lost); diff != "" {
		t.Error(diff)
	}
}

// TestLossyKeepsTheRest: of any sessions, with content and times and planned or not,
// TraceLab's CSV keeps lengths, waits, threads, triggers and tenants, and each loss is
// counted.
func TestLossyKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := &conversing{timed: rapid.Bool().Draw(t, "timed")}
		for i := range rapid.IntRange(1, 3).Draw(t, "sessions") {
			s := drawSession(t, i+1)
			s.At = time.Duration(i) * time.Second
			set.sessions = append(set.sessions, s)
		}
		text := exported(t, func(w io.Writer) error { return ExportSessions(w, set) })
		if _, err := Convert(reader(t, Native, text), io.Discard, TraceLab, false); err == nil {
			t.Fatal("content was lost without a word")
		}
		var lab bytes.Buffer
		lost, err := Convert(reader(t, Native, text), &lab, TraceLab, true)
		if err != nil {
			t.Fatal(err)
		}
		rows, content := 0, 0
		for i := range set.sessions {
			s := &set.sessions[i]
			s.Name = ""
			for k := range s.Threads {
				for n := range s.Threads[k].Steps {
					st := &s.Threads[k].Steps[n]
					rows++
					if len(st.Append) > 0 {
						content++
					}
					st.Append, st.OutKey, st.Reasoning = nil, 0, 0
				}
			}
		}
		want := []Loss{{"the content of prompts", content}, {"the keys and the reasoning of planned answers", rows}}
		if diff := cmp.Diff(want, lost); diff != "" {
			t.Fatalf("lost (-want +got):\n%s", diff)
		}
		back, err := read(TraceLab, &lab, "f", Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := &conversing{timed: set.timed}
		for i := range back.(*Table).Sessions() {
			var s datasets.Session
			back.(*Table).Session(i, &s)
			s.Name, s.At = "", time.Duration(i)*time.Second
			for k := range s.Threads {
				for n := range s.Threads[k].Steps {
					st := &s.Threads[k].Steps[n]
					st.Append, st.OutKey = nil, 0
				}
			}
			got.sessions = append(got.sessions, s)
		}
		sameSessions(t, set, got)
	})
}
