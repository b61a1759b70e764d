package trace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/datasets/trace"
)

// write puts text into a file named name.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t testing.TB, format trace.Format, path string, seed uint64) datasets.Set {
	t.Helper()
	s, err := trace.Open(format, path, trace.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func items(s datasets.Set) []datasets.Item {
	all := make([]datasets.Item, s.Len())
	for i := range all {
		s.Item(i, &all[i])
	}
	return all
}

// excerpt is the path of a sample of a public trace, which lies beside the
// checkout; without it the test is skipped.
func excerpt(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, miss := os.Stat(filepath.Join(dir, "go.mod")); miss == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("found no go.mod above the package")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(filepath.Dir(dir), "shared", "traces", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("needs the trace samples: ", err)
	}
	return path
}

// rows is what the columns of the trace say.
func rows(s datasets.Set) (text string) {
	for _, it := range items(s) {
		text += fmt.Sprintf("%v %d %d\n", it.At, it.In, it.Out)
	}
	return text
}

func TestOpenErrors(t *testing.T) {
	_, err := trace.Open("burst", "x", trace.Options{})
	if want := `trace format "burst" is not known: use one of azure, mooncake, timed_trace`; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	for _, f := range []trace.Format{trace.Azure, trace.Mooncake} {
		_, err := trace.Open(f, filepath.Join(t.TempDir(), "absent"), trace.Options{})
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: absent file: %v", f, err)
		}
		for _, c := range []struct{ name, path, want string }{
			{"folder", t.TempDir(), "read %s after line 0: "},
			{"empty", write(t, "empty", ""), "%s: found no rows, expected at least one"},
			{"long line", write(t, "long", strings.Repeat(" ", 16<<20+1)), "%s:1: line: found more than 16 MiB without a line end"},
		} {
			_, err := trace.Open(f, c.path, trace.Options{})
			if want := fmt.Sprintf(c.want, c.path); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %s: got %v, want %q", f, c.name, err, want)
			}
		}
	}
}

func TestSetsAreWellFormed(t *testing.T) {
	for _, s := range []datasets.Set{
		open(t, trace.Azure, "testdata/azure_2023_min.csv", 1),
		open(t, trace.Mooncake, "testdata/mooncake_min.jsonl", 1),
	} {
		if !s.Timed() {
			t.Errorf("%v is not timed", s)
		}
		checkSet(t, s)
	}
}

// checkSet tests what every set promises.
func checkSet(t *testing.T, s datasets.Set) {
	t.Helper()
	owners := map[uint64]map[int]bool{}
	private := map[uint64]bool{}
	var last time.Duration
	for i, it := range items(s) {
		sum := 0
		for _, sp := range it.Prompt {
			if sp.Tokens < 1 {
				t.Fatalf("row %d has a span of %d tokens", i, sp.Tokens)
			}
			sum += sp.Tokens
			if owners[sp.Key] == nil {
				owners[sp.Key] = map[int]bool{}
			}
			owners[sp.Key][i] = true
			private[sp.Key] = sp.Private
		}
		if sum != it.In || it.In < 1 || it.Out < 1 || it.At < last || (i == 0 && it.At != 0) {
			t.Fatalf("row %d: %+v", i, it)
		}
		if (it.Prefix == 0) != it.Prompt[0].Private {
			t.Fatalf("row %d is of group %d, and its first span is %+v", i, it.Prefix, it.Prompt[0])
		}
		last = it.At
	}
	for key, rows := range owners {
		if private[key] != (len(rows) == 1) {
			t.Fatalf("key %#x is used by %d rows, private: %v", key, len(rows), private[key])
		}
	}
}

