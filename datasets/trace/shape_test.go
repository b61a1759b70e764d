package trace_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/datasets/trace"
)

func shaped(t testing.TB, o trace.Shaping) *trace.Shaped {
	t.Helper()
	s, err := trace.Shape(openTable(t, trace.Mooncake, "mooncake_min.jsonl"), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestShape(t *testing.T) {
	for _, c := range []struct {
		name string
		o    trace.Shaping
		want string // times and prompt lengths
	}{
		{"as it is", trace.Shaping{}, "0s:1300 0s:1024 3s:1900 3s:1300 5.999s:13 9s:2100"},
		{"by row", trace.Shaping{Slice: "2:4"}, "0s:1900 0s:1300"},
		{"by time", trace.Shaping{Slice: "3s:9s"}, "0s:1900 0s:1300 2.999s:13"},
		{"open end", trace.Shaping{Slice: "4s:"}, "0s:13 3.001s:2100"},
		{"open start", trace.Shaping{Slice: ":1"}, "0s:1300"},
		{"faster", trace.Shaping{Speed: 2}, "0s:1300 0s:1024 1.5s:1900 1.5s:1300 2.9995s:13 4.5s:2100"},
		{"repeated", trace.Shaping{Slice: "3s:9s", Len: 5}, "0s:1900 0s:1300 2.999s:13 4.4985s:1900 4.4985s:1300"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := shaped(t, c.o)
			var got []string
			for _, it := range items(s) {
				got = append(got, fmt.Sprintf("%v:%d", it.At, it.In))
			}
			if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestJitterSpreads: rows of one instant are spread below the jitter, in order, by
// the seed alone, and no row is lost.
func TestJitterSpreads(t *testing.T) {
	a, b, other := shaped(t, trace.Shaping{Jitter: 3 * time.Second, Seed: 1}), shaped(t, trace.Shaping{Jitter: 3 * time.Second, Seed: 1}), shaped(t, trace.Shaping{Jitter: 3 * time.Second, Seed: 2})
	if diff := cmp.Diff(items(a), items(b)); diff != "" {
		t.Errorf("one seed, two replays:\n%s", diff)
	}
	if cmp.Equal(items(a), items(other)) {
		t.Error("two seeds, one replay")
	}
	sum, last := 0, time.Duration(0)
	for i, it := range items(a) {
		if it.At < last || i > 0 && it.At == last {
			t.Errorf("row %d is at %v after %v", i, it.At, last)
		}
		last, sum = it.At, sum+it.In
	}
	if sum != 7637 || last < 6*time.Second || last > 12*time.Second {
		t.Errorf("%d tokens until %v", sum, last)
	}
}

// TestLoopsShareNothing: a repetition has the reuse of the trace, and none with the
// repetition before.
func TestLoopsShareNothing(t *testing.T) {
	once := datasets.Ideal(shaped(t, trace.Shaping{}), 6, 16, nil)
	twice := datasets.Ideal(shaped(t, trace.Shaping{Len: 12}), 12, 16, nil)
	if twice.Hit != 2*once.Hit || twice.Tokens != 2*once.Tokens {
		t.Errorf("once %+v, twice %+v", once, twice)
	}
}

func TestShapeErrors(t *testing.T) {
	for _, c := range []struct {
		o    trace.Shaping
		want string
	}{
		{trace.Shaping{Slice: "5"}, "is no slice"},
		{trace.Shaping{Slice: ":"}, "is no slice"},
		{trace.Shaping{Slice: "a:b"}, "is no slice"},
		{trace.Shaping{Slice: "-1:5"}, "is no slice"},
		{trace.Shaping{Slice: "4:4"}, "holds none"},
		{trace.Shaping{Slice: "100:"}, "holds none"},
		{trace.Shaping{Slice: "1h:"}, "holds none"},
		{trace.Shaping{Speed: -1}, "neither can be negative"},
		{trace.Shaping{Slice: "0:2", Len: 9}, "all at one instant"},
	} {
		if _, err := trace.Shape(openTable(t, trace.Mooncake, "mooncake_min.jsonl"), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	if _, err := trace.Shape(openTable(t, trace.Custom, "vllm_custom_min.jsonl"), trace.Shaping{Slice: "1s:"}); err == nil || !strings.Contains(err.Error(), "holds no times") {
		t.Errorf("a slice by time without times: %v", err)
	}
}
