package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// requests draws rows in which every field is sometimes unknown, zero or
// extreme.
func requests() *rapid.Generator[Request] {
	return rapid.Custom(func(t *rapid.T) Request {
		var r Request
		r.Reset()
		for _, p := range instantsOf(&r) {
			*p = clock.Time(drawInt64(t))
		}
		for _, p := range int64sOf(&r) {
			*p = drawInt64(t)
		}
		for _, p := range int32sOf(&r) {
			*p = drawInt32(t)
		}
		for _, p := range []*int32{&r.Trial, &r.Shard, &r.Attempt, &r.Turn} {
			*p = max(drawInt32(t), 0)
		}
		r.Seq = max(drawInt64(t), 0)
		for _, p := range stringsOf(&r) {
			*p = rapid.SampledFrom([]string{"", "a", "b", "NULL", "long " + strings.Repeat("x", 300), "ünï\x00code"}).Draw(t, "s")
		}
		r.RunID = "run"
		copy(r.TraceID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "trace"))
		copy(r.SpanID[:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "span"))
		r.Final, r.Hedge = rapid.Bool().Draw(t, "final"), rapid.Bool().Draw(t, "hedge")
		r.ConnReused, r.SLOMet = Tri(rapid.IntRange(0, 2).Draw(t, "reused")), Tri(rapid.IntRange(0, 2).Draw(t, "slo"))
		r.Outcome = Outcome(rapid.IntRange(0, NumOutcomes-1).Draw(t, "outcome"))
		r.Phase = Phase(rapid.IntRange(0, len(phaseNames)-1).Draw(t, "phase"))
		r.TokenGapsUS = rapid.SliceOfN(rapid.Int32(), 0, 40).Draw(t, "gaps")
		r.ChunkTokens = rapid.SliceOfN(rapid.Int32(), 0, 3).Draw(t, "chunks")
		return r
	})
}

func drawInt64(t *rapid.T) int64 {
	return rapid.SampledFrom([]int64{Null, Null + 1, -1, 0, 1, 12345, math.MaxInt64}).Draw(t, "int64")
}

func drawInt32(t *rapid.T) int32 {
	return rapid.SampledFrom([]int32{Null32, Null32 + 1, -1, 0, 1, 12345, math.MaxInt32}).Draw(t, "int32")
}

func instantsOf(r *Request) []*clock.Time {
	return []*clock.Time{
		&r.Intended, &r.Dispatched, &r.Permitted, &r.Conn, &r.Writing, &r.Wrote, &r.FirstByte, &r.FirstEvent,
		&r.FirstRole, &r.FirstReasoning, &r.FirstContent, &r.FirstTool, &r.FirstToken, &r.LastToken, &r.UsageAt,
		&r.Done, &r.Closed, &r.AttemptDue,
	}
}

func int64sOf(r *Request) []*int64 {
	return []*int64{
		&r.RetryAfter, &r.BytesIn, &r.BytesOut, &r.ServerQueue, &r.ServerPrefill, &r.ServerDecode, &r.ServerTTFT,
		&r.ServerE2E, &r.ServerPreempted, &r.ServerSpentFrontEnd, &r.ServerSpentQueue, &r.ServerSpentPrefill,
		&r.ServerSpentDecode, &r.ServerSpentInterference, &r.ServerSpentTransfer, &r.DTTFT, &r.DE2E, &r.DTail, &r.DTPOT,
		&r.DNS, &r.Dial, &r.TLS,
	}
}

func int32sOf(r *Request) []*int32 {
	return []*int32{
		&r.PlannedPromptTokens, &r.PromptTokens, &r.PlannedOutputTokens, &r.OutputTokens, &r.ReasoningTokens,
		&r.PlannedCachedTokens, &r.PoolCachedTokens, &r.CachedTokens, &r.Chunks, &r.CoalescedTokens, &r.HTTPStatus, &r.ServerCachedTokens,
		&r.ServerPreemptions, &r.ServerRecomputed, &r.ServerDrafts, &r.ServerDraftTokens, &r.ServerAcceptedTokens,
		&r.ServerAttempts, &r.URL,
	}
}

