package record

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

func formatMD(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFormatListsEveryColumn holds FORMAT.md and the table of columns together,
// in both directions, with order, type and nullability.
func TestFormatListsEveryColumn(t *testing.T) {
	var stored [][3]string
	documented := documented(t, "requests-NNNNN.parquet")
	neverThoughOptional := []string{"run_id", "intended"} // by the writer's and the dispatcher's doing
	for _, c := range columns() {
		null := "null"
		if !c.node.Optional() || slices.Contains(neverThoughOptional, c.name) {
			null = "never"
		}
		stored = append(stored, [3]string{c.name, typeName(c), null})
	}
	if d := cmp.Diff(stored, documented); d != "" {
		t.Errorf("columns of the code and of FORMAT.md (-code +document):\n%s", d)
	}
}

// documented lists the columns of one file: name, type and nullability.
func documented(t *testing.T, file string) [][3]string {
	t.Helper()
	_, text, found := strings.Cut(formatMD(t), "\n## "+file+"\n")
	if !found {
		t.Fatalf("FORMAT.md has no section %s", file)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	line := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (string|bool|int32|int64|double|list of int32|list of int64) \\| (.*?) \\|")
	var out [][3]string
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		null := "null"
		if m[3] == "never" {
			null = "never"
		}
		out = append(out, [3]string{m[1], m[2], null})
	}
	return out
}

func TestFormatListsEveryColumnOfRows(t *testing.T) {
	for file, row := range map[string]any{"sessions-NNNNN.parquet": sessionRow{}, "engine-NNNNN.parquet": engineRow{}, TrialsName: Trial{}, KneesName: Knee{}} {
		listsColumns(t, file, row)
	}
}

func listsColumns(t *testing.T, file string, row any) {
	t.Helper()
	var stored [][3]string
	for _, f := range parquet.SchemaOf(row).Fields() {
		null, kind := "never", "string"
		if f.Optional() {
			null = "null"
		}
		if !f.Leaf() {
			stored = append(stored, [3]string{f.Name(), "list of int64", null})
			continue
		}
		switch f.Type().Kind() {
		case parquet.Boolean:
			kind = "bool"
		case parquet.Double:
			kind = "double"
		case parquet.Int32:
			kind = "int32"
		case parquet.Int64:
			kind = "int64"
		}
		stored = append(stored, [3]string{f.Name(), kind, null})
	}
	if d := cmp.Diff(stored, documented(t, file)); d != "" {
		t.Errorf("columns of the code and of FORMAT.md (-code +document):\n%s", d)
	}
}

func typeName(c column) string {
	if c.list != nil {
		return "list of int32"
	}
	switch c.node.Type().Kind() {
	case parquet.Boolean:
		return "bool"
	case parquet.Int32:
		return "int32"
	case parquet.Int64:
		return "int64"
	}
	return "string"
}

func TestFormatListsWords(t *testing.T) {
	text := formatMD(t)
	for _, words := range []string{
		strings.Join(outcomeNames[:], " "),
		"warmup measure drain", "inprocess header otlp", "running", string(Complete), string(Interrupted),
		ManifestName, LatencyName, walSuffix, groupsSuffix, CounterDropped, CounterLost, CounterClamped, CounterTorn, CounterSessionsDropped, CounterSamplesTwice,
		DatasetCache, TargetCacheReset, CounterWarmups, CounterWarmupFailed, CounterProbes, CounterProbesFailed, ProbeClass,
		TargetKVBlocks, TargetKVFrom, KVDerived, KVGiven, CounterKVWaits, CounterPreemptions, CounterReportPicks, CounterReportAge,
		keySchema, keyRun, keyPlan, keyDefinitions, "ttft tpot itl e2e",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("FORMAT.md does not mention %q", words)
		}
	}
}

// TestSchema builds the schema and checks what a file says about itself.
func TestSchema(t *testing.T) {
	m := virtual
	m.Virtual = false
	for name, p := range map[string]*parquet.File{"virtual": openSegment(t, virtual), "real": openSegment(t, m)} {
		t.Run(name, func(t *testing.T) { checkSchema(t, p, name == "virtual") })
	}
}

func openSegment(t *testing.T, m Meta) *parquet.File {
	t.Helper()
	dir := write(t, plainRows(600, 3), m)
	f, err := os.Open(dir + "/requests-00001.parquet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	p, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func checkSchema(t *testing.T, p *parquet.File, virtual bool) {
	t.Helper()
	var names []string
	for _, c := range p.Root().Columns() {
		names = append(names, c.Name())
	}
	var want []string
	for _, c := range columns() {
		want = append(want, c.name)
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	for key, want := range map[string]string{keySchema: "1", keyRun: "run", keyPlan: "hash", keyDefinitions: definitionsText()} {
		if got, _ := p.Lookup(key); got != want {
			t.Errorf("metadata %s = %q, want %q", key, got, want)
		}
	}
	for _, g := range p.Metadata().RowGroups {
		for _, c := range g.Columns {
			want := format.Zstd
			if virtual {
				want = format.Uncompressed
			}
			if virtual && len(c.MetaData.PathInSchema) > 1 {
				want = format.Snappy
			}
			if c.MetaData.Codec != want {
				t.Errorf("%v is compressed by %v", c.MetaData.PathInSchema, c.MetaData.Codec)
			}
		}
	}
}

// TestDefinitionsNameColumns makes sure that each derived column is defined, and
// that no metric is defined twice.
func TestDefinitionsNameColumns(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Definitions() {
		if seen[d.Name] || d.Text == "" || d.Unit == "" {
			t.Errorf("definition %+v", d)
		}
		seen[d.Name] = true
	}
	for _, c := range columns() {
		if c.needs != nil && !seen[c.name] {
			t.Errorf("column %s has no definition", c.name)
		}
	}
}
