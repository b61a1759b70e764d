package datasets_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"goodput/datasets"
)

var pace = datasets.Pace{Delay: 500 * time.Millisecond, Rate: 20}

// drawn is a session with sub-agents, and what it asks for is one more key each time.
func drawn(t *rapid.T) datasets.Session {
	key := uint64(0)
	thread := func(parent, spawn, join, kept int) datasets.Thread {
		th := datasets.Thread{Parent: parent, Spawn: spawn, Join: join}
		for i := range rapid.IntRange(1, 5).Draw(t, "steps") {
			if i > 0 {
				kept = rapid.IntRange(0, kept).Draw(t, "keep")
			}
			key += 2
			st := datasets.Step{Keep: kept, Append: []datasets.Span{{Key: key, Tokens: rapid.IntRange(1, 20).Draw(t, "add")}}, Out: rapid.IntRange(1, 30).Draw(t, "out"), OutKey: key + 1}
			st.In = kept + st.Append[0].Tokens
			st.Wait = time.Duration(rapid.IntRange(0, 4000).Draw(t, "wait")) * time.Millisecond
			th.Steps = append(th.Steps, st)
			kept = st.In + st.Out
		}
		return th
	}
	s := datasets.Session{ID: 1, Threads: []datasets.Thread{thread(-1, -1, -1, 0)}}
	for range rapid.IntRange(0, 3).Draw(t, "threads") {
		p := rapid.IntRange(0, len(s.Threads)-1).Draw(t, "parent")
		last := len(s.Threads[p].Steps) - 1
		spawn, join, kept := rapid.IntRange(-1, last).Draw(t, "spawn"), -1, 0
		if spawn < last && rapid.Bool().Draw(t, "joins") {
			join = rapid.IntRange(spawn+1, last).Draw(t, "join")
		}
		if spawn >= 0 {
			st := &s.Threads[p].Steps[spawn]
			kept = rapid.IntRange(0, st.In+st.Out).Draw(t, "fork")
		}
		s.Threads = append(s.Threads, thread(p, spawn, join, kept))
	}
	return s
}

// prompts are those of all steps, by the key of their answers.
func prompts(t *rapid.T, s *datasets.Session) map[uint64][]datasets.Span {
	out := map[uint64][]datasets.Span{}
	contexts := make([][][]datasets.Span, len(s.Threads))
	for k, th := range s.Threads {
		if (k == 0) != (th.Parent < 0) || th.Parent >= k || len(th.Steps) == 0 {
			t.Fatalf("thread %d has parent %d and %d steps", k, th.Parent, len(th.Steps))
		}
		var context []datasets.Span
		if th.Parent >= 0 {
			if n := len(s.Threads[th.Parent].Steps); th.Spawn >= n || th.Join >= n || th.Join >= 0 && th.Join <= th.Spawn {
				t.Fatalf("thread %d spawns at %d and joins at %d of %d steps", k, th.Spawn, th.Join, n)
			}
			if th.Spawn >= 0 {
				context = contexts[th.Parent][th.Spawn]
			}
		}
		for i := range th.Steps {
			st := &th.Steps[i]
			out[st.OutKey] = st.Prompt(nil, context)
			context = st.Context(nil, context)
			contexts[k] = append(contexts[k], context)
		}
	}
	return out
}

func equal(a, b []datasets.Span) bool {
	n := 0
	for _, s := range a {
		n += s.Tokens
	}
	// Spans may be cut at other places.
	for n > 0 && len(a) > 0 && len(b) > 0 && a[0].Key == b[0].Key {
		take := min(a[0].Tokens, b[0].Tokens)
		if a[0].Tokens != b[0].Tokens {
			return false
		}
		n -= take
		a, b = a[1:], b[1:]
	}
	return n == 0 && len(b) == 0
}

