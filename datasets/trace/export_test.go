package trace

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"goodput/datasets"
	"goodput/datasets/agent"
)

// listed is a set of items that are written down.
type listed struct {
	items   []datasets.Item
	timed   bool
	unknown bool
}

func (l *listed) Len() int              { return len(l.items) }
func (l *listed) Timed() bool           { return l.timed }
func (l *listed) String() string        { return "listed" }
func (l *listed) PrefixesUnknown() bool { return l.unknown }
func (l *listed) Item(i int, dst *datasets.Item) {
	*dst = l.items[i]
	dst.Prompt = slices.Clone(dst.Prompt)
}

// conversing is a set of sessions that are written down.
type conversing struct {
	sessions []datasets.Session
	timed    bool
}

func (c *conversing) Sessions() int                      { return len(c.sessions) }
func (c *conversing) Timed() bool                        { return c.timed }
func (c *conversing) Session(i int, d *datasets.Session) { *d = c.sessions[i] }

func drawSpan(t *rapid.T) datasets.Span {
	return datasets.Span{
		Key: rapid.Uint64().Draw(t, "key"), Tokens: rapid.IntRange(1, 1000).Draw(t, "tokens"), Private: rapid.Bool().Draw(t, "private"),
		Role: datasets.Role(rapid.IntRange(0, 3).Draw(t, "role")), Calls: rapid.Uint8().Draw(t, "calls"),
	}
}

func exported(t interface{ Fatal(...any) }, write func(io.Writer) error) []byte {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func reread(t interface{ Fatal(...any) }, text []byte) *Table {
	set, err := read(Native, bytes.NewReader(text), "f", Options{Seed: 99})
	if err != nil {
		t.Fatal(err)
	}
	return set.(*Table)
}

// sameItems compares all items, and what the sets know of prefixes and times.
func sameItems(t fataler, want datasets.Set, got *Table) {
	if got.Len() != want.Len() || got.Timed() != want.Timed() {
		t.Fatalf("%d items (timed %v) became %d (%v)", want.Len(), want.Timed(), got.Len(), got.Timed())
	}
	var a, b datasets.Item
	for i := range want.Len() {
		want.Item(i, &a)
		got.Item(i, &b)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("item %d (-want +got):\n%s", i, diff)
		}
	}
}

func sameSessions(t fataler, want, got datasets.SessionSet) {
	if got.Sessions() != want.Sessions() {
		t.Fatalf("%d sessions became %d", want.Sessions(), got.Sessions())
	}
	for i := range want.Sessions() {
		var a, b datasets.Session
		want.Session(i, &a)
		got.Session(i, &b)
		// Times of steps mean nothing where they were not recorded.
		if diff := cmp.Diff(a, b, cmpopts.IgnoreFields(datasets.Step{}, "At"), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("session %d (-want +got):\n%s", i, diff)
		}
	}
}

// TestExportedItemsAreTheSame: any items survive, with or without times, and once
// more after being converted.
func TestExportedItemsAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := &listed{timed: rapid.Bool().Draw(t, "timed"), unknown: rapid.Bool().Draw(t, "unknown")}
		at := time.Duration(0)
		for i := range rapid.IntRange(1, 6).Draw(t, "items") {
			it := datasets.Item{
				Out: rapid.IntRange(1, datasets.MaxTokens).Draw(t, "out"), OutKey: rapid.Uint64().Draw(t, "answer"),
				Prefix: rapid.Uint64().Draw(t, "prefix"), Session: rapid.Uint64().Draw(t, "session"),
			}
			if it.Session != 0 {
				it.Turn = rapid.Uint16().Draw(t, "turn")
			}
			for range rapid.IntRange(1, 4).Draw(t, "spans") {
				it.Prompt = append(it.Prompt, drawSpan(t))
			}
			it.In = tokens(it.Prompt)
			if set.timed {
				if i > 0 {
					at += time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "gap"))
				}
				it.At = at
			}
			set.items = append(set.items, it)
		}
		text := exported(t, func(w io.Writer) error { return Export(w, set, math.MaxInt) })
		got := reread(t, text)
		sameItems(t, set, got)
		if got.PrefixesUnknown() != set.unknown {
			t.Fatalf("prefixes unknown: %v, want %v", got.PrefixesUnknown(), set.unknown)
		}
		if diff := cmp.Diff(string(text), string(converted(t, Native, text, Native))); diff != "" {
			t.Fatalf("converted (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(string(text), string(exported(t, func(w io.Writer) error { return Export(w, got, got.Len()) }))); diff != "" {
			t.Fatalf("exported again (-want +got):\n%s", diff)
		}
	})
}

