package dispatch_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"goodput/datasets"
	"goodput/loadgen/clock"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/record"
	"goodput/loadgen/schedule"
	"goodput/loadgen/target"
)

// askedFor is what a request of a mixed load is, whatever its number.
type askedFor struct {
	Intended    clock.Time
	Class       string
	Session     string
	Thread      string
	Turn        int32
	Outcome     string
	Prompt, Out string
}

// mixture is what came out of a load of classes.
type mixture struct {
	*run
	asked    []askedFor
	sessions []record.Session
}

// playMixed offers 20 single requests, one every 10 ms, and, as a class between them and
// another one of 5 single requests, sessions that arrive every 35 ms. Either may be left out.
func playMixed(t testing.TB, set datasets.SessionSet, singles bool, drain time.Duration, of script) *mixture {
	l := clock.NewVirtual()
	f := newFake(l, always(of))
	prompts := map[uint64]string{}
	f.started = func(r *target.Request) { prompts[r.Seq] = fmt.Sprint(r.Prompt, r.In, r.IgnoreEOS, r.Priority) }
	out := &mixture{}
	n := set.Sessions()
	chat, more := every(10*ms, 20), every(25*ms, 5)
	if !singles {
		chat, more = every(0, 0), every(0, 0)
	}
	sources := []schedule.Source{chat, &steady{gap: 35 * ms, n: uint64(n)}, more}
	out.run = prepare(t, l, schedule.Merge(sources, []uint64{0, 20, 26}), fakeCanceler{f}, func(c *dispatch.Config) {
		c.Classes = []dispatch.Class{
			{Name: "chat"},
			{Name: "agents", First: 20, Sessions: set, MaxInFlight: 2, Priority: 7},
			{Name: "more", First: 26, IgnoreEOS: true},
		}
		c.Drain = drain
		c.RecordSession = func(s *record.Session) {
			kept := *s
			kept.Turns = slices.Clone(s.Turns)
			out.sessions = append(out.sessions, kept)
		}
	})
	out.play()
	for i := range out.rows {
		r := &out.rows[i]
		out.asked = append(out.asked, askedFor{r.Intended, r.Class, r.SessionID, r.Thread, r.Turn, r.Outcome.String(), prompts[uint64(r.Seq)], fmt.Sprint(r.PlannedOutputTokens)})
	}
	return out
}

// of are the requests of the classes, in an order of their own.
func (m *mixture) of(classes ...string) []askedFor {
	var out []askedFor
	for _, a := range m.asked {
		if slices.Contains(classes, a.Class) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(x, y askedFor) int {
		if x.Intended != y.Intended {
			return int(x.Intended - y.Intended)
		}
		return strings.Compare(fmt.Sprint(x), fmt.Sprint(y))
	})
	return out
}

