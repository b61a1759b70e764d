package shaper

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/loadgen/clock"
)

func build(t failer, text string) Shaper {
	t.Helper()
	s, err := New(text, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// failer is a test, or a check of rapid.
type failer interface {
	Helper()
	Fatal(args ...any)
}

func sec(s float64) clock.Time { return clock.Time(s * 1e9) }

// went drains Next.
func went(s Shaper, now clock.Time) []string {
	var out []string
	for {
		r, d, ok := s.Next(now)
		if !ok {
			return out
		}
		word := ""
		if d.Kind == Refuse {
			word = fmt.Sprintf(" gets %d", d.Status)
		}
		out = append(out, fmt.Sprintf("%d%s", r.Session, word))
	}
}

// TestVTC: counters A=100, B=40, both waiting; C comes with 0 and is lifted to 40; B is
// older at the tie, and its 50 input tokens make 90; then C. Ten output tokens cost 20.
func TestVTC(t *testing.T) {
	v := build(t, "vtc:in-flight=1").(*vtc)
	a, b, c := &Request{Tenant: 1, Session: 1, InTokens: 10}, &Request{Tenant: 2, Session: 2, InTokens: 50}, &Request{Tenant: 3, Session: 3, InTokens: 5}
	v.used = 1
	v.Offer(a, 0)
	v.of(a).served = 100
	v.Offer(b, 0)
	v.of(b).served = 40
	v.Offer(c, 0)
	if got := v.of(c).served; got != 40 {
		t.Errorf("C is lifted to %v, want 40", got)
	}
	v.Done(nil, 0)
	if got := went(v, 0); !cmp.Equal(got, []string{"2"}) || v.of(b).served != 90 {
		t.Errorf("%v goes on and B has %v, want 2 and 90", got, v.of(b).served)
	}
	v.Done(nil, 0)
	if got := went(v, 0); !cmp.Equal(got, []string{"3"}) {
		t.Errorf("%v goes on, want C", got)
	}
	v.Tokens(b, 10)
	if v.of(b).served != 110 {
		t.Errorf("B has %v after ten output tokens, want 110", v.of(b).served)
	}
}

// TestVTCVariants: a tenant that was away while one other was served saves up credit in
// the authors' code, and none by the paper.
func TestVTCVariants(t *testing.T) {
	for variant, want := range map[string]float64{"upstream": 0, "fixed": 300} {
		v := build(t, "vtc:in-flight=1,variant="+variant).(*vtc)
		a, b := &Request{Tenant: 1, InTokens: 300}, &Request{Tenant: 2}
		v.Offer(a, 0)
		went(v, 0)
		v.Offer(b, 0)
		if got := v.of(b).served; got != want {
			t.Errorf("%s: B begins with %v, want %v", variant, got, want)
		}
	}
}

// TestVTCIsFair: two tenants that always wait are served the same, within the paper's
// bound of twice the dearest request or running batch, whoever asks for more.
func TestVTCIsFair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := build(rt, "vtc:in-flight=4,queue=1000000").(*vtc)
		const longest, out = 1000, 200
		offer := func(tenant uint64) {
			v.Offer(&Request{Tenant: tenant, InTokens: rapid.IntRange(1, longest).Draw(rt, "in"), MaxOut: rapid.IntRange(1, out).Draw(rt, "out")}, 0)
		}
		for range 100 {
			offer(1)
		}
		for range 20 {
			offer(2)
		}
		for v.of(&Request{Tenant: 2}).wait != nil && len(v.of(&Request{Tenant: 2}).wait) > 0 && len(v.of(&Request{Tenant: 1}).wait) > 0 {
			r, _, ok := v.Next(0)
			if !ok {
				v.Done(nil, 0)
				continue
			}
			v.Tokens(r, r.MaxOut)
			one, two := v.tenants[0].served, v.tenants[1].served
			if gap := one - two; max(gap, -gap) > 2*max(longest, 2*4*out) {
				rt.Fatalf("served %v and %v", one, two)
			}
		}
	})
}

