package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClasses(t *testing.T) {
	p := Default()
	p.RequestRate, p.RandomInput, p.Goodput = 3, 77, []string{"ttft:100"}
	p.Class = []string{
		"chat request-rate=8 dataset-name=prefix_repetition",
		`batch random-input-len=4096 goodput=e2el:20000 goodput=tpot:90 priority=10 dataset-path="a folder/file"`,
	}
	list, err := p.Classes()
	if err != nil {
		t.Fatal(err)
	}
	type what struct {
		Name, Dataset, Path string
		Rate                Rate
		In, Priority        int
		Goodput             []string
	}
	var got []what
	for _, c := range list {
		got = append(got, what{c.Name, c.Plan.DatasetName, c.Plan.DatasetPath, c.Plan.RequestRate, c.Plan.RandomInput, c.Plan.Priority, c.Plan.Goodput})
		if c.Plan.Mixed() {
			t.Errorf("class %s has classes", c.Name)
		}
	}
	want := []what{
		{"chat", "prefix_repetition", "", 8, 77, 0, []string{"ttft:100"}},
		{"batch", "random", "a folder/file", 3, 4096, 10, []string{"e2el:20000", "tpot:90"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestClassesThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Plan)
		says   string
	}{
		"no name":          {func(p *Plan) { p.Class = []string{"request-rate=1"} }, "first word is the name"},
		"empty name":       {func(p *Plan) { p.Class = []string{`"" request-rate=1`} }, "first word is the name"},
		"empty":            {func(p *Plan) { p.Class = []string{" "} }, "empty"},
		"unknown key":      {func(p *Plan) { p.Class = []string{"a rate=1"} }, "unknown key"},
		"no pair":          {func(p *Plan) { p.Class = []string{"a request-rate"} }, "not KEY=VALUE"},
		"not a class's":    {func(p *Plan) { p.Class = []string{"a replicas=1"} }, "give --replicas to the whole load"},
		"sessions":         {func(p *Plan) { p.Class = []string{"a sessions-rate=1"} }, "class a: --sessions-rate: dataset random has no sessions"},
		"bad value":        {func(p *Plan) { p.Class = []string{"a request-rate=fast"} }, "class a: request-rate"},
		"twice a key":      {func(p *Plan) { p.Class = []string{"a request-rate=1 request-rate=2"} }, "twice"},
		"twice a name":     {func(p *Plan) { p.Class = []string{"a request-rate=1", "a request-rate=2"} }, "two classes are named a"},
		"open quote":       {func(p *Plan) { p.Class = []string{`a dataset-path="x`} }, "never closed"},
		"too many":         {func(p *Plan) { p.Class = many(65) }, "more than the limit"},
		"closed loop":      {func(p *Plan) { p.Concurrency = 3 }, "--concurrency"},
		"agents, no rate":  {func(p *Plan) { p.Class = []string{"a dataset-name=agent"} }, "class a: --sessions-rate"},
		"agents by rate":   {func(p *Plan) { p.Class = []string{"a dataset-name=agent request-rate=1 sessions-rate=1"} }, "class a: --request-rate"},
		"agents of all":    {func(p *Plan) { p.DatasetName, p.SessionsRate = "agent", 1 }, "sessions are what some classes are of"},
		"agents in places": {func(p *Plan) { p.MaxLiveSessions = 3 }, "leave out --sessions-concurrency"},
		"agents capped": {func(p *Plan) {
			p.Class, p.MaxConcurrency = []string{"a dataset-name=agent sessions-rate=1"}, 8
		}, "class a: --max-concurrency"},
		"a loop of agents": {func(p *Plan) { p.Class = []string{"a dataset-name=agent sessions-concurrency=1"} }, "sessions-concurrency"},
		"no rate":          {func(p *Plan) { p.Class = []string{"a random-input-len=5"} }, "class a: --request-rate"},
		"no end":           {func(p *Plan) { p.Duration = 0 }, "for how long"},
		"priority of fcfs": {func(p *Plan) { p.Class = []string{"a request-rate=1 priority=3"} }, "scheduling-policy priority"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Default()
			p.Class, p.Duration = []string{"a request-rate=1", "b request-rate=2"}, 10e9
			if err := p.Validate(); err != nil {
				t.Fatalf("before the change: %v", err)
			}
			c.change(&p)
			if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want something of %q", err, c.says)
			}
		})
	}
}

