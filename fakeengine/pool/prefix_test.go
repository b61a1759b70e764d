package pool_test

import (
	"testing"
	"time"

	"goodput/fakeengine/engine"
	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// TestCachedTokens sends two requests one after the other to one replica. The
// second finds the full blocks that it has in common with the first, but never
// the block of its last token, which has to be computed.
func TestCachedTokens(t *testing.T) {
	private := func(key uint64, n int) target.Span { return target.Span{Key: key, Tokens: n, Private: true} }
	common := func(key uint64, n int) target.Span { return target.Span{Key: key, Tokens: n} }
	type prompt []target.Span
	for name, c := range map[string]struct {
		first, second prompt
		off           bool
		want          int
	}{
		"prefix of whole blocks":        {prompt{common(1, 256), private(2, 256)}, prompt{common(1, 256), private(3, 256)}, false, 256},
		"prefix of 15 blocks and a bit": {prompt{common(1, 255), private(2, 256)}, prompt{common(1, 255), private(3, 256)}, false, 240},
		"prefix of a block and one":     {prompt{common(1, 17), private(2, 30)}, prompt{common(1, 17), private(3, 30)}, false, 16},
		"prefix below a block":          {prompt{common(1, 15), private(2, 30)}, prompt{common(1, 15), private(3, 30)}, false, 0},
		"another prefix":                {prompt{common(1, 256), private(2, 9)}, prompt{common(4, 256), private(3, 9)}, false, 0},
		"caching off":                   {prompt{common(1, 256), private(2, 9)}, prompt{common(1, 256), private(3, 9)}, true, 0},
		"same prompt, whole blocks":     {prompt{common(1, 64)}, prompt{common(1, 64)}, false, 48},
		"same prompt, and one token":    {prompt{common(1, 65)}, prompt{common(1, 65)}, false, 64},
		"the next turn":                 {prompt{common(1, 40)}, prompt{common(1, 40), common(2, 40)}, false, 32},
		// What is said to be private is not looked for, though the keys are equal.
		"private in front": {prompt{private(1, 64), common(2, 64)}, prompt{private(1, 64), common(2, 64)}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			loop := clock.NewVirtual()
			cfg := config(t, loop, 1, "random")
			cfg.Engine.PrefixCaching = !c.off
			p := build(t, cfg)
			var recs [2]recorder
			for i, spans := range []prompt{c.first, c.second} {
				r := &target.Request{Seq: uint64(i), Prompt: spans, Out: 4}
				for _, s := range spans {
					r.In += s.Tokens
				}
				at(loop, time.Duration(i)*time.Second, clock.RankArrival, r.Seq, func() { p.Start(r, &recs[i]) })
			}
			loop.Run()
			if got := recs[0].result(t).Server.CachedTokens; got != 0 {
				t.Errorf("the first request found %d tokens", got)
			}
			if got := recs[1].result(t).Server.CachedTokens; got != c.want {
				t.Errorf("the second request found %d tokens, want %d", got, c.want)
			}
			for _, e := range recs[1].events {
				if e.Kind == target.UsageSeen && e.Usage.Cached != c.want {
					t.Errorf("usage says %d cached tokens, want %d", e.Usage.Cached, c.want)
				}
			}
			if got := p.Stats().Engines.PrefixHits; got != int64(c.want) {
				t.Errorf("%d tokens hit in all, want %d", got, c.want)
			}
			checkIdle(t, p)
		})
	}
}

// TestCachedAnswers: a turn that quotes the answer before finds the blocks of it that
// were computed, which its last token never is; planned text it does not find.
func TestCachedAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		in, out int
		quoted  bool
		want    int
	}{
		{"planned text", 40, 40, false, 32},
		{"an answer", 40, 41, true, 80},
		{"the last token is not computed", 40, 40, true, 64},
		{"one token", 32, 1, true, 32},
		{"not a block of it", 30, 2, true, 16},
		{"a block begun by the prompt", 30, 3, true, 32},
	} {
		for _, group := range []int{1, 8} {
			t.Run(c.name, func(t *testing.T) {
				loop := clock.NewVirtual()
				p := build(t, config(t, loop, 1, "random"))
				recs := make([]recorder, 2*group)
				for i := range group {
					said := []target.Span{{Key: uint64(100 + i), Tokens: c.in}}
					answer := uint64(200 + i)
					first := &target.Request{Seq: uint64(i), Prompt: said, In: c.in, Out: c.out, OutKey: answer, Quoted: c.quoted}
					second := &target.Request{
						Seq: uint64(group + i), In: c.in + c.out + 50, Out: 1,
						Prompt: append(said, target.Span{Key: answer, Tokens: c.out}, target.Span{Key: 1, Tokens: 50}),
					}
					at(loop, 0, clock.RankArrival, first.Seq, func() { p.Start(first, &recs[i]) })
					at(loop, time.Minute, clock.RankArrival, second.Seq, func() { p.Start(second, &recs[group+i]) })
				}
				loop.Run()
				for i := range group {
					if got := recs[group+i].result(t).Server.CachedTokens; got != c.want {
						t.Errorf("turn %d of %d found %d tokens, want %d", i, group, got, c.want)
					}
				}
				checkIdle(t, p)
			})
		}
	}
}

// TestCachedTokensWithinATenant: the same prompt is found with the same adapter and
// the same salt only.
func TestCachedTokensWithinATenant(t *testing.T) {
	type who struct {
		adapter uint16
		salt    string
	}
	names := []string{"", "a", "b"}
	for _, c := range []struct {
		first, second who
		want          int
	}{
		{who{0, ""}, who{0, ""}, 48},
		{who{1, ""}, who{1, ""}, 48},
		{who{1, "b"}, who{1, "b"}, 48},
		{who{0, ""}, who{1, ""}, 0},
		{who{1, ""}, who{2, ""}, 0},
		{who{0, "a"}, who{0, ""}, 0},
		{who{0, "a"}, who{0, "b"}, 0},
		{who{1, "b"}, who{2, "a"}, 0},
		{who{1, "a"}, who{0, ""}, 0},
		{who{1, ""}, who{0, "a"}, 0},
	} {
		loop := clock.NewVirtual()
		cfg := config(t, loop, 1, "random")
		cfg.Engine.LoRA = engine.LoRA{MaxLoras: 1, MaxCPULoras: 1}
		p := build(t, cfg)
		var recs [2]recorder
		for i, w := range []who{c.first, c.second} {
			r := &target.Request{
				Seq: uint64(i), In: 64, Out: 1, Prompt: []target.Span{{Key: 1, Tokens: 64}},
				Adapter: target.Adapter{Name: names[w.adapter], Number: w.adapter}, CacheSalt: w.salt,
			}
			at(loop, time.Duration(i)*time.Second, clock.RankArrival, r.Seq, func() { p.Start(r, &recs[i]) })
		}
		loop.Run()
		if got := recs[1].result(t).Server.CachedTokens; got != c.want {
			t.Errorf("%+v after %+v found %d tokens, want %d", c.second, c.first, got, c.want)
		}
	}
}