func TestPriority(t *testing.T) {
	s := build(t, "priority:in-flight=1,queue=2")
	offer := func(id uint64, rank int) Kind { return s.Offer(&Request{Session: id, Priority: rank}, 0).Kind }
	offer(1, 0)
	if got := went(s, 0); !cmp.Equal(got, []string{"1"}) {
		t.Fatalf("%v", got)
	}
	offer(2, 5)
	offer(3, 5)
	if got := offer(4, 5); got != Refuse {
		t.Errorf("a request of the last rank finds no room and gets %v", got)
	}
	if offer(5, 1); !cmp.Equal(went(s, 0), []string{"3 gets 429"}) {
		t.Error("the newest of the last rank did not make room")
	}
	var order []string
	for range 3 {
		s.Done(nil, 0)
		order = append(order, went(s, 0)...)
	}
	if want := []string{"5", "2"}; !cmp.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

func TestDeadline(t *testing.T) {
	s := build(t, "deadline:in-flight=1,queue=10,slo=2s")
	for id, due := range []float64{0, 1.5, 0.5, 1} {
		s.Offer(&Request{Session: uint64(id), Due: sec(due)}, sec(due))
		if id == 0 {
			went(s, 0)
		}
	}
	if at := s.(Waker).Wake(); at != sec(2.5)+1 {
		t.Errorf("wakes at %v, want right after 2.5s", at)
	}
	s.Done(nil, sec(2.6))
	if got, want := went(s, sec(2.6)), []string{"2 gets 429", "3"}; !cmp.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTokenBucket(t *testing.T) {
	s := build(t, "token-bucket:rate=2,burst=3")
	kinds := func(n int, now float64) (out string) {
		for range n {
			out += fmt.Sprint(s.Offer(&Request{}, sec(now)).Kind)
		}
		return out
	}
	// Three at once, then two a second.
	if got := kinds(4, 0) + kinds(3, 1); got != "0002"+"002" {
		t.Errorf("%s", got)
	}
	if d := s.Offer(&Request{}, sec(1)); d.Status != 429 || d.RetryAfter != time.Second {
		t.Errorf("%+v, want 429 with a second", d)
	}
	tokens := build(t, "token-bucket:rate=100,burst=1000,by=tokens,over=wait")
	for id, in := range []int{900, 600, 50, 2000} {
		d := tokens.Offer(&Request{Session: uint64(id), InTokens: in}, 0)
		if want := []Kind{Pass, Hold, Hold, Refuse}[id]; d.Kind != want {
			t.Errorf("request %d: %v, want %v", id, d, want)
		}
	}
	at := tokens.(Waker).Wake()
	if d := at - sec(5); d < 0 || d > 2 {
		t.Errorf("wakes at %v, want 5s, when 600 tokens are there", at)
	}
	if got := went(tokens, at-10); got != nil {
		t.Errorf("%v went too soon", got)
	}
	if got := append(went(tokens, at), went(tokens, sec(5.5)+2)...); !cmp.Equal(got, []string{"1", "2"}) {
		t.Errorf("%v", got)
	}
}

func TestSessionCap(t *testing.T) {
	s := build(t, "session-cap:most=1,queue=2")
	a1, a2, b, none := &Request{Session: 1}, &Request{Session: 1}, &Request{Session: 2}, &Request{}
	for i, r := range []*Request{a1, a2, b, none, none} {
		if got, want := s.Offer(r, 0).Kind, []Kind{Pass, Hold, Pass, Pass, Pass}[i]; got != want {
			t.Errorf("request %d: %v, want %v", i, got, want)
		}
	}
	if went(s, 0) != nil {
		t.Error("the second request of a session did not wait")
	}
	if s.Done(a1, 0); !cmp.Equal(went(s, 0), []string{"1"}) {
		t.Error("the second request did not go on when the first had ended")
	}
}

// TestSemanticCache: a rate of 20 with 40 % hits is 12; without the cache it is 20 again,
// 1.67 times as much.
func TestSemanticCache(t *testing.T) {
	s := build(t, "semantic-cache:hit=0.4,lost-at=1000s,lost-for=1000s")
	var passed [2]int
	for i := range 40_000 {
		if s.Offer(&Request{}, sec(float64(i)/20)).Kind == Pass {
			passed[i/20_000]++
		}
	}
	if rate := float64(passed[0]) / 1000; rate < 11.7 || rate > 12.3 {
		t.Errorf("%v requests a second go on, want 12", rate)
	}
	if passed[1] != 20_000 {
		t.Errorf("%d of 20000 go on while the cache is lost", passed[1])
	}
}

func TestNewRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "does not exist",
		"vct":                          "use one of vtc",
		"vtc:in-flight=0":              "from 1",
		"vtc:size=1":                   `no parameter "size"`,
		"vtc:input":                    "is no parameter",
		"vtc:variant=new":              "upstream, fixed",
		"vtc:output=-1":                "from 0",
		"token-bucket:rate=NaN":        "a number from",
		"token-bucket:rate=1,rate=2":   "twice",
		"deadline:slo=0s":              "a time from",
		"semantic-cache:hit=1.1":       "from 0 to 1",
		"session-cap:per=user":         "session, tenant",
		"priority:queue=9999999999999": "a whole number",
	} {
		if _, err := New(text, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestConservation: of all shapers, whatever comes: what was offered has gone on, been
// refused or absorbed, been cancelled, or is held; nothing is seen twice; and when all
// places are free and time has passed, nothing is held.
func TestConservation(t *testing.T) {
	var texts []string
	for _, i := range Names() {
		texts = append(texts, i.Name)
	}
	texts = append(texts, "vtc:in-flight=2,queue=3,variant=fixed", "priority:in-flight=1,queue=2", "deadline:in-flight=1,queue=3,slo=100ms",
		"token-bucket:rate=100,burst=300,by=tokens,per=tenant,over=wait,queue=5", "token-bucket:rate=5,burst=1,over=wait", "session-cap:per=tenant,queue=2",
		"cascade:at-once=2,escalate=0.5", "retry:attempts=4,backoff=10ms,budget=envoy", "retry:budget=grpc,honor=true")
	rapid.Check(t, func(rt *rapid.T) {
		s := build(rt, rapid.SampledFrom(texts).Draw(rt, "shaper"))
		held, behind := map[*Request]bool{}, []*Request{}
		now := clock.Time(0)
		settle := func() {
			for {
				r, d, ok := s.Next(now)
				if !ok {
					return
				}
				if !held[r] {
					rt.Fatalf("%+v comes out and was not held", r)
				}
				if delete(held, r); d.Kind == Pass {
					behind = append(behind, r)
				}
			}
		}
		end := func(i int) {
			r := behind[i]
			behind = append(behind[:i:i], behind[i+1:]...)
			s.Done(r, now)
			settle()
		}
		for i := range rapid.IntRange(1, 60).Draw(rt, "events") {
			now += clock.Time(rapid.IntRange(0, 1e8).Draw(rt, "passes"))
			switch what := rapid.IntRange(0, 5).Draw(rt, "what"); {
			case what < 4:
				r := &Request{
					Tenant: rapid.Uint64Range(0, 2).Draw(rt, "tenant"), Session: uint64(i), Priority: rapid.IntRange(0, 2).Draw(rt, "rank"),
					InTokens: rapid.IntRange(1, 400).Draw(rt, "in"), Due: now,
				}
				switch s.Offer(r, now).Kind {
				case Pass:
					behind = append(behind, r)
				case Hold:
					held[r] = true
				}
				settle()
			case what == 4 && len(behind) > 0:
				i := rapid.IntRange(0, len(behind)-1).Draw(rt, "ends")
				if again, ok := s.(Retrier); ok && rapid.Bool().Draw(rt, "fails") && again.Failed(behind[i], 503, 0, now) {
					held[behind[i]] = true
					behind = append(behind[:i:i], behind[i+1:]...)
					settle()
					continue
				}
				end(i)
			case what == 5:
				for r := range held {
					s.Cancel(r)
					delete(held, r)
					break
				}
				settle()
			}
		}
		for range 1000 {
			for len(behind) > 0 {
				end(0)
			}
			if w, ok := s.(Waker); ok && len(held) > 0 {
				at := w.Wake()
				if !at.Known() {
					rt.Fatal("requests are held, and nothing would wake it")
				}
				now = max(now, at)
			}
			settle()
		}
		if len(held)+len(behind) > 0 {
			rt.Fatalf("%d are held for ever", len(held))
		}
	})
}

// FuzzNew: whatever is read can be written and read again.
func FuzzNew(f *testing.F) {
	for _, i := range Names() {
		f.Add(i.Name)
	}
	f.Add("token-bucket:rate=1e-6,burst=1e12,by=tokens,over=wait")
	f.Add("vtc:in-flight=2,queue=3,variant=fixed")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := New(text, 1)
		if err != nil {
			return
		}
		again, err := New(s.String(), 1)
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q is %q, and then %v, %v", text, s, again, err)
		}
	})
}

