package plan_test

import (
	"strings"
	"testing"

	"goodput/loadgen/plan"
)

func FuzzPart(f *testing.F) {
	for _, s := range []string{"", "0/1", "1/2", "2/2", "-1/2", "a/b", "1", "/", "0/0", "0/99999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := plan.Plan{Shard: text}
		if i, n, err := p.Part(); err == nil && (i < 0 || i >= n || n > plan.MostShards) {
			t.Fatalf("%q is part %d of %d", text, i, n)
		}
	})
}

func TestShardIsChecked(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*plan.Plan)
		want   string // "": it is right
	}{
		{"right", func(*plan.Plan) {}, ""},
		{"one part", func(p *plan.Plan) { p.Shard = "0/1" }, ""},
		{"warm-up by time", func(p *plan.Plan) { p.Warmup = "10s" }, ""},
		{"no such part", func(p *plan.Plan) { p.Shard = "2/2" }, "--shard: \"2/2\" is not INDEX/COUNT"},
		{"in process", func(p *plan.Plan) { p.BaseURL = nil }, "--shard: each process would have engines of its own"},
		{"no start", func(p *plan.Plan) { p.StartAt = "" }, "--start-at: parts of one load need a common start"},
		{"no instant", func(p *plan.Plan) { p.StartAt = "10:30" }, "--start-at: \"10:30\" is no instant"},
		{"closed loop", func(p *plan.Plan) { p.Concurrency, p.RequestRate = 4, 0 }, "--shard: a closed loop has no schedule"},
		{"cap", func(p *plan.Plan) { p.MaxConcurrency = 4 }, "--shard: processes don't know"},
		{"warm-up by number", func(p *plan.Plan) { p.Warmup = "10req" }, "--warmup: the window has to open at one instant"},
		{"warm cache", func(p *plan.Plan) { p.Cache = plan.CacheWarm }, "--warmup: the window has to open at one instant"},
		{"search", func(p *plan.Plan) { p.BaseURL, p.Target, p.RequestRate = nil, "null", 0 }, "--shard: a search for the highest rate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plan.Default()
			p.BaseURL, p.RequestRate = []string{"http://127.0.0.1:8000"}, 10
			p.Shard, p.StartAt = "1/2", "2031-05-04T10:30:00Z"
			hash := p.Hash()
			c.change(&p)
			err := p.Validate()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			// The parts of a load, and the whole, are one plan.
			if c.name == "one part" && p.Hash() != hash {
				t.Error("the part is in the hash")
			}
		})
	}
}