func stringsOf(r *Request) []*string {
	return []*string{
		&r.RunID, &r.Arm, &r.RequestID, &r.SessionID, &r.Thread, &r.ParentThread, &r.Trigger, &r.Class, &r.Tenant,
		&r.PrefixKey, &r.Adapter, &r.Replica, &r.Error, &r.FinishReason, &r.ServerSource,
	}
}

// write makes a run of rows and returns its directory.
func write(t testing.TB, rows []Request, m Meta, opts ...Option) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, m, opts...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		w.Write(&rows[i])
	}
	if err := w.Close(Final{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// unsynced saves the time of syncs in tests that write many runs.
func unsynced(c *config) {
	c.disk = func(dir string) (disk, error) {
		d, err := openDisk(dir)
		return lazyDisk{d}, err
	}
}

type lazyDisk struct{ *osDisk }

func (lazyDisk) sync() error { return nil }

func (d lazyDisk) create(name string) (file, error) {
	f, err := d.osDisk.create(name)
	return lazyFile{f}, err
}

type lazyFile struct{ file }

func (lazyFile) Sync() error { return nil }

// read returns copies of all rows.
func read(t testing.TB, dir string, opts ...ReadOption) []Request {
	t.Helper()
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var rows []Request
	err = run.Requests(func(r *Request) error {
		rows = append(rows, clone(r))
		return nil
	}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func clone(r *Request) Request {
	c := *r
	c.TokenGapsUS = append([]int32{}, r.TokenGapsUS...)
	c.ChunkTokens = append([]int32{}, r.ChunkTokens...)
	return c
}

var virtual = Meta{RunID: "run", PlanHash: "hash", Virtual: true}

func TestRowsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.SliceOfN(requests(), 0, 20).Draw(rt, "rows")
		m := virtual
		m.Virtual = rapid.Bool().Draw(rt, "virtual")
		dir := write(t, rows, m, SegmentRows(7), unsynced)
		got := read(t, dir)
		if len(got) != len(rows) {
			rt.Fatalf("%d rows, want %d", len(got), len(rows))
		}
		for i := range rows {
			if d := cmp.Diff(clone(&rows[i]), got[i]); d != "" {
				rt.Fatalf("row %d (-want +got):\n%s", i, d)
			}
		}
	})
}

func TestWALRowsComeBackAsTheyWere(t *testing.T) {
	cols := columns()
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.SliceOfN(requests(), 0, 5).Draw(rt, "rows")
		var buf memFile
		w := newWALWriter(cols)
		if err := errors.Join(w.open(&buf), w.append(rows)); err != nil {
			rt.Fatal(err)
		}
		r, err := newWALReader(&buf.Buffer, cols)
		if err != nil {
			rt.Fatal(err)
		}
		var got Request
		for i := range rows {
			if err := r.next(&got); err != nil {
				rt.Fatal(err)
			}
			if d := cmp.Diff(clone(&rows[i]), clone(&got)); d != "" {
				rt.Fatalf("row %d (-want +got):\n%s", i, d)
			}
		}
	})
}

type memFile struct{ bytes.Buffer }

func (*memFile) Sync() error  { return nil }
func (*memFile) Close() error { return nil }

// TestEveryFieldIsStored makes sure that a field added to Request gets a column.
func TestEveryFieldIsStored(t *testing.T) {
	stored := 0
	for _, c := range columns() {
		if c.put != nil {
			stored++
		}
	}
	var r Request
	drawn := len(instantsOf(&r)) + len(int64sOf(&r)) + len(int32sOf(&r)) + len(stringsOf(&r)) + 4 + 1 + 2 + 2 + 2 + 2 + 2
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if len(m) != stored || drawn != stored {
		t.Errorf("Request has %d fields, the test draws %d, the table stores %d; they must agree", len(m), drawn, stored)
	}
}

// plain is a row as a run of the fake engine would leave.
func plain(i int, gaps int) Request {
	var r Request
	r.Reset()
	at := clock.Time(i) * 1_000_000
	r.RunID, r.Seq, r.Final, r.Class = "run", int64(i), true, "chat"
	r.RequestID = fmt.Sprintf("run-%08d", i)
	r.Intended, r.Dispatched, r.Writing, r.Wrote = at, at+1000, at+2000, at+3000
	r.FirstByte, r.FirstToken, r.FirstContent = at+5_000_000, at+5_000_000+clock.Time(i%977)*1000, at+5_000_000
	r.OutputTokens, r.Chunks, r.Replica = int32(gaps+1), int32(gaps+1), fmt.Sprint("r", i%4)
	t := r.FirstToken
	for k := range gaps {
		gap := int32(10_000 + (i*31+k*17)%500)
		r.TokenGapsUS = append(r.TokenGapsUS, gap)
		t += clock.Time(gap) * 1000
		r.ChunkTokens = append(r.ChunkTokens, 1)
	}
	r.ChunkTokens = append(r.ChunkTokens, 1)
	r.LastToken, r.Done, r.Closed = t, t, t
	return r
}