// drawSession makes a session of a few threads that build on each other.
func drawSession(t *rapid.T, id int) datasets.Session {
	s := datasets.Session{ID: uint64(id), Name: rapid.StringMatching(`[a-c", é]{0,3}`).Draw(t, "name"), Tenant: rapid.Uint32().Draw(t, "tenant")}
	for k := range rapid.IntRange(1, 4).Draw(t, "threads") {
		th := datasets.Thread{Parent: -1, Spawn: -1, Join: -1}
		context := 0
		if k > 0 {
			th.Parent = rapid.IntRange(0, k-1).Draw(t, "parent")
			steps := s.Threads[th.Parent].Steps
			if th.Spawn = rapid.IntRange(-1, len(steps)-1).Draw(t, "spawn"); th.Spawn >= 0 {
				context = steps[th.Spawn].In + steps[th.Spawn].Out
			}
			if th.Spawn+1 < len(steps) && rapid.Bool().Draw(t, "joins") {
				th.Join = rapid.IntRange(th.Spawn+1, len(steps)-1).Draw(t, "join")
			}
		}
		for range rapid.IntRange(1, 3).Draw(t, "steps") {
			st := datasets.Step{
				Keep: rapid.IntRange(0, context).Draw(t, "keep"), Out: rapid.IntRange(1, 500).Draw(t, "out"), OutKey: rapid.Uint64().Draw(t, "answer"),
				Wait: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "wait")), Trigger: datasets.Trigger(rapid.IntRange(0, 4).Draw(t, "trigger")),
			}
			st.Reasoning = rapid.IntRange(0, st.Out).Draw(t, "reasoning")
			least := 0
			if st.Keep == 0 {
				least = 1
			}
			for range rapid.IntRange(least, 3).Draw(t, "spans") {
				st.Append = append(st.Append, drawSpan(t))
			}
			st.In = st.Keep + tokens(st.Append)
			context = st.In + st.Out
			th.Steps = append(th.Steps, st)
		}
		s.Threads = append(s.Threads, th)
	}
	return s
}

// TestExportedSessionsAreTheSame: any sessions survive.
func TestExportedSessionsAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := &conversing{timed: rapid.Bool().Draw(t, "timed")}
		at := time.Duration(0)
		for i := range rapid.IntRange(1, 4).Draw(t, "sessions") {
			s := drawSession(t, i+1)
			if set.timed {
				if i > 0 {
					at += time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "gap"))
				}
				s.At = at
			}
			set.sessions = append(set.sessions, s)
		}
		text := exported(t, func(w io.Writer) error { return ExportSessions(w, set) })
		table := reread(t, text)
		checkTable(t, table)
		got, err := ShapeSessions(table, Shaping{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Timed() != set.timed {
			t.Fatalf("timed: %v, want %v", got.Timed(), set.timed)
		}
		sameSessions(t, set, got)
		if diff := cmp.Diff(string(text), string(converted(t, Native, text, Native))); diff != "" {
			t.Fatalf("converted (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(string(text), string(exported(t, func(w io.Writer) error { return ExportSessions(w, got) }))); diff != "" {
			t.Fatalf("exported again (-want +got):\n%s", diff)
		}
	})
}

