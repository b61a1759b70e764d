package record

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
)

// stepRows are rows of servers whose requests share steps, as those of an engine
// do, with some that skip steps or whose gaps are their own.
func stepRows(t *rapid.T, n int) []Request {
	servers := rapid.IntRange(1, 4).Draw(t, "servers")
	steps := make([][]int64, servers) // instants in microseconds
	for s := range steps {
		at := int64(rapid.IntRange(0, 5000).Draw(t, "start"))
		for range 120 {
			at += int64(rapid.SampledFrom([]int{0, 1, 7, 7, 7, 8, 2000, 70_000}).Draw(t, "step"))
			steps[s] = append(steps[s], at)
		}
	}
	rows := make([]Request, n)
	for i := range rows {
		r := &rows[i]
		r.Reset()
		r.Final = true
		s := rapid.IntRange(0, servers-1).Draw(t, "server")
		r.Replica = fmt.Sprint(s)
		from := min(i*100/n+rapid.IntRange(0, 19).Draw(t, "from"), 119)
		to := min(from+rapid.IntRange(0, 60).Draw(t, "tokens"), 119)
		at := steps[s][from]
		r.FirstToken = clock.Time(at * 1000)
		skip := rapid.IntRange(0, 9).Draw(t, "skip") == 0
		for k := from + 1; k <= to; k++ {
			if skip && k%7 == 0 {
				continue
			}
			r.TokenGapsUS = append(r.TokenGapsUS, int32(steps[s][k]-at))
			at = steps[s][k]
		}
		if rapid.IntRange(0, 19).Draw(t, "odd") == 0 {
			r.TokenGapsUS = append(r.TokenGapsUS, -5, 1<<31-1, -1<<31)
		}
		if len(r.TokenGapsUS) == 0 {
			r.TokenGapsUS = nil
		}
	}
	return rows
}

// TestTimelinesSayWhatTheRowsSay: the places of rows hold their gaps, the Snappy
// block made of them is that of their plain values, and counting steps counts each
// gap once, whatever was forgotten between.
func TestTimelinesSayWhatTheRowsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := stepRows(t, rapid.IntRange(1, 60).Draw(t, "rows"))
		lines := newTimelines()
		var zip zipper
		got, want := map[int32]int64{}, map[int32]int64{}
		lines.counter = func(us int32, n int64) { got[us] += n }
		var plain, back []byte
		own := 0
		for len(rows) > 0 {
			part := rows[:rapid.IntRange(1, len(rows)).Draw(t, "batch")]
			rows = rows[len(part):]
			lines.place(part)
			for i := range part {
				gaps := part[i].TokenGapsUS
				zip.row(gaps, lines.rows[i])
				for _, g := range gaps {
					want[g]++
					plain = binary.LittleEndian.AppendUint32(plain, uint32(g))
				}
				for _, s := range lines.rows[i] {
					if s.line == nil {
						own += s.n
						for _, g := range gaps[:s.n] {
							got[g]++
						}
					} else {
						if have := s.line.gap[s.at-s.line.base:][:s.n]; !slices.Equal(have, gaps[:s.n]) {
							t.Fatalf("the gaps %v are placed at %v", gaps[:s.n], have)
						}
						s.line.use(s.at, s.n)
					}
					gaps = gaps[s.n:]
				}
				if len(gaps) > 0 {
					t.Fatalf("%v have no place", gaps)
				}
			}
			if rapid.Bool().Draw(t, "forget") {
				for _, line := range lines.all {
					line.count(lines.counter)
					line.forget(rapid.IntRange(0, len(line.gap)).Draw(t, "steps"))
				}
			}
			if rapid.Bool().Draw(t, "turn") {
				back = unzip(t, &zip, back)
				lines.turn()
			}
		}
		if back = unzip(t, &zip, back); string(back) != string(plain) {
			t.Fatalf("%d bytes came back as %d others", len(plain), len(back))
		}
		for _, line := range lines.all {
			line.count(lines.counter)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("counted (-want +got):\n%s", diff)
		}
	})
}

// unzip ends the page and appends its values to dst.
func unzip(t *rapid.T, z *zipper, dst []byte) []byte {
	if z.n == 0 {
		return dst
	}
	plain, err := parquet.Snappy.Decode(nil, z.block(nil))
	if err != nil || len(plain) != z.n*valueBytes {
		t.Fatalf("%d values became %d bytes: %v", z.n, len(plain), err)
	}
	z.reset()
	return append(dst, plain...)
}