// TestResume: what is left asks the same prompts, ends when it would have ended, but for
// answers that are asked anew, and holds each step once.
func TestResume(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := drawn(t)
		c := datasets.NewCourse(pace)
		length := c.Run(&whole)
		age := time.Duration(rapid.Float64Range(0, 1.1).Draw(t, "age") * float64(length))
		left := whole
		left.Threads = append([]datasets.Thread(nil), whole.Threads...)
		if alive := c.Resume(&left, age); alive != (age < length) {
			t.Fatalf("alive %v at %v of %v", alive, age, length)
		} else if !alive {
			return
		}
		before, after := prompts(t, &whole), prompts(t, &left)
		for key, p := range after {
			if !equal(before[key], p) {
				t.Fatalf("step of answer %d: %v became %v", key, before[key], p)
			}
		}
		for _, th := range left.Threads {
			for _, st := range th.Steps {
				if st.Wait < 0 {
					t.Fatalf("wait %v", st.Wait)
				}
			}
		}
		// Each thread asks at most one answer anew, which takes no longer than the longest.
		longest := pace.Delay + time.Duration(30/pace.Rate*1e9)
		rest := datasets.NewCourse(pace).Run(&left)
		if low, high := length-age-1, length-age+longest*time.Duration(len(whole.Threads)); rest < low || rest > high {
			t.Fatalf("%v left at %v of %v", rest, age, length)
		}
	})
}

// short and long alternate: one answer of 20 tokens, and nine more.
type shortAndLong struct{ n int }

func (s shortAndLong) Sessions() int { return s.n }

func (s shortAndLong) Session(i int, dst *datasets.Session) {
	th := datasets.Thread{Parent: -1, Spawn: -1, Join: -1}
	for range 1 + i%2*9 {
		th.Steps = append(th.Steps, datasets.Step{Append: []datasets.Span{{Key: 1, Tokens: 1}}, In: 1, Out: 10})
	}
	*dst = datasets.Session{ID: uint64(i) + 1, Threads: []datasets.Thread{th}}
}

// TestPopulation: sessions of 1 s and of 10 s, equally frequent, make up 1/11 and 10/11
// of those under way, of which there are rate times 5.5 s; and what is left of the long
// ones is uniform.
func TestPopulation(t *testing.T) {
	for _, c := range []struct {
		name string
		rate float64
		live int
	}{{"arrivals", 400, 0}, {"closed loop", 0, 2200}} {
		t.Run(c.name, func(t *testing.T) {
			p, err := datasets.NewPopulation(shortAndLong{3}, shortAndLong{1 << 20}, pace, c.rate, c.live, 1)
			if err != nil {
				t.Fatal(err)
			}
			n := p.Underway()
			if c.live > 0 && n != c.live || math.Abs(float64(n)-2200) > 4*math.Sqrt(2200) || p.Sessions() != n+3 || p.Missing() > 0.005 {
				t.Errorf("%d under way of %d, %v missing", n, p.Sessions(), p.Missing())
			}
			long, steps, ids := 0, 0, map[uint64]bool{}
			var s datasets.Session
			for i := range n {
				p.Session(i, &s)
				if ids[s.ID] || !s.Underway {
					t.Fatalf("session %d twice, or under way %v", s.ID, s.Underway)
				}
				ids[s.ID] = true
				if s.ID%2 == 0 {
					long++
					steps += len(s.Threads[0].Steps)
				}
			}
			if share := float64(long) / float64(n); math.Abs(share-10./11) > 0.03 {
				t.Errorf("%.3f are long", share)
			}
			if mean := float64(steps) / float64(long); math.Abs(mean-5.5) > 0.25 {
				t.Errorf("%.2f steps are left of them", mean)
			}
			p.Session(n+2, &s)
			if s.Underway || s.ID != 3 {
				t.Errorf("the last is %+v", s)
			}
		})
	}
	if _, err := datasets.NewPopulation(shortAndLong{3}, shortAndLong{100}, pace, 1000, 0, 1); err == nil {
		t.Error("a past of 100 sessions held more")
	}
}