// BenchmarkOffer is the cost of one request through each shaper: offered, let through,
// metered and done, with 64 others waiting.
func BenchmarkOffer(b *testing.B) {
	for _, text := range []string{
		"vtc:in-flight=64", "priority:in-flight=64", "deadline:in-flight=64,slo=1h", "token-bucket:rate=1e9,burst=1e9",
		"session-cap:most=64", "semantic-cache:hit=0.4", "cascade:ttft=0s,tpot=0s", "retry",
	} {
		b.Run(text, func(b *testing.B) {
			s := build(b, text)
			all := make([]Request, 128)
			for i := range all {
				all[i] = Request{Tenant: uint64(i%8 + 1), Session: uint64(i + 1), InTokens: 100}
			}
			var behind []*Request
			settle := func() {
				for {
					r, _, ok := s.Next(0)
					if !ok {
						return
					}
					behind = append(behind, r)
				}
			}
			offer := func(r *Request) {
				if s.Offer(r, 0).Kind == Pass {
					behind = append(behind, r)
				}
				settle()
			}
			for i := range all {
				offer(&all[i])
			}
			b.ReportAllocs()
			for b.Loop() {
				if len(behind) == 0 { // it was absorbed
					offer(&all[0])
					continue
				}
				r := behind[0]
				behind = append(behind[:0], behind[1:]...)
				if m, ok := s.(Meter); ok {
					m.Tokens(r, 1)
				}
				s.Done(r, 0)
				settle()
				offer(r)
			}
		})
	}
}
