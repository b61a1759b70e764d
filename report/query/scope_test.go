package query_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
	"goodput/report/query"
)

func TestScopes(t *testing.T) {
	one, two, three := answered(0, 0, 10_000, 20_000), answered(1, 1000*ms, 30_000), answered(2, 2000*ms, 50_000)
	one.Class, two.Class, three.Class = "chat", "chat", "batch"
	one.Replica, two.Replica, three.Replica = "0", "1", "1"
	two.FirstToken += 100 * ms
	refused := answered(3, 3000*ms)
	refused.Outcome, refused.HTTPStatus, refused.Class = record.HTTP5xx, 503, "batch"
	dir := write(t, one, two, three, refused)
	all, err := query.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := all.Imbalance(4); !ok || math.Abs(got-2*4/3.) > 1e-12 {
		t.Errorf("imbalance over 4 replicas, of which 2 were used: %v, %v", got, ok)
	}
	if all.Refused != 1 {
		t.Errorf("%d refused", all.Refused)
	}
	chat, err := query.Load(dir, query.Scope{Label: "class", Value: "chat"})
	if err != nil {
		t.Fatal(err)
	}
	if itl, _ := chat.Metric("itl"); chat.Scheduled != 2 || itl.N != 3 || itl.Max != 30e6 {
		t.Errorf("%d requests, itl %+v: the gaps of other classes are among them", chat.Scheduled, itl)
	}
	both, err := query.Load(dir, query.Scope{Label: "class", Value: "chat"}, query.Scope{Label: "replica", Value: "1"})
	if err != nil || both.Scheduled != 1 {
		t.Errorf("chat of replica 1: %+v, %v", both, err)
	}
	for _, c := range []struct{ label, value, want string }{
		{"class", "tool", "there are batch, chat"},
		{"tenant", "x", "has a tenant"},
		{"policy", "x", "no column policy"},
	} {
		if _, err := query.Load(dir, query.Scope{Label: c.label, Value: c.value}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: got %v, want %q", c.label, c.value, err, c.want)
		}
	}
}

// What was due before the window, or after it, is there by itself, and not among the rest.
func TestPhases(t *testing.T) {
	var rows []record.Request
	for i := range 6 {
		r := answered(int64(i), clock.Time(i)*1000*ms, 10_000, 20_000)
		if i < 2 {
			r.Phase = record.Warmup
		}
		rows = append(rows, r)
	}
	dir := write(t, rows...)
	for _, c := range []struct {
		phase  string
		n, itl int64
		window time.Duration
	}{{"warmup", 2, 4, time.Second}, {"measure", 4, 8, 5 * time.Second}} { // of which the manifest has the beginning
		f, err := query.Load(dir, query.Scope{Label: "phase", Value: c.phase})
		if err != nil {
			t.Fatal(err)
		}
		if itl, _ := f.Metric("itl"); f.Scheduled != c.n || itl.N != c.itl || f.Window != c.window {
			t.Errorf("%s: %d requests, %d gaps, a window of %v; want %d, %d, %v", c.phase, f.Scheduled, itl.N, f.Window, c.n, c.itl, c.window)
		}
	}
	if _, err := query.Load(dir, query.Scope{Label: "phase", Value: "drain"}); err == nil || !strings.Contains(err.Error(), "there are measure, warmup") {
		t.Errorf("a phase without requests: %v", err)
	}
	if _, err := query.Windows(dir, time.Second, query.Scope{Label: "phase", Value: "warmup"}); err == nil {
		t.Error("stretches of a warm-up")
	}
}

// Any quantile is there, and those of the summary are the same.
func TestQuantile(t *testing.T) {
	var rows []record.Request
	for i := range 200 {
		r := answered(int64(i), ms*10*100, int32(1000+i))
		r.FirstToken += ms * 7
		rows = append(rows, r)
	}
	f, err := query.Load(write(t, rows...))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range f.Metrics {
		for q, want := range map[float64]float64{.5: m.P50, .9: m.P90, .95: m.P95, .99: m.P99} {
			if got, ok := f.Quantile(m.Name, q); m.N > 0 && (!ok || got != want) {
				t.Errorf("%s %v: %v, want %v", m.Name, q, got, want)
			}
		}
	}
	// Near and not at the value: gaps are counted in buckets of a thousandth.
	if got, _ := f.Quantile("itl", .85); math.Abs(got-1169e3) > 2e3 {
		t.Errorf("itl p85 is %v", got)
	}
	if _, ok := f.Quantile("queue", .5); ok {
		t.Error("a queue without any server's account")
	}
}
