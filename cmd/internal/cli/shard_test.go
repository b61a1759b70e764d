package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// offered is what of a row depends on nothing but the plan and the start.
type offered struct {
	RunID, Class, Adapter, PrefixKey string
	Intended                         clock.Time
	Trace                            [16]byte
	In, Out, Planned                 int32
	Phase                            record.Phase
}

// Invariant 4: processes with one start offer together what a single one offers, to the
// trace ids. How late they are does not matter.
func TestShardsOfferTheWhole(t *testing.T) {
	var dirs [3]string
	for lead := 2 * time.Second; ; lead *= 2 {
		if lead > time.Minute {
			t.Fatal("no start was far enough ahead")
		}
		root := t.TempDir()
		start := clock.Wall().Add(lead).UTC().Format(time.RFC3339Nano)
		ended := make(chan error, len(dirs))
		for i := range dirs {
			dirs[i] = filepath.Join(root, fmt.Sprint(i))
			args := []string{
				"run", "--target", "null", "--start-at", start, "--out", dirs[i], "--warmup", "100ms", "--lora-modules", "a*3",
				"--class", "one request-rate=200 num-prompts=61", "--class", "two dataset-name=prefix_repetition request-rate=100 num-prompts=30",
			}
			if i > 0 {
				args = append(args, "--shard", fmt.Sprintf("%d/2", i-1))
			}
			go func() {
				var text bytes.Buffer // of the diagnostics, whose writer is a goroutine of its own
				code := Main(Env{Args: args, Stdout: io.Discard, Stderr: &text, Getenv: func(string) string { return "" }})
				if code != exitOK && code != exitInvalid {
					ended <- errors.New(text.String())
					return
				}
				ended <- nil
			}()
		}
		again := false
		for range dirs {
			if err := <-ended; err != nil {
				if !strings.Contains(err.Error(), "give all parts of the load an instant further ahead") {
					t.Fatal(err)
				}
				again = true
			}
		}
		if !again {
			break
		}
	}
	whole, union := map[int64]offered{}, map[int64]offered{}
	cached := int64(0)
	for i, dir := range dirs {
		run, err := record.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		to := union
		if i == 0 {
			to = whole
		}
		if err := run.Requests(func(r *record.Request) error {
			if _, twice := to[r.Seq]; twice {
				t.Errorf("request %d is in two shards", r.Seq)
			}
			to[r.Seq] = offered{r.RunID, r.Class, r.Adapter, r.PrefixKey, r.Intended, r.TraceID, r.PlannedPromptTokens, r.PlannedOutputTokens, r.PlannedCachedTokens, r.Phase}
			cached += int64(r.PlannedCachedTokens)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if cached <= 0 {
		t.Errorf("%d tokens are planned to be found in a cache", cached)
	}
	if len(whole) < 91 {
		t.Errorf("%d requests, want 91 and a warm-up", len(whole))
	}
	if d := cmp.Diff(whole, union); d != "" {
		t.Error(d)
	}
}
