package query_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/query"
)

// TestITLIsThatOfTheGaps: the figures taken from the latency log are those of the
// gaps in the rows, which are read if the log is missing, cut, or of other rows.
func TestITLIsThatOfTheGaps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := make([]record.Request, rapid.IntRange(1, 30).Draw(rt, "rows"))
		for i := range rows {
			gaps := rapid.SliceOfN(rapid.OneOf(rapid.Int32Range(0, 20_000), rapid.Int32()), 0, 40).Draw(rt, "gaps")
			for k, g := range gaps {
				gaps[k] = max(g, 0)
			}
			r := answered(int64(i), clock.Time(i)*7000*ms, gaps...)
			r.Closed = r.LastToken
			if rapid.IntRange(0, 9).Draw(rt, "failed") == 0 {
				r.Outcome = record.Truncated
			}
			rows[i] = r
		}
		dir := write(t, rows...)
		name := filepath.Join(dir, record.LatencyName)
		log, err := os.ReadFile(name)
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.Remove(name); err != nil {
			rt.Fatal(err)
		}
		want, err := query.Load(dir)
		if err != nil {
			rt.Fatal(err)
		}
		other := rapid.SampledFrom([][]byte{
			log, log, log,
			{},
			log[:rapid.IntRange(0, len(log)-1).Draw(rt, "cut")],
			bytes.Replace(log, []byte("maxima are exact"), nil, 1), slices.Concat(log, log),
		}).Draw(rt, "log")
		if err := os.WriteFile(name, other, 0o666); err != nil {
			rt.Fatal(err)
		}
		got, err := query.Load(dir)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(query.Figures{})); diff != "" {
			rt.Errorf("without the log, and with it (-want +got):\n%s", diff)
		}
	})
}
