package kv

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// shelf is what host memory should hold: the least recently used first.
type shelf struct {
	room     int
	names    []content
	ready    map[content]int64
	loads    map[content]int
	stored   map[content]bool // ever
	failures int64
}

func (s *shelf) use(c content) {
	if i := slices.Index(s.names, c); i >= 0 {
		s.names = append(slices.Delete(s.names, i, i+1), c)
	}
}

func (s *shelf) store(c content, now, ready int64) {
	if slices.Contains(s.names, c) {
		return
	}
	if len(s.names) == s.room {
		i := slices.IndexFunc(s.names, func(o content) bool { return s.loads[o] == 0 && s.ready[o] <= now })
		if i < 0 {
			s.failures++
			return
		}
		s.names = slices.Delete(s.names, i, i+1)
	}
	s.names = append(s.names, c)
	s.ready[c], s.stored[c] = ready, true
}

// loading is a load under way.
type loading struct {
	t      *Table
	hit, n int
}

// Host memory finds exactly what was stored and not evicted, in a prefix of the
// sequence's blocks, never more than it has room for, and evicts by use. The model
// has been written apart from it.
func TestHostMemoryAgainstAModel(t *testing.T) {
	var found, evicted, failed int64
	rapid.Check(t, func(rt *rapid.T) {
		room := rapid.IntRange(1, 12).Draw(rt, "host blocks")
		p, err := New(Config{Blocks: 1000, BlockSize: 4, Caching: true, HostBlocks: room})
		if err != nil {
			rt.Fatal(err)
		}
		s := &shelf{room: room, ready: map[content]int64{}, loads: map[content]int{}, stored: map[content]bool{}}
		tables := make([]*Table, 4)
		for i := range tables {
			tables[i] = &Table{}
			hashes := make([]uint64, rapid.IntRange(0, 5).Draw(rt, "shared blocks"))
			for b := range hashes {
				hashes[b] = uint64(100*rapid.IntRange(1, 2).Draw(rt, "family") + b)
			}
			p.Open(tables[i], hashes)
			if !p.Admit(tables[i], Admission{Tokens: 32}) {
				rt.Fatal("no room on the GPU")
			}
		}
		var loads []loading
		var pending []content
		now := int64(0)
		rt.Repeat(map[string]func(*rapid.T){
			"compute": func(rt *rapid.T) {
				tb := tables[rapid.IntRange(0, len(tables)-1).Draw(rt, "table")]
				from := tb.full
				p.Fill(tb, rapid.IntRange(0, 32).Draw(rt, "tokens"))
				for i := from; i < tb.full; i++ {
					pending = append(pending, tb.content(i))
				}
			},
			"store": func(rt *rapid.T) {
				if n := p.HostPending(); n > len(pending) {
					rt.Fatalf("%d blocks pending, %d were computed", n, len(pending))
				}
				// What is there already is not stored, even if it makes room meanwhile.
				pending = slices.DeleteFunc(pending, func(c content) bool { return slices.Contains(s.names, c) })
				ready := now + rapid.Int64Range(0, 3).Draw(rt, "takes")
				p.HostStore(now, ready)
				for _, c := range pending {
					s.store(c, now, ready)
				}
				pending = pending[:0]
			},
			"look and load": func(rt *rapid.T) {
				tb := tables[rapid.IntRange(0, len(tables)-1).Draw(rt, "table")]
				hit := rapid.IntRange(0, 3).Draw(rt, "hit")
				n, busy := p.HostMatch(tb, hit, 32, now)
				want, wantBusy := 0, false
				for i := 6; i >= 0; i-- {
					s.use(tb.content(i))
				}
				for ; hit+want < 7; want++ {
					c := tb.content(hit + want)
					if !slices.Contains(s.names, c) || s.ready[c] > now {
						break
					}
					if !s.stored[c] {
						rt.Fatalf("%+v was found and never stored", c)
					}
					wantBusy = wantBusy || s.loads[c] > 0
				}
				if n != want || busy != wantBusy {
					rt.Fatalf("found %d blocks, busy %v; want %d, %v", n, busy, want, wantBusy)
				}
				if n > 0 && !busy {
					p.HostLoad(tb, hit, n)
					for i := hit; i < hit+n; i++ {
						s.loads[tb.content(i)]++
					}
					loads = append(loads, loading{tb, hit, n})
				}
				found += int64(n)
			},
			"end a load": func(rt *rapid.T) {
				if len(loads) == 0 {
					rt.Skip()
				}
				l := loads[0]
				loads = loads[1:]
				p.HostLoaded(l.t, l.hit, l.n)
				for i := l.hit; i < l.hit+l.n; i++ {
					s.loads[l.t.content(i)]--
				}
			},
			"wait": func(*rapid.T) { now++ },
			"": func(rt *rapid.T) {
				if err := p.Check(tables); err != nil {
					rt.Fatal(err)
				}
				var got []content
				for at := p.host.blocks[0].next; at != 0; at = p.host.blocks[at].next {
					got = append(got, p.host.blocks[at].content)
				}
				if !slices.Equal(got, s.names) || len(got) > room {
					rt.Fatalf("holds %v, want %v, room for %d", got, s.names, room)
				}
				c := p.HostCounters()
				if c.Failures != s.failures || c.Stored-c.Evictions != int64(len(got)) {
					rt.Fatalf("counters %+v with %d blocks and %d failures", c, len(got), s.failures)
				}
			},
		})
		c := p.HostCounters()
		evicted, failed = evicted+c.Evictions, failed+c.Failures
	})
	if found == 0 || evicted == 0 || failed == 0 {
		t.Errorf("too tame: %d blocks found, %d evicted, %d not stored", found, evicted, failed)
	}
}

func TestHostMemoryNeedsCaching(t *testing.T) {
	if _, err := New(Config{Blocks: 10, BlockSize: 4, HostBlocks: 1}); err == nil {
		t.Error("host memory without caching was accepted")
	}
	if _, err := New(Config{Blocks: 10, BlockSize: 4, Caching: true, HostBlocks: -1}); err == nil {
		t.Error("less than no host memory was accepted")
	}
}
