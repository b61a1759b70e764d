package router

import "testing"

// The counts of a dead replica at 0, of A at 2 and of B at 1: upstream the dead one is the
// least busy, so that the pick is by chance among the others; fixed it is B.
func TestLiteLLMLeastBusy(t *testing.T) {
	for variant, share := range map[string]float64{"upstream": 0.5, "fixed": 1} {
		p := ruleOf[*litellmBusy](t, "litellm-least-busy:variant="+variant)
		up := loads(0, 0, 0)
		p.Pick(&Request{}, up)
		for _, id := range []int{1, 1, 2} {
			p.Placed(&Request{}, id)
		}
		b := 0
		for range 1000 {
			if up[1:][p.Pick(&Request{}, up[1:])].ID == 2 {
				b++
			}
		}
		if got := float64(b) / 1000; got < share-0.06 || got > share+0.06 {
			t.Errorf("%s: B has %v of the picks, want %v", variant, got, share)
		}
		if i := p.Pick(&Request{}, up); i != 0 {
			t.Errorf("%s: picks %d while the idle one is up", variant, i)
		}
	}
}

// Of 5000 tokens 3000 in the cache of the first replica listed are enough, and 2999 not,
// though another one has all; of a short prompt anything is.
func TestStackKVAware(t *testing.T) {
	p := ruleOf[*stackKV](t, "production-stack-kvaware")
	pick := func(in int, cached ...int) int {
		up := loads(make([]int, len(cached))...)
		for i := range up {
			up[i].Cached = cached[i]
		}
		return p.Pick(&Request{InTokens: in}, up)
	}
	p.Placed(&Request{}, 0)
	p.Placed(&Request{}, 1)
	for _, c := range []struct {
		name   string
		in     int
		cached []int
		want   int
	}{
		{"enough", 5000, []int{0, 3000, 5000}, 1},
		{"not enough, by arrivals", 5000, []int{0, 2999, 5000}, 2},
		{"short", 2001, []int{0, 1, 2000}, 1},
		{"nobody", 100, []int{0, 0, 0}, 2},
	} {
		if got := pick(c.in, c.cached...); got != c.want {
			t.Errorf("%s: picks %d, want %d", c.name, got, c.want)
		}
	}
	session := func(cached int) int {
		up := loads(0, 0, 0)
		up[0].Cached = cached
		return p.Pick(&Request{InTokens: 5000, Session: 7}, up)
	}
	if session(0) != session(2999) || session(3000) != 0 {
		t.Error("without enough in a cache a session keeps its replica")
	}
}

// A session goes where it was, unless that costs more than its weight.
func TestLLMDSession(t *testing.T) {
	p := ruleOf[*llmD](t, "llm-d:session=1,prefix=0,kv=0,queue=2")
	r := &Request{Session: 5}
	p.Placed(r, 1)
	up := loads(0, 0, 0)
	same(t, "at rest", p.Pick(r, up), 1)
	up[1].Waiting = 1
	if p.Pick(r, up) == 1 {
		t.Error("one that waits costs two points, and the session is worth one")
	}
}