// TestGeneratedSetsSurvive: what the program plans is the same after a round trip.
func TestGeneratedSetsSurvive(t *testing.T) {
	for name, plan := range map[string]func() (datasets.Set, error){
		"prefix_repetition": func() (datasets.Set, error) {
			return datasets.NewPrefixRepetition(datasets.PrefixRepetition{PrefixLen: 100, SuffixLen: 30, NumPrefixes: 7, OutputLen: 9, NumPrompts: 50, Zipf: 1, Seed: 3, Shuffle: true})
		},
		"shared_prefix": func() (datasets.Set, error) {
			return datasets.NewSharedPrefix(datasets.SharedPrefix{Groups: 4, GlobalLen: 9, Tenants: 2, TenantLen: 5, SystemLen: 20, QuestionLen: 6, OutputLen: 8, RangeRatio: .5, Turns: 3, NumPrompts: 50, Seed: 3, Shuffle: true})
		},
		"conversations without a prefix": func() (datasets.Set, error) {
			return datasets.NewSharedPrefix(datasets.SharedPrefix{Groups: 4, QuestionLen: 6, OutputLen: 8, Turns: 2, NumPrompts: 50, Seed: 3, Shuffle: true})
		},
		"rag": func() (datasets.Set, error) {
			return datasets.NewRAG(datasets.RAG{Documents: 20, K: 3, DocumentLen: 50, RangeRatio: .2, QuestionLen: 5, OutputLen: 6, Zipf: 1, NumPrompts: 50, Seed: 3})
		},
		"random": func() (datasets.Set, error) {
			return datasets.NewRandom(datasets.Random{InputLen: 20, OutputLen: 30, PrefixLen: 4, RangeRatio: .5, NumPrompts: 50, Seed: 3})
		},
		"mooncake":         func() (datasets.Set, error) { return Open(Mooncake, "testdata/mooncake_min.jsonl", Options{Seed: 5}) },
		"azure":            func() (datasets.Set, error) { return Open(Azure, "testdata/azure_2023_min.csv", Options{Seed: 5}) },
		"weka, one by one": func() (datasets.Set, error) { return Open(Weka, "testdata/weka_relative_min.json", Options{Seed: 5}) },
		"repeated": func() (datasets.Set, error) {
			table, err := Open(BurstGPT, "testdata/burstgpt8_min.csv", Options{Seed: 5})
			if err != nil {
				return nil, err
			}
			return Shape(table, Shaping{Len: 3 * table.Len(), Speed: 2, Jitter: time.Second, Seed: 4})
		},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := plan()
			if err != nil {
				t.Fatal(err)
			}
			sameItems(t, set, reread(t, exported(t, func(w io.Writer) error { return Export(w, set, set.Len()) })))
		})
	}
}

// TestGeneratedSessionsSurvive is the same of sessions: with their fan-out, waits and
// shapes.
func TestGeneratedSessionsSurvive(t *testing.T) {
	for _, preset := range []string{"coding", "coding-128k", "chat", "toolagent", "smoke"} {
		t.Run(preset, func(t *testing.T) {
			c, err := agent.Preset(preset)
			if err != nil {
				t.Fatal(err)
			}
			set, err := agent.New(c, 8, 5)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ShapeSessions(reread(t, exported(t, func(w io.Writer) error { return ExportSessions(w, set) })), Shaping{})
			if err != nil {
				t.Fatal(err)
			}
			sameSessions(t, set, got)
			for i := range set.Sessions() {
				var a, b datasets.Session
				set.Session(i, &a)
				got.Session(i, &b)
				for k := range a.Threads {
					for n := range a.Threads[k].Steps {
						if x, y := a.Threads[k].Shape(n), b.Threads[k].Shape(n); x != y {
							t.Fatalf("session %d, thread %d, step %d: shape %v became %v", i, k, n, x, y)
						}
					}
				}
			}
		})
	}
}

// TestRepeatedConversationsStayApart: repetitions of a planned set have conversations
// of their own.
func TestRepeatedConversationsStayApart(t *testing.T) {
	set, err := Shape(openNative(t, "goodput_items_min.jsonl"), Shaping{Len: 6})
	if err != nil {
		t.Fatal(err)
	}
	var it datasets.Item
	var got []uint64
	for i := range set.Len() {
		set.Item(i, &it)
		got = append(got, it.Session)
	}
	if diff := cmp.Diff([]uint64{7, 0, 7, 14, 0, 14}, got); diff != "" {
		t.Error(diff)
	}
}

