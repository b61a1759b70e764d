package trace_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"goodput/datasets/trace"
)

// TestBadFiles: every hand-written file of bad rows is refused with the file, the line,
// the field and what was expected there, whether its format is named or told; on request
// its bad rows are counted, each of them.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(excerpt(t, "README.md")), "synthetic", "*_bad*"))
	if err != nil || len(files) == 0 {
		t.Skip("needs the trace samples: ", err)
	}
	// By name: the format, how many rows are bad, and how many are good.
	known := map[string]struct {
		format    trace.Format
		bad, good int
		first     string
	}{
		"mooncake_bad.jsonl": {trace.Mooncake, 6, 0, ":1: hash_ids: found 2 ids, expected 3, one for each block of 512 tokens of an input_length of 1300"},
	}
	place := regexp.MustCompile(`:[0-9]+: [A-Za-z_ ]+: .*(expected|found)`)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			told, err := trace.Detect(path)
			if err != nil {
				t.Fatalf("not told: %v", err)
			}
			_, err = trace.Open(told, path, trace.Options{})
			if err == nil || !place.MatchString(err.Error()) {
				t.Fatalf("got %v, want file, line, field and reason", err)
			}
			want, ok := known[filepath.Base(path)]
			if !ok {
				t.Skipf("its rows are not known to this test; the first error is %v", err)
			}
			if told != want.format || err.Error() != path+want.first {
				t.Errorf("%s: %v, want %s: %s", told, err, want.format, path+want.first)
			}
			countBad(t, path, want.format, want.bad, want.good)
		})
	}
}

// countBad reads a file, and behind one more row that is good.
func countBad(t *testing.T, path string, format trace.Format, bad, good int) {
	t.Helper()
	text := append(readFile(t, path), `{"timestamp":5,"input_length":600,"output_length":1,"hash_ids":[1,0]}`+"\n"...)
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := trace.Open(format, copied, trace.Options{SkipBadRows: true})
	if err != nil {
		t.Fatal(err)
	}
	if s := set.Skipped(); s.Bad != bad || set.Len() != good+1 {
		t.Errorf("%d rows and %d bad ones (%+v), want %d and %d", set.Len(), s.Bad, s, good+1, bad)
	}
}

// TestDetectSaysWhere: what can't be told names the line and the field that it is for.
func TestDetectSaysWhere(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "\n\n", ":1: row: found no rows"},
		{"no header", "\n\na,b\n1,2\n", ":3: header: found no known header"},
		{"blocks of no known size", `{"timestamp":0,"input_length":1300,"output_length":20,"hash_ids":[0,1]}`, ":1: hash_ids: 2 of them for 1300 tokens fit neither"},
		{"no ids", "\n" + `{"timestamp":0,"input_length":1300}`, ":2: hash_ids: found no array"},
		{"of two formats", `{"timestamp":0,"input_length":16,"output_length":2,"hash_ids":[0]}`, ":1: hash_ids: the row fits the formats mooncake and timed_trace"},
		{"other JSON", `{"a":1}`, ":1: row: found JSON of no known format"},
		{"windows of ServeGen", `{"0":{"input_tokens":""}}`, ":1: row: this looks like the lengths of a ServeGen client"},
		{"LLMServingSim", `{"input_toks":1}`, ":1: row: this looks like a trace of LLMServingSim"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "x", c.text)
			f, err := trace.Detect(path)
			if err == nil || f != "" || !regexp.MustCompile("^"+regexp.QuoteMeta(path+c.want)).MatchString(err.Error()) {
				t.Errorf("got %q, %v, want %s", f, err, path+c.want)
			}
		})
	}
	// The first row that can tell does, whatever is before it.
	path := write(t, "y", "{\"timestamp\":0}\nnot json\n"+`{"timestamp":2,"input_length":600,"output_length":1,"hash_ids":[1,0]}`)
	if f, err := trace.Detect(path); f != trace.Mooncake || err != nil {
		t.Errorf("told as %q, %v", f, err)
	}
}