// TestItemsArePure is invariant 3 for the content of requests.
func TestItemsArePure(t *testing.T) {
	for _, s := range []datasets.Set{
		open(t, trace.Azure, "testdata/azure_2023_min.csv", 1),
		open(t, trace.Mooncake, "testdata/mooncake_min.jsonl", 1),
	} {
		want := items(s)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				reused := datasets.Item{Prompt: make([]datasets.Span, 3), Prefix: 9, Session: 9, Turn: 9}
				for j := range 50 {
					i := (j*5 + g) % s.Len()
					s.Item(i, &reused)
					if diff := cmp.Diff(want[i], reused); diff != "" {
						t.Errorf("%v: row %d:\n%s", s, i, diff)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestSeeds: the seed moves what the file does not identify, and nothing else.
func TestSeeds(t *testing.T) {
	a, b := items(open(t, trace.Azure, "testdata/azure_2023_min.csv", 1)), items(open(t, trace.Azure, "testdata/azure_2023_min.csv", 2))
	for i := range a {
		if a[i].Prompt[0].Key == b[i].Prompt[0].Key || a[i].OutKey == b[i].OutKey {
			t.Errorf("azure row %d has the same content under two seeds", i)
		}
	}
	a, b = items(open(t, trace.Mooncake, "testdata/mooncake_min.jsonl", 1)), items(open(t, trace.Mooncake, "testdata/mooncake_min.jsonl", 2))
	for i := range a {
		if diff := cmp.Diff(a[i].Prompt, b[i].Prompt); diff != "" {
			t.Errorf("mooncake row %d has another prompt under another seed:\n%s", i, diff)
		}
		if a[i].OutKey == b[i].OutKey {
			t.Errorf("mooncake row %d has the same answer under two seeds", i)
		}
	}
}

// TestGolden holds the keys that rows and ids stand for: a change makes runs of
// two releases incomparable.
func TestGolden(t *testing.T) {
	var got []string
	for _, s := range []datasets.Set{
		open(t, trace.Azure, "testdata/azure_2023_min.csv", 1),
		open(t, trace.Mooncake, "testdata/mooncake_min.jsonl", 1),
	} {
		got = append(got, s.String(), text(items(s)[1]))
	}
	want := []string{
		"azure(azure_2023_min.csv, rows 4, seed 1)",
		"{Prompt:[{Key:16317108266166432960 Tokens:200 Private:true}] In:200 Out:8 OutKey:3823881247302684745 Prefix:0 At:100ns Session:0 Turn:0}",
		"mooncake(mooncake_min.jsonl, rows 6, seed 1)",
		"{Prompt:[{Key:5312208884452667932 Tokens:512 Private:false} {Key:7292701370205298775 Tokens:512 Private:true}] In:1024 Out:5 OutKey:8705616610284144648 Prefix:1 At:0s Session:0 Turn:0}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestItemAllocatesNothing(t *testing.T) {
	for _, s := range []datasets.Set{
		open(t, trace.Azure, "testdata/azure_2023_min.csv", 1),
		open(t, trace.Mooncake, "testdata/mooncake_min.jsonl", 1),
	} {
		it := datasets.Item{Prompt: make([]datasets.Span, 0, 8)}
		i := 0
		if n := testing.AllocsPerRun(100, func() { s.Item(i%s.Len(), &it); i++ }); n != 0 {
			t.Errorf("%v: %v allocations per item", s, n)
		}
	}
}

// TestRecordedSamples compares samples of the public traces with values that were
// computed apart from this code.
func TestRecordedSamples(t *testing.T) {
	for _, c := range []struct {
		format       trace.Format
		file         string
		rows         int
		span         time.Duration // 0: not tested
		in, out      float64       // means to one decimal; 0: not tested
		hit, fullHit float64       // shares to four decimals; 0: not tested
	}{
		{format: trace.Mooncake, file: "mooncake/conversation.head400.jsonl", rows: 400, span: 141 * time.Second, in: 14276.3, out: 365.2, hit: 0.1369, fullHit: 0.1367},
		{format: trace.Mooncake, file: "mooncake/conversation.multiturn12.jsonl", rows: 90, hit: 0.8246, fullHit: 0.8244},
		{format: trace.Mooncake, file: "mooncake/synthetic.head200.jsonl", rows: 200, span: 58501 * time.Millisecond},
		{format: trace.Mooncake, file: "mooncake/toolagent.paper-listing2.jsonl", rows: 2, span: 3 * time.Second},
		{format: trace.Azure, file: "azure/AzureLLMInferenceTrace_code_2023.head300.csv", rows: 300},
		{format: trace.Azure, file: "azure/AzureLLMInferenceTrace_conv_2023.head300.csv", rows: 300},
		{format: trace.Azure, file: "azure/azure_2024_format.10rows.csv", rows: 10},
	} {
		t.Run(c.file, func(t *testing.T) {
			s := open(t, c.format, excerpt(t, c.file), 0)
			checkSet(t, s)
			got := datasets.Describe(s, s.Len())
			if got.Items != c.rows {
				t.Errorf("%d rows, want %d", got.Items, c.rows)
			}
			if c.span != 0 && got.Span != c.span {
				t.Errorf("span %v, want %v", got.Span, c.span)
			}
			if c.in != 0 && (math.Abs(got.MeanIn()-c.in) > 0.05 || math.Abs(got.MeanOut()-c.out) > 0.05) {
				t.Errorf("means %.2f in, %.2f out, want %.1f and %.1f", got.MeanIn(), got.MeanOut(), c.in, c.out)
			}
			if c.hit == 0 {
				return
			}
			hit, full := endlessCache(s)
			if math.Abs(hit-c.hit) > 5e-5 || math.Abs(full-c.fullHit) > 5e-5 {
				t.Errorf("hit %.5f, of full blocks %.5f, want %.4f and %.4f", hit, full, c.hit, c.fullHit)
			}
			// One token of each prompt is always computed, which can only cost a
			// block of a prompt that was seen as a whole.
			ideal, ok := datasets.Ideal(s, s.Len(), 512, nil).Rate()
			if !ok || math.Abs(ideal-c.fullHit) > 5e-5 {
				t.Errorf("ideal hit %.5f, want %.4f", ideal, c.fullHit)
			}
			// Smaller blocks reach further into a match.
			if fine, _ := datasets.Ideal(s, s.Len(), 16, nil).Rate(); fine < ideal || fine > hit {
				t.Errorf("ideal hit in blocks of 16 is %.5f, outside %.5f..%.5f", fine, ideal, hit)
			}
		})
	}
}

// endlessCache is the share of prompt tokens in leading blocks that an earlier row
// had, and the same without partial blocks.
func endlessCache(s datasets.Set) (hit, full float64) {
	seen := map[uint64]bool{}
	var tokens, hits, fullHits int
	for _, it := range items(s) {
		leading := true
		for _, sp := range it.Prompt {
			if leading = leading && seen[sp.Key]; leading {
				hits += sp.Tokens
				fullHits += sp.Tokens / 512 * 512
			}
			seen[sp.Key] = true
		}
		tokens += it.In
	}
	return float64(hits) / float64(tokens), float64(fullHits) / float64(tokens)
}

func ExampleOpen() {
	set, err := trace.Open(trace.Mooncake, "testdata/mooncake_min.jsonl", trace.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set)
	var it datasets.Item
	set.Item(2, &it)
	fmt.Println(it.At, it.In, it.Out, len(it.Prompt))
	// Output:
	// mooncake(mooncake_min.jsonl, rows 6, seed 0)
	// 3s 1900 40 4
}

func BenchmarkItem(b *testing.B) {
	for _, s := range []datasets.Set{
		open(b, trace.Azure, excerpt(b, "azure/AzureLLMInferenceTrace_conv_2023.head300.csv"), 0),
		open(b, trace.Mooncake, excerpt(b, "mooncake/conversation.head400.jsonl"), 0),
		open(b, trace.TraceLab, excerpt(b, "tracelab/multi_session_large.csv"), 0),
		open(b, trace.Weka, excerpt(b, "weka/trace_0277.json"), 0),
	} {
		b.Run(s.String(), func(b *testing.B) {
			b.ReportAllocs()
			var it datasets.Item
			i := 0
			for b.Loop() {
				s.Item(i%s.Len(), &it)
				i++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "items/s")
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, c := range []struct {
		format trace.Format
		file   string
	}{
		{trace.Azure, "azure/AzureLLMInferenceTrace_conv_2023.head300.csv"},
		{trace.Mooncake, "mooncake/conversation.head400.jsonl"},
	} {
		b.Run(string(c.format), func(b *testing.B) {
			path := excerpt(b, c.file)
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				open(b, c.format, path, 0)
			}
		})
	}
}

// text shows what a file says of an item.
func text(it datasets.Item) string {
	spans := make([]string, len(it.Prompt))
	for i, s := range it.Prompt {
		spans[i] = fmt.Sprintf("{Key:%d Tokens:%d Private:%v}", s.Key, s.Tokens, s.Private)
	}
	return fmt.Sprintf("{Prompt:%v In:%d Out:%d OutKey:%d Prefix:%d At:%v Session:%d Turn:%d}",
		spans, it.In, it.Out, it.OutKey, it.Prefix, it.At, it.Session, it.Turn)
}
