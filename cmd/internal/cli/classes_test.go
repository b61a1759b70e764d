package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/plan"
)

// askedRow is what one request of a class is, whatever becomes of it.
type askedRow struct {
	At     clock.Time
	Warm   bool
	Prompt []datasets.Span
	Out    int
	Group  uint64
}

// plannedBy lists the requests of each class of a plan, in order.
func plannedBy(t *testing.T, change func(*plan.Plan)) map[string][]askedRow {
	t.Helper()
	p := plan.Default()
	p.Duration, p.Seed, p.Warmup = 20*time.Second, 7, "2s"
	change(&p)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	set, _, p, err := openLoad(p)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{plan: p, set: set}
	source, err := s.source()
	if err != nil {
		t.Fatal(err)
	}
	load, err := s.warmup(source)
	if err != nil {
		t.Fatal(err)
	}
	classes, err := mixOf(set).classes(load.first)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]askedRow{}
	var it datasets.Item
	for a, ok := load.source.Next(); ok; a, ok = load.source.Next() {
		load.set.Item(int(a.Item), &it)
		name := classes[a.Class-1].Name
		out[name] = append(out[name], askedRow{a.At, a.Warm, append([]datasets.Span{}, it.Prompt...), it.Out, it.Prefix & (1<<48 - 1)})
	}
	return out
}

// TestClassesAreIndependent is invariant 3 for classes: what one class asks and when is
// the same whatever the others do, and changes with its own name and seed.
func TestClassesAreIndependent(t *testing.T) {
	const chat = "chat request-rate=8 dataset-name=prefix_repetition"
	base := plannedBy(t, func(p *plan.Plan) { p.Class = []string{chat, "batch request-rate=2"} })
	if len(base["chat"]) < 100 || len(base["batch"]) < 20 {
		t.Fatalf("%d and %d requests", len(base["chat"]), len(base["batch"]))
	}
	for name, change := range map[string]func(*plan.Plan){
		"another rate":    func(p *plan.Plan) { p.Class = []string{chat, "batch request-rate=9"} },
		"another dataset": func(p *plan.Plan) { p.Class = []string{chat, "batch request-rate=2 dataset-name=rag"} },
		"another process": func(p *plan.Plan) { p.Class = []string{chat, "batch request-rate=2 arrival=gamma burstiness=0.3"} },
		"another order":   func(p *plan.Plan) { p.Class = []string{"batch request-rate=2", chat} },
		"a third class":   func(p *plan.Plan) { p.Class = []string{"more request-rate=5", chat, "batch request-rate=2"} },
		"alone":           func(p *plan.Plan) { p.Class = []string{chat} },
		"sessions":        func(p *plan.Plan) { p.Class = []string{"agents dataset-name=agent sessions-rate=1", chat} },
	} {
		got := plannedBy(t, change)
		if diff := cmp.Diff(base["chat"], got["chat"]); diff != "" {
			t.Errorf("%s: class chat changed (-before +now):\n%s", name, diff)
		}
	}
	for name, change := range map[string]func(*plan.Plan){
		"another seed": func(p *plan.Plan) { p.Class, p.Seed = []string{chat}, 8 },
		"another name": func(p *plan.Plan) {
			p.Class = []string{"chat2" + chat[len("chat"):], "chat request-rate=1"}
		},
	} {
		got := plannedBy(t, change)
		if cmp.Equal(base["chat"], append(got["chat2"], got["chat"]...)) {
			t.Errorf("%s: nothing changed", name)
		}
	}
}

// TestMixScales: a sweep keeps the shares of the classes, and their sum is the rate.
func TestMixScales(t *testing.T) {
	p := plan.Default()
	p.NumPrompts = 5000
	p.Class = []string{"chat request-rate=30", "batch request-rate=10 arrival=gamma burstiness=0.5"}
	set, _, _, err := openLoad(p)
	if err != nil {
		t.Fatal(err)
	}
	m := mixOf(set)
	source, err := m.scaled(100)
	if err != nil {
		t.Fatal(err)
	}
	const n = 40_000
	count := map[uint16]int{}
	var last clock.Time
	for range n {
		a, ok := source.Next()
		if !ok {
			t.Fatal("the arrivals end")
		}
		if k := int(a.Item) / 5000; k+1 != int(a.Class) {
			t.Fatalf("class %d asks for item %d", a.Class, a.Item)
		}
		count[a.Class]++
		last = a.At
	}
	if share := float64(count[1]) / n; share < 0.73 || share > 0.77 {
		t.Errorf("class chat has a share of %v, want 0.75", share)
	}
	if rate := n / last.Sub(0).Seconds(); rate < 97 || rate > 103 {
		t.Errorf("%v a second, want 100", rate)
	}
	// Counts of gamma gaps vary 1/shape times as much as Poisson's.
	if v, ok := m.dispersion(100); !ok || v != 0.75*1+0.25*2 {
		t.Errorf("dispersion %v, %v, want 1.25", v, ok)
	}
	if ids, err := m.items(40); err != nil || len(ids) != 40 {
		t.Errorf("%d items, %v", len(ids), err)
	}
}