// TestSharedStepsAreFound: a row that shares its steps with one before is a copy
// of it but for the steps that are new.
func TestSharedStepsAreFound(t *testing.T) {
	lines := newTimelines()
	var zip zipper
	for i := range 50 {
		rows := []Request{sharing(i, 255)}
		lines.place(rows)
		if n := len(lines.rows[0]); n != 1 || lines.rows[0][0].line == nil {
			t.Fatalf("row %d is in %d pieces", i, n)
		}
		zip.row(rows[0].TokenGapsUS, lines.rows[0])
	}
	if want := 255 + 49*10; zip.own != want {
		t.Errorf("%d gaps are not copied, want %d", zip.own, want)
	}
}

// sharing is row i of requests that begin every 10 steps of one server.
func sharing(i, gaps int) Request {
	r := plain(i, 0)
	r.Replica = "0"
	at := int64(0)
	r.TokenGapsUS = make([]int32, 0, gaps)
	for k := range 10*i + gaps {
		us := 7500 + int32(k*k%997)
		if k < 10*i {
			at += int64(us)
		} else {
			r.TokenGapsUS = append(r.TokenGapsUS, us)
		}
	}
	r.FirstToken = clock.Time(at * 1000)
	return r
}

// TestTimelinesAreBounded: old steps are forgotten, so that memory does not grow
// with the run.
func TestTimelinesAreBounded(t *testing.T) {
	lines := newTimelines()
	counted := int64(0)
	lines.counter = func(_ int32, n int64) { counted += n }
	rows := make([]Request, 1)
	const n, gaps = 5000, 100
	at := int64(0)
	for i := range n {
		r := plain(i, gaps)
		r.Replica = "0"
		r.FirstToken = clock.Time(at * 1000)
		for _, g := range r.TokenGapsUS {
			at += int64(g)
		}
		rows[0] = r
		lines.place(rows)
		s := lines.rows[0][0]
		s.line.use(s.at, s.n)
	}
	line := lines.all[0]
	if most := 2*(2*gaps+1024) + gaps; len(line.gap) > most {
		t.Errorf("%d steps are kept, want at most %d", len(line.gap), most)
	}
	if line.count(lines.counter); counted != n*gaps {
		t.Errorf("%d gaps counted, want %d", counted, n*gaps)
	}
}

func TestTimelinesAllocateNothing(t *testing.T) {
	lines, zip, rows := sharedRows(512)
	if n := testing.AllocsPerRun(20, func() { placeAll(lines, zip, rows) }); n != 0 {
		t.Errorf("%v allocations per batch", n)
	}
}

func BenchmarkTimelines(b *testing.B) {
	lines, zip, rows := sharedRows(512)
	b.ReportAllocs()
	for b.Loop() {
		placeAll(lines, zip, rows)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
}

// sharedRows are n rows of 255 gaps that share most of their steps, after they
// were placed once.
func sharedRows(n int) (*timelines, *zipper, []Request) {
	rows := make([]Request, n)
	for i := range rows {
		rows[i] = sharing(i, 255)
	}
	lines, zip := newTimelines(), new(zipper)
	lines.counter = func(int32, int64) {}
	placeAll(lines, zip, rows)
	return lines, zip, rows
}

func placeAll(lines *timelines, zip *zipper, rows []Request) {
	lines.place(rows)
	for i := range rows {
		zip.row(rows[i].TokenGapsUS, lines.rows[i])
		for _, s := range lines.rows[i] {
			if s.line != nil {
				s.line.use(s.at, s.n)
			}
		}
	}
	for _, line := range lines.all {
		line.count(lines.counter)
	}
	lines.turn()
	zip.reset()
}

// TestSameValuesAreDeltaEncoded: the short way is read as the library's.
func TestSameValuesAreDeltaEncoded(t *testing.T) {
	for _, n := range []int{1, 2, 128, 129, 130, 257, 65_600} {
		for _, v := range []int32{0, 1, -7, 1<<31 - 1, -1 << 31} {
			got, err := parquet.DeltaBinaryPacked.DecodeInt32(nil, appendSames(nil, v, n))
			if err != nil || !slices.Equal(got, slices.Repeat([]int32{v}, n)) {
				t.Errorf("%d times %d came back as %d values: %v", n, v, len(got), err)
			}
		}
	}
}