func many(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("c%d request-rate=1", i))
	}
	return out
}

// TestClassesOfAFile: a class may be written as a mapping, and reads back as it was.
func TestClassesOfAFile(t *testing.T) {
	const text = `
duration: 10s
class:
- chat request-rate=8
- name: batch
  request-rate: 2
  goodput: ["e2el:20000", "ttft:900"]
  dataset-name: custom
  dataset-path: a folder/file
`
	var p Plan
	if err := Load(&p, "x.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	want := []string{"chat request-rate=8", `batch request-rate=2 goodput=e2el:20000 goodput=ttft:900 dataset-name=custom dataset-path="a folder/file"`}
	if diff := cmp.Diff(want, p.Class); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	out, err := p.YAML()
	if err != nil {
		t.Fatal(err)
	}
	var q Plan
	if err := Load(&q, "again", out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, q.Class); diff != "" {
		t.Errorf("read back, -want +got:\n%s", diff)
	}
	for name, text := range map[string]string{
		"no name":       "class:\n- request-rate: 8\n",
		"two names":     "class:\n- name: [a, b]\n",
		"quotes":        "class:\n- name: a\n  dataset-path: 'x\"y'\n",
		"deep":          "class:\n- name: a\n  goodput: {x: 1}\n",
		"another field": "goodput:\n- name: a\n",
	} {
		if err := Load(new(Plan), "x.yaml", []byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestClassesOfSessions: what is of sessions says so, a trace only if it is asked for.
func TestClassesOfSessions(t *testing.T) {
	for text, want := range map[string]bool{
		"a dataset-name=agent sessions-rate=0.1":                                      true,
		"a dataset-name=agent sessions-rate=0.1 agent-preset=chat agent-history=live": true,
		"a dataset-name=trace dataset-path=x sessions-rate=2":                         true,
		"a dataset-name=trace dataset-path=x num-sessions=2":                          true,
		"a dataset-name=trace dataset-path=x trace-sessions=closed":                   true,
		"a dataset-name=trace dataset-path=x":                                         false,
		"a dataset-name=trace dataset-path=x trace-sessions=open":                     false,
		"a request-rate=1": false,
	} {
		p := Default()
		p.Class, p.Duration, p.Warmup, p.Cache = []string{text}, 10e9, "5req", CacheWarm
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		list, err := p.Classes()
		if err != nil || list[0].Plan.InSessions() != want || (list[0].Plan.Warmup == "") != want {
			t.Errorf("%s: sessions %v, %v, want %v", text, list[0].Plan.InSessions(), err, want)
		}
	}
}

// FuzzClass: whatever a class is written as, its words are those that its text is made
// of again, or it is refused.
func FuzzClass(f *testing.F) {
	f.Add("batch request-rate=2 random-output-len=512")
	f.Add(`a dataset-path="x y" goodput=ttft:5`)
	f.Add(`"a b" "`)
	f.Add(`"" goodput=`)
	f.Fuzz(func(t *testing.T, text string) {
		p := Default()
		p.Class = []string{text}
		list, err := p.Classes()
		if err != nil {
			return
		}
		first, err := words(text)
		if err != nil || len(list) != 1 || first[0] != list[0].Name {
			t.Fatalf("%q: %v, %v", text, first, err)
		}
		var pairs [][2]string
		for _, w := range first[1:] {
			key, value, _ := strings.Cut(w, "=")
			pairs = append(pairs, [2]string{key, value})
		}
		again, err := words(classText(first[0], pairs))
		if diff := cmp.Diff(first, again); err != nil || diff != "" {
			t.Fatalf("%q (-before +again):\n%s, %v", text, diff, err)
		}
	})
}