func plainRows(n, gaps int) []Request {
	rows := make([]Request, n)
	for i := range rows {
		rows[i] = plain(i, gaps)
	}
	return rows
}

func TestSegmentsRotateByRows(t *testing.T) {
	rows := plainRows(2100, 2)
	dir := write(t, rows, virtual, SegmentRows(1000))
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []File{{"requests-00001.parquet", 1000}, {"requests-00002.parquet", 1000}, {"requests-00003.parquet", 100}}
	if d := cmp.Diff(want, run.Manifest.Files); d != "" {
		t.Error(d)
	}
	got := read(t, dir)
	if len(got) != len(rows) {
		t.Fatalf("%d rows, want %d", len(got), len(rows))
	}
	for i := range got {
		if got[i].Seq != int64(i) {
			t.Fatalf("row %d has seq %d", i, got[i].Seq)
		}
	}
	if names := listDir(t, dir); strings.Contains(names, "wal") || strings.Contains(names, "tmp") {
		t.Errorf("left behind: %s", names)
	}
}

func TestRowGroupsAreReadOneAfterTheOther(t *testing.T) {
	rows := plainRows(rowGroupRows+700, 1)
	got := read(t, write(t, rows, virtual))
	if len(got) != len(rows) || got[len(got)-1].Seq != int64(len(rows)-1) {
		t.Fatalf("%d rows, want %d", len(got), len(rows))
	}
}

// newSegment starts the first segment of a run.
func newSegment(d disk, cols []column, m *Manifest) (*segment, error) {
	made, err := newSegments(d, cols, m, 0)
	if err != nil {
		return nil, err
	}
	return made.create(1)
}

