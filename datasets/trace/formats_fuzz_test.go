package trace

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"goodput/datasets"
)

// fuzzFormat reads arbitrary bytes: whatever is accepted must be a sound set with
// sound sessions, and skipping bad rows must not lose rows that are good.
func fuzzFormat(f *testing.F, format Format, seeds ...string) {
	for _, s := range seeds {
		addFile(f, filepath.Join("testdata", s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzed(t, format, data, "f") })
}

func fuzzed(t *testing.T, format Format, data []byte, path string) {
	strict, err := read(format, bytes.NewReader(data), path, Options{Seed: 1})
	lenient, lerr := read(format, bytes.NewReader(data), path, Options{Seed: 1, SkipBadRows: true})
	if err == nil && (lerr != nil || lenient.Len() != strict.Len()) {
		t.Fatalf("%d rows, and when skipping bad ones: %v", strict.Len(), lerr)
	}
	if lerr != nil {
		return
	}
	checkTable(t, lenient.(*Table))
}

// checkTable tests that items are sound and that sessions hold the same requests.
func checkTable(t fataler, set *Table) {
	checkAny(t, set)
	steps := 0
	var s datasets.Session
	for i := range set.Sessions() {
		set.Session(i, &s)
		if s.ID != uint64(i)+1 || len(s.Threads) == 0 || s.Threads[0].Parent != -1 {
			t.Fatalf("session %d: %+v", i, s)
		}
		contexts := make([][][]datasets.Span, len(s.Threads))
		for j, th := range s.Threads {
			if j > 0 && (th.Parent < 0 || th.Parent >= j || th.Spawn >= len(s.Threads[th.Parent].Steps) || th.Join >= len(s.Threads[th.Parent].Steps)) {
				t.Fatalf("session %d, thread %d: %+v", i, j, th)
			}
			var context []datasets.Span
			if th.Parent >= 0 && th.Spawn >= 0 {
				context = contexts[th.Parent][th.Spawn]
			}
			for n, step := range th.Steps {
				prompt := step.Prompt(nil, context)
				if tokens(prompt) != step.In || step.Wait < 0 || step.Out < 1 {
					t.Fatalf("session %d, thread %d, step %d: %d tokens of prompt: %+v", i, j, n, tokens(prompt), step)
				}
				context = step.Context(nil, context)
				contexts[j] = append(contexts[j], context)
			}
			steps += len(th.Steps)
		}
	}
	var it datasets.Item
	in := 0
	for i := range set.Len() {
		if set.Item(i, &it); it.Session != 0 && set.Sessions() > 0 { // and no conversation of a planned file
			in++
		}
	}
	if in != steps {
		t.Fatalf("%d rows of sessions, %d steps", in, steps)
	}
}

// fataler is a test of any kind.
type fataler interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

func tokens(spans []datasets.Span) int {
	n := 0
	for _, s := range spans {
		n += s.Tokens
	}
	return n
}

// checkAny is checkItems, also for a set without times.
func checkAny(t fataler, s datasets.Set) {
	var it datasets.Item
	var last time.Duration
	for i := range s.Len() {
		s.Item(i, &it)
		if tokens(it.Prompt) != it.In || it.In < 1 || it.Out < 1 || it.At < last || i == 0 && it.At != 0 {
			t.Fatalf("row %d: %+v", i, it)
		}
		table, ok := s.(*Table)
		derived := !ok || table.planned == nil // otherwise the file says it
		if derived && (it.Prefix == 0) != it.Prompt[0].Private {
			t.Fatalf("row %d is of group %d, and begins with %+v", i, it.Prefix, it.Prompt[0])
		}
		last = it.At
	}
}

func FuzzTimedTrace(f *testing.F)       { fuzzFormat(f, TimedTrace, "vllm_timed_trace_min.jsonl") }
func FuzzMooncakeSessions(f *testing.F) { fuzzFormat(f, Mooncake, "aiperf_mooncake_delta_min.jsonl") }

func FuzzBurstGPT(f *testing.F) { fuzzFormat(f, BurstGPT, "burstgpt6_min.csv", "burstgpt8_min.csv") }
func FuzzShareGPT(f *testing.F) { fuzzFormat(f, ShareGPT, "sharegpt_min.json") }
func FuzzBatch(f *testing.F)    { fuzzFormat(f, Batch, "openai_batch_min.jsonl") }
func FuzzChat(f *testing.F)     { fuzzFormat(f, Chat, "openai_requests_min.jsonl") }
func FuzzCustom(f *testing.F)   { fuzzFormat(f, Custom, "vllm_custom_min.jsonl") }
func FuzzWeka(f *testing.F)     { fuzzFormat(f, Weka, "weka_relative_min.json", "weka_absolute_min.json") }
func FuzzTraceLab(f *testing.F) { fuzzFormat(f, TraceLab, "tracelab_replay_min.csv") }
func FuzzRAGPulse(f *testing.F) { fuzzFormat(f, RAGPulse, "ragpulse_min.jsonl") }
func FuzzOTel(f *testing.F)     { fuzzFormat(f, OTel, "otlp_json_min.json", "otel_flat_min.json") }
func FuzzNative(f *testing.F) {
	fuzzFormat(f, Native, "goodput_min.jsonl", "goodput_planned_min.jsonl", "goodput_items_min.jsonl")
}

// FuzzExport: what is read of a file of our own is the same after being exported.
func FuzzExport(f *testing.F) {
	for _, name := range []string{"goodput_min.jsonl", "goodput_planned_min.jsonl", "goodput_items_min.jsonl"} {
		addFile(f, filepath.Join("testdata", name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := read(Native, bytes.NewReader(data), "f", Options{Seed: 1})
		if err != nil {
			return
		}
		sameItems(t, set, reread(t, exported(t, func(w io.Writer) error { return Export(w, set, set.Len()) })))
		sessions, err := ShapeSessions(set.(*Table), Shaping{})
		if err != nil {
			return
		}
		again, err := ShapeSessions(reread(t, exported(t, func(w io.Writer) error { return ExportSessions(w, sessions) })), Shaping{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range sessions.Sessions() {
			var a, b datasets.Session
			sessions.Session(i, &a)
			again.Session(i, &b)
			a.Recorded = false // ExportSessions says so
			if diff := cmp.Diff(a, b, cmpopts.IgnoreFields(datasets.Step{}, "At"), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("session %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

func FuzzServeGen(f *testing.F) {
	addFile(f, "testdata/client-trace.csv")
	f.Fuzz(func(t *testing.T, data []byte) {
		src := &serveGen{l: newLines(bytes.NewReader(data), "f"), lengths: []lengthWindow{{in: pmf{[]int{5}, []float64{1}}, out: pmf{[]int{6}, []float64{1}}}}}
		var r Row
		var bad *rowError
		last := int64(0)
		for range 20_000 {
			err := src.next(&r)
			if errors.As(err, &bad) {
				continue
			}
			if err != nil {
				return
			}
			if r.In != 5 || r.Out != 6 || r.At < 0 {
				t.Fatalf("%+v after %d", r, last)
			}
			last = r.At
		}
	})
}

func FuzzServeGenLengths(f *testing.F) {
	addFile(f, "testdata/client-dataset.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseLengths(data)
		for i := range all {
			if err == nil && (len(all[i].in.values) == 0 || len(all[i].out.values) == 0) {
				t.Fatalf("%+v", all[i])
			}
		}
	})
}

// FuzzSniff: telling a format never fails but with a reason, and only a JSON array
// is taken for ShareGPT.
func FuzzSniff(f *testing.F) {
	files, err := filepath.Glob("testdata/*min*")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, name := range files {
		addFile(f, name)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		format, why := sniff(data)
		if (format == "") == (why == nil) {
			t.Fatalf("format %q, reason %v", format, why)
		}
	})
}

// FuzzDecimal compares with big decimal arithmetic of the JSON number.
func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0", "1.5", "-2.000000001", "61.114", "1e3", "9223372036.854775807", "12.", "1.2.3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ns, ok := parseDecimal([]byte(s), 1e9)
		if !ok {
			return
		}
		again, ok := parseDecimal([]byte(formatDecimal(ns, 1e9)), 1e9)
		if !ok || again != ns {
			t.Fatalf("%q is %d ns, written as %q", s, ns, formatDecimal(ns, 1e9))
		}
	})
}
