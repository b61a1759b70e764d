package loadgen_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// example is one entry of the last column of FAULTS.md: a test function, or a script, and
// words in it.
type example struct{ where, test, words string }

var entry = regexp.MustCompile("`([^`]+)`")

func examples(t *testing.T, cell string) []example {
	t.Helper()
	var out []example
	for _, m := range entry.FindAllStringSubmatch(cell, -1) {
		name, words, _ := strings.Cut(m[1], ": ")
		where, test, isTest := strings.Cut(name, " ")
		if !isTest && !strings.HasSuffix(where, ".txtar") {
			t.Errorf("%q is neither FOLDER TEST nor SCRIPT", m[1])
		}
		out = append(out, example{where, test, words})
	}
	return out
}

// source is the text of the test's package, or of the script.
func (e example) source(t *testing.T) string {
	t.Helper()
	pattern := filepath.Join("..", filepath.FromSlash(e.where), "*_test.go")
	if e.test == "" {
		pattern = filepath.Join("..", "cmd", "goodput", "testdata", "script", e.where)
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// missing says what of the example does not exist; "": all of it does.
func (e example) missing(t *testing.T) string {
	t.Helper()
	text := e.source(t)
	switch {
	case text == "":
		return "nothing of the name " + e.where
	case e.test != "" && !strings.Contains(text, "\nfunc "+e.test+"(t *testing.T) {") && !strings.Contains(text, "\nfunc "+e.test+"(b *testing.B) {"):
		return "no test " + e.test + " in " + e.where
	case e.test != "" && e.words != "":
		text = text[strings.Index(text, "\nfunc "+e.test+"("):]
		text, _, _ = strings.Cut(text, "\n}\n")
		if !strings.Contains(text, `"`+e.words+`"`) {
			return "no case " + e.words + " of " + e.test
		}
	case !strings.Contains(text, e.words):
		return "no words " + e.words + " in " + e.where
	}
	return ""
}

// Each fault that FAULTS.md lists names tests that exist, and each pitfall of PITFALLS.md.
func TestFaultsHaveTheirTests(t *testing.T) {
	for _, name := range []string{"FAULTS.md", "telemetry/PITFALLS.md"} {
		t.Run(name, func(t *testing.T) { haveTests(t, name) })
	}
}

func haveTests(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	faults := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| fault ") || strings.HasPrefix(line, "| pitfall ") {
			continue
		}
		if len(cells) != 3 {
			t.Errorf("%d columns: %s", len(cells), line)
			continue
		}
		faults++
		list := examples(t, cells[2])
		if len(list) == 0 {
			t.Errorf("no test: %s", cells[0])
		}
		for _, e := range list {
			if what := e.missing(t); what != "" {
				t.Errorf("%s: there is %s", cells[0], what)
			}
		}
	}
	if faults == 0 {
		t.Error("no faults are listed")
	}
}

// What does not exist is noticed.
func TestMissingTestsAreNoticed(t *testing.T) {
	for cell, want := range map[string]string{
		"`loadgen/rng TestStreamsAreIndependent`": "",
		"`nothing.txtar: A starved generator`":    "nothing of the name nothing.txtar",
		"`null.txtar: A well-fed generator`":      "no words A well-fed generator in null.txtar",
		"`loadgen/rng TestNothing`":               "no test TestNothing in loadgen/rng",
		"`loadgen/observe TestClassify: 428`":     "no case 428 of TestClassify",
	} {
		if got := examples(t, cell)[0].missing(t); got != want {
			t.Errorf("%s: %q, want %q", cell, got, want)
		}
	}
}