func TestLongListsEndARowGroup(t *testing.T) {
	dir := t.TempDir()
	d, err := openDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	m := newManifest(Meta{RunID: "run"})
	s, err := newSegment(d, columns(), &m)
	if err != nil {
		t.Fatal(err)
	}
	row := plain(0, 1)
	stream := rng.New(1, "gaps", 0)
	for range rowGroupLists/4 + 1000 { // random numbers don't compress
		row.TokenGapsUS = append(row.TokenGapsUS, int32(stream.Uint64()))
	}
	for range 2 {
		if err := s.add([]Request{row}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.finish(); err != nil {
		t.Fatal(err)
	}
	if n := len(s.meta.RowGroups); n != 2 {
		t.Errorf("%d row groups, want one for each row", n)
	}
}

func TestSegmentsRotateByTimeInRealTimeOnly(t *testing.T) {
	for _, c := range []struct {
		name  string
		meta  Meta
		files int
	}{
		{"real", Meta{RunID: "run"}, 2},
		{"virtual", virtual, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := []Request{plain(0, 1), plain(1, 1), plain(61_000, 1)}
			run, err := Open(write(t, rows, c.meta))
			if err != nil {
				t.Fatal(err)
			}
			if n := len(run.Manifest.Files); n != c.files {
				t.Errorf("%d files, want %d", n, c.files)
			}
		})
	}
}

// Invariant 5: the same rows of a virtual run give the same bytes, whatever the
// wall clock says.
func TestInvariant5VirtualFilesAreEqualByteByByte(t *testing.T) {
	rows := plainRows(3000, 5)
	m := virtual
	m.Epoch, m.Started = time.Unix(1, 0), time.Unix(1, 0)
	a := write(t, rows, m, SegmentRows(1300))
	m.Epoch, m.Started = time.Unix(1e9, 5), time.Unix(1e9, 6)
	b := write(t, rows, m, SegmentRows(1300))
	for _, name := range []string{"requests-00001.parquet", "requests-00002.parquet", "requests-00003.parquet", LatencyName} {
		x, y := readFile(t, a, name), readFile(t, b, name)
		if !bytes.Equal(x, y) {
			t.Errorf("%s differs", name)
		}
	}
	c := write(t, rows[:2999], virtual, SegmentRows(1300))
	if bytes.Equal(readFile(t, a, "requests-00003.parquet"), readFile(t, c, "requests-00003.parquet")) {
		t.Error("other rows gave the same bytes")
	}
}

func readFile(t testing.TB, dir, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func listDir(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestARunWithoutRowsIsARun(t *testing.T) {
	dir := write(t, nil, virtual)
	if rows := read(t, dir); len(rows) != 0 {
		t.Errorf("%d rows", len(rows))
	}
	if names := listDir(t, dir); names != "latency.hlog manifest.json requests-00001.parquet" {
		t.Errorf("files: %s", names)
	}
}

func TestColumnsLimitWhatIsRead(t *testing.T) {
	rows := plainRows(10, 3)
	dir := write(t, rows, virtual)
	for _, r := range read(t, dir, WithoutGaps()) {
		if len(r.TokenGapsUS)+len(r.ChunkTokens) != 0 || r.TTFT() == Null || r.RequestID == "" {
			t.Fatalf("without gaps: %+v", r)
		}
	}
	for i, r := range read(t, dir, Columns("ttft", "e2e")) {
		if r.TTFT() != rows[i].TTFT() || r.E2E() != rows[i].E2E() || r.RequestID != "" || r.Wrote.Known() {
			t.Fatalf("ttft and e2e: %+v", r)
		}
	}
	run, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Requests(func(*Request) error { return nil }, Columns("ttfb")); err == nil || !strings.Contains(err.Error(), `"ttfb"`) {
		t.Errorf("unknown column: %v", err)
	}
}

// TestDerivedColumnsNeedWhatTheySay compares every metric of a full read with
// one of only that column.
func TestDerivedColumnsNeedWhatTheySay(t *testing.T) {
	row := plain(3, 4)
	row.AttemptDue = row.Intended + 1
	row.Permitted = row.Dispatched + 5
	row.Conn = row.Permitted + 7
	row.ServerTTFT, row.ServerQueue, row.ServerPrefill = 100, 20, 30
	dir := write(t, []Request{row}, virtual)
	for _, c := range columns() {
		if c.needs == nil {
			continue
		}
		got := read(t, dir, Columns(c.name))[0]
		want, have := newChunk(&c, true, new(scratch)), newChunk(&c, true, new(scratch))
		c.gather(want, []Request{row})
		c.gather(have, []Request{got})
		if len(want.i64) != 1 || !slices.Equal(want.i64, have.i64) {
			t.Errorf("%s: %v alone, %v of the whole row", c.name, have.i64, want.i64)
		}
	}
}

func TestRowGroupsFollowTheLengthOfTheRun(t *testing.T) {
	for _, c := range []struct{ expected, want int }{
		{0, rowGroupRows},
		{10, batchRows},
		{4 * batchRows, batchRows},
		{4*batchRows + 400, 2 * batchRows}, // whole batches
		{4*rowGroupRows - 1, rowGroupRows},
		{100 * rowGroupRows, rowGroupRows},
	} {
		rows := plainRows(c.want+1, 1)
		dir := t.TempDir()
		w, err := Create(dir, Meta{RunID: "r", Virtual: true}, Expect(c.expected))
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			w.Write(&rows[i])
		}
		if err := w.Close(Final{}); err != nil {
			t.Fatal(err)
		}
		if got := groupsOf(t, dir); !slices.Equal(got, []int64{int64(c.want), 1}) {
			t.Errorf("%d rows expected: groups of %d, want %d and 1", c.expected, got, c.want)
		}
	}
}

// groupsOf are the rows of each row group of the first segment.
func groupsOf(t *testing.T, dir string) (rows []int64) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, segmentName(1, segmentSuffix)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range f.RowGroups() {
		rows = append(rows, g.NumRows())
	}
	return rows
}

func TestAnErrorOfTheCallbackEndsTheReading(t *testing.T) {
	run, err := Open(write(t, plainRows(10, 1), virtual))
	if err != nil {
		t.Fatal(err)
	}
	stop, n := errors.New("enough"), 0
	err = run.Requests(func(*Request) error {
		n++
		return stop
	})
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("%v after %d rows", err, n)
	}
}