func openNative(t *testing.T, file string) *Table {
	t.Helper()
	table, err := Open(Native, "testdata/"+file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestPlannedRowsAreChecked(t *testing.T) {
	const header = `{"goodput_trace":1,"timed":false,"recorded":false,"identified":true,"planned":true}`
	plain := strings.Replace(header, `,"planned":true`, "", 1)
	for _, c := range []struct{ name, header, rows, want string }{
		{"no key of the answer", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,1]]}`, "f:2: out_key: found none"},
		{"a key too large", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,1]],"out_key":18446744073709551616}`, "f:2: out_key: found a JSON number 18446744073709551616, expected a whole number"},
		{"no content", header, `{"at_ns":0,"in":1,"out":1,"out_key":1}`, "f:2: append: found 0 tokens kept and appended, expected the 1 of in"},
		{"content of another length", header, `{"at_ns":0,"in":3,"out":1,"append":[[1,2]],"out_key":1}`, "f:2: append: found 2 tokens"},
		{"half a span", header, `{"at_ns":0,"in":1,"out":1,"append":[[1]],"out_key":1}`, "f:2: append: found a span of 1 numbers"},
		{"a span too long", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,1,0,0,0,0]],"out_key":1}`, "f:2: append: found a span of 6 numbers"},
		{"no such role", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,1,4]],"out_key":1}`, "f:2: append: found role 4"},
		{"too many calls", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,1,0,256]],"out_key":1}`, "f:2: append: found 256 calls"},
		{"neither private nor not", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,1,0,0,2]],"out_key":1}`, "f:2: append: found 2 for whether a span is private"},
		{"a negative number", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,-1]],"out_key":1}`, "f:2: append: found a JSON number -1, expected a whole number"},
		{"more reasoning than answer", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,1]],"out_key":1,"reasoning":2}`, "f:2: reasoning: found 2, expected 0 to the 1 tokens of out"},
		{"a turn of nothing", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,1]],"out_key":1,"turn":2}`, "f:2: turn: found 2 without a conversation"},
		{"a turn too large", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,1]],"out_key":1,"conversation":1,"turn":65536}`, "f:2: turn: found a JSON number 65536, expected a whole number"},
		{"kept of nothing", header, `{"at_ns":0,"in":2,"out":1,"keep":1,"append":[[1,1]],"out_key":1}`, "f:2: session: found none in a row with keep"},
		{"kept of nothing, not planned", plain, `{"at_ns":0,"in":40,"out":1,"keep":35,"append":[[1,5]]}`, "f:2: row: found 35 tokens kept in a row of no session, expected none"},
		{"a session's group", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,1]],"out_key":1,"session":"a","prefix":3}`, "f:2: session: found one in a row with prefix"},
		{"both kinds", header, `{"at_ns":0,"in":1,"out":1,"append":[[1,1]],"out_key":1,"session":"a"}` + "\n" + `{"at_ns":0,"in":1,"out":1,"append":[[1,1]],"out_key":1,"conversation":3}`, "f:3: row: found both sessions and conversations"},
		{"planned fields elsewhere", plain, `{"at_ns":0,"in":1,"out":1,"append":[[1,1]],"out_key":1}`, "f:2: row: found out_key"},
		{"planned spans elsewhere", plain, `{"at_ns":0,"in":1,"out":1,"append":[[1,1,2]]}`, "f:2: append: found a span of 3 numbers, expected 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(Native, strings.NewReader(c.header+"\n"+c.rows+"\n"), "f", Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestExportRefuses(t *testing.T) {
	whole := datasets.Item{Prompt: []datasets.Span{{Key: 1, Tokens: 2}}, In: 2, Out: 1}
	quoted, turn, long, short := whole, whole, whole, whole
	quoted.Quoted, turn.Turn, long.Out, short.In = true, 1, datasets.MaxTokens+1, 3
	for name, c := range map[string]struct {
		item datasets.Item
		want string
	}{
		"quoted": {quoted, "quote the server's answer"}, "turn": {turn, "turn 1 of no session"},
		"long": {long, "tokens in and"}, "short": {short, "its content has 2 tokens and its prompt 3"},
	} {
		err := Export(io.Discard, &listed{items: []datasets.Item{whole, c.item}}, 2)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "item 1: ") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for name, c := range map[string]struct {
		session datasets.Session
		want    string
	}{
		"underway": {datasets.Session{Underway: true}, "session 0: it is under way"},
		"no steps": {datasets.Session{Threads: []datasets.Thread{{Parent: -1}}}, "session 0, thread 0: it has no steps"},
	} {
		if err := ExportSessions(io.Discard, &conversing{sessions: []datasets.Session{c.session}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func ExampleExport() {
	set, err := datasets.NewRandom(datasets.Random{InputLen: 20, OutputLen: 30, NumPrompts: 2, Seed: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	var file bytes.Buffer
	if err := Export(&file, set, set.Len()); err != nil {
		fmt.Println(err)
		return
	}
	first, _, _ := strings.Cut(file.String(), "\n")
	fmt.Println(first)
	// Output: {"goodput_trace":1,"timed":false,"recorded":false,"waits":true,"identified":true,"planned":true}
}