// TestSessionsOfAClass is invariants 1 and 3 for classes of sessions: their steps are those
// of the sessions alone, at the same instants and with the same prompts, single requests
// beside them are those that they are without sessions, and all is accounted for.
func TestSessionsOfAClass(t *testing.T) {
	var chains plans
	for i := range 6 {
		waits := make([]time.Duration, 12)
		for k := range waits {
			waits[k] = time.Duration(k%3) * 5 * time.Millisecond
		}
		chains = append(chains, datasets.Session{ID: uint64(i + 1), Threads: []datasets.Thread{steps(waits...)}})
	}
	sets := []datasets.SessionSet{smokeSet(t, 6, nil), chains}
	rapid.Check(t, func(rt *rapid.T) {
		set := rapid.SampledFrom(sets).Draw(rt, "set")
		of := script{First: time.Duration(rapid.IntRange(1, 60).Draw(rt, "ms")) * time.Millisecond, Tokens: 1}
		if rapid.Bool().Draw(rt, "fails") {
			of.Status, of.Tokens = 500, 0
		}
		drain := rapid.SampledFrom([]time.Duration{0, 20 * time.Second, time.Hour}).Draw(rt, "drain")
		both, alone := playMixed(t, set, true, drain, of), playMixed(t, set, false, drain, of)
		none := playMixed(t, plans{}, true, drain, of)
		if diff := cmp.Diff(alone.of("agents"), both.of("agents")); diff != "" && drain == time.Hour {
			rt.Fatalf("sessions alone (-), and beside single requests (+):\n%s", diff)
		}
		if diff := cmp.Diff(none.of("chat", "more"), both.of("chat", "more")); diff != "" && drain > 0 {
			rt.Fatalf("single requests alone (-), and beside sessions (+):\n%s", diff)
		}
		if diff := cmp.Diff(alone.sessions, both.sessions, cmpopts.EquateEmpty()); diff != "" && drain == time.Hour {
			rt.Fatalf("rows of sessions alone (-), and beside single requests (+):\n%s", diff)
		}
		numbers := map[int64]bool{}
		for i := range both.rows {
			numbers[both.rows[i].Seq] = true
		}
		c, s := both.Counts(), both.SessionCounts()
		if c.InFlight != 0 || int(c.Scheduled) != len(both.rows) || len(numbers) != len(both.rows) ||
			c.Completed()+c.Failed()+c.Dropped()+c.Censored()+c.Canceled() != c.Scheduled {
			rt.Fatalf("%d rows of %d numbers, counts %+v", len(both.rows), len(numbers), c)
		}
		if s.Scheduled != 6 || s.Live != 0 || len(both.sessions) != 6 {
			rt.Fatalf("%d rows of sessions, counts %+v", len(both.sessions), s)
		}
		if len(both.of("chat")) != 20 || len(both.of("more")) != 5 || len(both.finished) != 1 {
			rt.Fatalf("%d and %d single requests, finished %v", len(both.of("chat")), len(both.of("more")), both.finished)
		}
	})
}

// TestNamesOfSessions: sessions of all classes have names of their own, those of the first
// class their own ones.
func TestNamesOfSessions(t *testing.T) {
	set := plans{{ID: 1, Threads: []datasets.Thread{steps(0, 0)}}, {ID: 2, Threads: []datasets.Thread{steps(0)}}}
	l := clock.NewVirtual()
	var names []string
	r := prepare(t, l, schedule.Merge([]schedule.Source{every(10*ms, 2), every(15*ms, 2)}, []uint64{0, 2}), newFake(l, always(script{First: time.Millisecond, Tokens: 1})), func(c *dispatch.Config) {
		c.Classes = []dispatch.Class{{Name: "a", Sessions: set}, {Name: "b", First: 2, Sessions: set}}
		c.RecordSession = func(s *record.Session) { names = append(names, s.Class+" "+s.SessionID) }
	})
	r.play()
	second := func(id uint64) string { return "b " + strconv.FormatUint(id|1<<dispatch.ClassBit, 10) }
	slices.Sort(names)
	if diff := cmp.Diff([]string{"a 1", "a 2", second(1), second(2)}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range r.rows {
		row := &r.rows[i]
		if id, err := strconv.ParseUint(row.SessionID, 10, 64); err != nil || (id > 2) != (row.Class == "b") {
			t.Errorf("a request of class %s is of session %s, %v", row.Class, row.SessionID, err)
		}
	}
}

func TestClassesOfSessionsRefused(t *testing.T) {
	l := clock.NewVirtual()
	set := plans{{ID: 1, Threads: []datasets.Thread{steps(0)}}}
	for name, edit := range map[string]func(*dispatch.Config){
		"a cap":                  func(c *dispatch.Config) { c.MaxConcurrency = 3 },
		"a closed loop":          func(c *dispatch.Config) { c.Source, c.Closed = nil, &dispatch.Closed{Concurrency: 1, N: 1} },
		"sessions of the load":   func(c *dispatch.Config) { c.Sessions = set },
		"a bound of live ones":   func(c *dispatch.Config) { c.MaxSessions = 1 },
		"a bound that is no one": func(c *dispatch.Config) { c.Classes[0].MaxInFlight = -1 },
	} {
		c := dispatch.Config{
			Loop: l, Source: every(ms, 1), Set: items(9), Target: newFake(l, always(script{})), Classes: []dispatch.Class{{Name: "a", Sessions: set}},
			Record: func(*record.Request) {}, Finished: l.Stop,
		}
		if _, err := dispatch.New(c); err != nil {
			t.Fatal(err)
		}
		edit(&c)
		if _, err := dispatch.New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
