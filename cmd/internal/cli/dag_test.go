package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// pkg is what `go list -json` tells of a package. Test imports are left out:
// tests may reach across the tree.
type pkg struct {
	ImportPath string
	Imports    []string
	GoFiles    []string
	Doc        string
}

// layers is the architecture's table of levels: a package imports only from
// its own level downwards, and never upwards. Patterns are of path.Match over
// the path below the module; the first that matches counts.
var layers = []struct {
	level   int
	pattern string
}{
	{0, "loadgen/clock"},
	{0, "loadgen/rng"},
	{0, "loadgen/plan"},
	{0, "datasets"},
	{0, "datasets/*"},
	{0, "profiles"},
	{1, "profiles/fit"},
	{0, "profiles/evidence"},
	{1, "loadgen/schedule"},
	{1, "loadgen/wire"},
	{1, "loadgen/record"},
	{1, "fakeengine/kv"},
	{1, "fakeengine/steptime"},
	{1, "fakeengine/spec"},
	{1, "fakeengine/router"},
	{1, "fakeengine/autoscale"},
	{1, "fakeengine/shaper"},
	{2, "loadgen/vitals"},
	{2, "loadgen/target"},
	{2, "loadgen/observe"},
	{2, "fakeengine/engine"},
	{3, "loadgen/target/openai"},
	{3, "loadgen/monitor"},
	{3, "loadgen/telemetry/genai"},
	{3, "loadgen/telemetry/otlpin"},
	{3, "loadgen/telemetry/promscrape"},
	{3, "loadgen/telemetry/traceout"},
	{4, "loadgen/dispatch"},
	{3, "fakeengine/disagg"},
	{3, "fakeengine/fault"},
	{3, "fakeengine/trial"},
	{4, "fakeengine/accuracy"},
	{3, "fakeengine/pool"},
	{3, "fakeengine/server"},
	{3, "fakeengine/proxy"},
	{2, "fakeengine/proxy/extproc"},
	{2, "fakeengine/proxy/pickertest"},
	{0, "report/plot"},
	{0, "report/raster"},
	{3, "report/stats"},
	{3, "report/query"},
	{3, "report/vllm"},
	{4, "report/health"},
	{4, "report/gate"},
	{4, "report/knee"},
	{4, "report/diagnose"},
	{5, "report/render"},
	{5, "report/tui"},
	{6, "report/compare"},
	{6, "report/html"},
	{0, "loadgen"},    // documentation only
	{0, "fakeengine"}, // documentation only
	{0, "report"},     // documentation only
	{9, "cmd/*"},
	{9, "cmd/*/*"},
}

// mayImport lists, per folder, which of our folders it may import at all.
var mayImport = []struct {
	from string
	to   []string
}{
	{"loadgen", []string{"loadgen", "datasets"}},
	{"fakeengine", []string{"fakeengine", "profiles", "loadgen/clock", "loadgen/rng", "loadgen/wire", "loadgen/target"}},
	{"report", []string{"report", "loadgen/clock", "loadgen/record", "loadgen/monitor"}},
	{"datasets", []string{"datasets", "loadgen/rng"}},
	{"profiles", []string{"profiles"}},
	{"cmd", []string{""}},
}

// onlyIn says where a foreign package may be imported; a prefix of the path
// counts.
var onlyIn = map[string][]string{
	"github.com/spf13/cobra":                  {"cmd"},
	"github.com/charmbracelet":                {"report/tui"},
	"github.com/parquet-go/parquet-go":        {"loadgen/record"},
	"github.com/HdrHistogram/hdrhistogram-go": {"loadgen/record", "loadgen/monitor", "report/stats"},
	"go.opentelemetry.io":                     {"loadgen/telemetry", "fakeengine/server"},
	"google.golang.org/grpc":                  {"loadgen/telemetry", "fakeengine/server", "fakeengine/proxy"},
	"github.com/envoyproxy":                   {"fakeengine/proxy/pickertest"},
	"net/http":                                {"loadgen/target/openai", "loadgen/telemetry", "fakeengine/server", "fakeengine/proxy", "cmd"},
	"math/rand":                               {},
	"math/rand/v2":                            {"loadgen/rng"},
}

func TestImportDAG(t *testing.T) {
	for _, p := range listPackages(t) {
		self := below(p.ImportPath)
		if !path.IsAbs("/"+self) || levelOf(self) < 0 {
			t.Errorf("%s: the architecture has no level for this folder; add it to the table here if it belongs", self)
			continue
		}
		if p.Doc == "" && self != "cmd/goodput" {
			t.Errorf("%s: no package documentation", self)
		}
		for _, imp := range p.Imports {
			checkImport(t, self, imp)
		}
	}
}

func checkImport(t *testing.T, self, imp string) {
	t.Helper()
	if dep, ours := strings.CutPrefix(imp, "goodput/"); ours {
		if !allowed(self, dep) {
			t.Errorf("%s imports %s, which its folder may not import", self, dep)
		}
		if levelOf(dep) > levelOf(self) {
			t.Errorf("%s (level %d) imports %s (level %d): imports go downwards", self, levelOf(self), dep, levelOf(dep))
		}
		return
	}
	for foreign, homes := range onlyIn {
		if imp != foreign && !(strings.Contains(foreign, ".") && within(imp, foreign)) {
			continue
		}
		if !slices.ContainsFunc(homes, func(h string) bool { return within(self, h) }) {
			t.Errorf("%s imports %s, which belongs only in %v", self, imp, homes)
		}
	}
}

func allowed(self, dep string) bool {
	for _, m := range mayImport {
		if within(self, m.from) {
			return slices.ContainsFunc(m.to, func(to string) bool { return to == "" || dep == to || (!strings.Contains(to, "/") && within(dep, to)) })
		}
	}
	return false
}

func levelOf(p string) int {
	for _, l := range layers {
		if ok, _ := path.Match(l.pattern, p); ok {
			return l.level
		}
	}
	return -1
}

func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func below(importPath string) string { return strings.TrimPrefix(importPath, "goodput/") }

func listPackages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,GoFiles,Doc", "goodput/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var ours []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.ImportPath, "goodput/") && len(p.GoFiles) > 0 {
			ours = append(ours, p)
		}
	}
	if len(ours) < 10 {
		t.Fatalf("go list found only %d packages of ours", len(ours))
	}
	return ours
}
