package trace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
	"goodput/datasets/trace"
)

const labHeader = "session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms\n"

// threeSessions arrive in another order than the file's: c at 1 s, a at 2 s, b at 4 s.
const threeSessions = labHeader + "a,2000,0,0,100,10,500\na,2000,1,110,5,10,0\nb,4000,0,0,200,20,0\nc,1000,0,0,300,30,250\nc,1000,1,330,1,1,0\n"

func labTable(t interface {
	testing.TB
}, text string,
) *trace.Table {
	t.Helper()
	set, err := trace.Open(trace.TraceLab, write(t, "lab.csv", text), trace.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// sketch writes a session as its name, arrival, and waits and prompts of its steps.
func sketch(set datasets.SessionSet, i int) string {
	var s datasets.Session
	set.Session(i, &s)
	text := fmt.Sprintf("%d:%s@%v", s.ID, s.Name, s.At)
	for _, th := range s.Threads {
		for _, st := range th.Steps {
			text += fmt.Sprintf(" +%v/%d", st.Wait, st.In)
		}
	}
	return text
}

func sketches(set datasets.SessionSet) string {
	var out []string
	for i := range set.Sessions() {
		out = append(out, sketch(set, i))
	}
	return strings.Join(out, " | ")
}

// TestShapeSessions: shaping acts on arrivals, and leaves waits and contents.
func TestShapeSessions(t *testing.T) {
	table := labTable(t, threeSessions)
	for _, c := range []struct {
		name string
		o    trace.Shaping
		want string
	}{
		{"in order of arrival", trace.Shaping{}, "1:c@0s +0s/300 +250ms/331 | 2:a@1s +0s/100 +500ms/115 | 3:b@3s +0s/200"},
		{"faster", trace.Shaping{Speed: 2}, "1:c@0s +0s/300 +250ms/331 | 2:a@500ms +0s/100 +500ms/115 | 3:b@1.5s +0s/200"},
		{"by number", trace.Shaping{Slice: "1:3"}, "1:a@0s +0s/100 +500ms/115 | 2:b@2s +0s/200"},
		{"by time", trace.Shaping{Slice: "500ms:2s"}, "1:a@0s +0s/100 +500ms/115"},
		{"fewer", trace.Shaping{Len: 1}, "1:c@0s +0s/300 +250ms/331"},
		{"repeated", trace.Shaping{Slice: "1:", Len: 3}, "1:a@0s +0s/100 +500ms/115 | 2:b@2s +0s/200 | 3:a@4s +0s/100 +500ms/115"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := trace.ShapeSessions(table, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, sketches(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got, want := sketches(table), "1:c@0s +0s/300 +250ms/331 | 2:a@1s +0s/100 +500ms/115 | 3:b@3s +0s/200"; got != want {
		t.Errorf("the table holds %s, want %s", got, want)
	}
	var it datasets.Item
	for i := range table.Len() {
		if table.Item(i, &it); it.In == 300 && it.Session != 1 || it.In == 200 && it.Session != 3 {
			t.Errorf("row %d of %d tokens is of session %d", i, it.In, it.Session)
		}
	}
}

// Rows outside of sessions are sessions of one step, in their place.
func TestSingleRowsAreSessions(t *testing.T) {
	s, err := trace.ShapeSessions(openTable(t, trace.BurstGPT, "burstgpt8_min.csv"), trace.Shaping{})
	if err != nil {
		t.Fatal(err)
	}
	want := "1:aaaaaaaa-0000-0000-0000-000000000001@0s +0s/100 +26s/260 | 2:@1s +0s/80"
	if diff := cmp.Diff(want, sketches(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Without waits in the trace the gaps between starts stand for them, and without times
// there is nothing to shape.
func TestUnknownWaits(t *testing.T) {
	s, err := trace.ShapeSessions(openTable(t, trace.RAGPulse, "ragpulse_min.jsonl"), trace.Shaping{})
	if err != nil {
		t.Fatal(err)
	}
	if got := sketches(s); got != "1:a@0s +0s/3112 +8s/50 | 2:b@11.5s +0s/40" || !s.GapsAsWaits() {
		t.Errorf("got %s, gaps %v", got, s.GapsAsWaits())
	}
	chat := openTable(t, trace.ShareGPT, "sharegpt_min.json")
	if s, err = trace.ShapeSessions(chat, trace.Shaping{Len: 2}); err != nil || s.Timed() || sketches(s) != "1:1:conv_1@0s +0s/4 +0s/12 | 2:1:conv_1@0s +0s/4 +0s/12" {
		t.Errorf("%v: %s", err, sketches(s))
	}
	if _, err = trace.ShapeSessions(chat, trace.Shaping{Speed: 2}); err == nil || !strings.Contains(err.Error(), "no times of sessions") {
		t.Errorf("speed without times: %v", err)
	}
	if _, err = trace.ShapeSessions(openTable(t, trace.Custom, "vllm_custom_min.jsonl"), trace.Shaping{}); err == nil {
		t.Error("a trace without sessions was run in sessions")
	}
}

// TestSessionsHoldTheTrace: whatever the file, all rows are steps once in each
// repetition, arrivals do not fall, and repetitions share no content.
func TestSessionsHoldTheTrace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := labHeader
		rows, sessions := 0, rapid.IntRange(2, 6).Draw(rt, "sessions")
		for s := range sessions {
			at := rapid.IntRange(0, 5000).Draw(rt, "at") + s
			context := 0
			for k := range rapid.IntRange(1, 4).Draw(rt, "steps") {
				keep := rapid.IntRange(0, context).Draw(rt, "keep")
				add, out := rapid.IntRange(1, 50).Draw(rt, "add"), rapid.IntRange(1, 50).Draw(rt, "out")
				text += fmt.Sprintf("s%d,%d,%d,%d,%d,%d,%d\n", s, at, k, keep, add, out, rapid.IntRange(0, 99).Draw(rt, "wait"))
				context = keep + add + out
				rows++
			}
		}
		table := labTable(t, text)
		o := trace.Shaping{Len: sessions * 2, Speed: rapid.Float64Range(0.5, 4).Draw(rt, "speed"), Jitter: time.Duration(rapid.IntRange(1, 3).Draw(rt, "jitter")) * time.Second}
		set, err := trace.ShapeSessions(table, o)
		if err != nil && (strings.Contains(err.Error(), "one instant") || strings.Contains(err.Error(), "no times of sessions")) {
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		seen := map[uint64]int{} // repetition of each key
		steps, last := 0, time.Duration(0)
		var s datasets.Session
		for i := range set.Sessions() {
			set.Session(i, &s)
			if s.At < last || s.ID != uint64(i)+1 || s.At != set.At(i) {
				rt.Fatalf("session %d: id %d at %v after %v", i, s.ID, s.At, last)
			}
			last = s.At
			steps += s.Steps()
			loop := i/sessions + 1
			for _, st := range s.Threads[0].Steps {
				for _, span := range append(st.Append, datasets.Span{Key: st.OutKey}) {
					if l := seen[span.Key]; l != 0 && l != loop {
						rt.Fatalf("session %d of repetition %d has content of repetition %d", i, loop, l)
					}
					seen[span.Key] = loop
				}
			}
		}
		if steps != 2*rows {
			rt.Fatalf("%d steps for %d rows, twice", steps, rows)
		}
	})
}
