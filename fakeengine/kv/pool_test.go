package kv

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const size = 4 // tokens in a block, in these tests

func newPool(t testing.TB, blocks int) *Pool {
	t.Helper()
	p, err := New(Config{Blocks: blocks, BlockSize: size, Caching: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// open admits a sequence of tokens tokens and names its full blocks.
func open(t testing.TB, p *Pool, hashes []uint64, tokens int) *Table {
	t.Helper()
	tab := &Table{}
	p.Open(tab, hashes)
	hit := p.Match(tab, tokens)
	if !p.Admit(tab, Admission{Hit: hit, Tokens: tokens}) {
		t.Fatalf("no room for %d tokens, %d blocks free", tokens, p.Free())
	}
	p.Fill(tab, tokens)
	return tab
}

// freeOrder is the order in which blocks will be handed out.
func (p *Pool) freeOrder() []int32 {
	var out []int32
	p.walk(func(id int32) bool {
		out = append(out, id)
		return true
	})
	return out
}

func check(t testing.TB, p *Pool, tables ...*Table) {
	t.Helper()
	if err := p.Check(tables); err != nil {
		t.Fatal(err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name         string
		blocks, size int
	}{
		{"only the null block", 1, 16},
		{"no blocks", 0, 16},
		{"no tokens in a block", 10, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := New(Config{Blocks: c.blocks, BlockSize: c.size, Caching: true}); err == nil {
				t.Errorf("New(%d, %d) gave no error", c.blocks, c.size)
			}
		})
	}
}

func TestR2NullBlockIsNeverHandedOutNorCounted(t *testing.T) {
	p := newPool(t, 5)
	if p.Usable() != 4 || p.Used() != 0 {
		t.Fatalf("usable %d, used %v; want 4, 0", p.Usable(), p.Used())
	}
	a := open(t, p, nil, 3*size)
	if got := p.Used(); got != 0.75 {
		t.Errorf("used %v after 3 of 4 blocks, want 0.75", got)
	}
	if p.Grow(a, 5*size) {
		t.Error("a fifth block was handed out of four")
	}
	if !p.Grow(a, 4*size) {
		t.Error("the last usable block was refused")
	}
	for _, id := range a.ids {
		if id == null {
			t.Error("the null block was handed out")
		}
	}
	p.Release(a)
	if got := p.Used(); got != 0 {
		t.Errorf("used %v with nothing held; cached blocks count as free", got)
	}
	check(t, p, a)
}

func TestR10MatchLeavesOneTokenToCompute(t *testing.T) {
	p := newPool(t, 32)
	hashes := []uint64{11, 12, 13}
	p.Release(open(t, p, hashes, 3*size))
	for _, c := range []struct {
		name        string
		hashes      []uint64
		tokens, hit int
	}{
		{"aligned prompt recomputes its last block", hashes, 3 * size, 2},
		{"one token more uses all", hashes, 3*size + 1, 3},
		{"chain broken in the middle", []uint64{11, 99, 13}, 3*size + 1, 1},
		{"other start", []uint64{99, 12, 13}, 3*size + 1, 0},
		{"one token", []uint64{}, 1, 0},
		{"nothing shareable", nil, 3*size + 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tab Table
			p.Open(&tab, c.hashes)
			if got := p.Match(&tab, c.tokens); got != c.hit {
				t.Errorf("hit %d blocks, want %d", got, c.hit)
			}
			if got := p.Find(c.hashes, c.tokens); got != c.hit {
				t.Errorf("found %d blocks, want %d", got, c.hit)
			}
			p.Close(&tab)
		})
	}
}

func TestR12ReserveAndSpareGateAdmission(t *testing.T) {
	for _, c := range []struct {
		name string
		a    Admission
		want bool
	}{
		{"chunk alone", Admission{Tokens: size}, true},
		{"whole prompt fits exactly", Admission{Reserve: 4 * size, Tokens: size}, true},
		{"whole prompt does not", Admission{Reserve: 4*size + 1, Tokens: size}, false},
		{"spare block missing", Admission{Reserve: 4 * size, Tokens: size, Spare: 1}, false},
		{"spare block left", Admission{Reserve: 3 * size, Tokens: size, Spare: 1}, true},
		{"spare applies without reserve", Admission{Tokens: 4 * size, Spare: 1}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPool(t, 5)
			var tab Table
			p.Open(&tab, nil)
			if got := p.Admit(&tab, c.a); got != c.want {
				t.Fatalf("admitted %v, want %v", got, c.want)
			}
			held := 0
			if c.want {
				held = p.Blocks(c.a.Tokens)
			}
			if tab.Held() != held || p.Free() != 4-held {
				t.Errorf("holds %d, free %d; want %d, %d: only the chunk is taken", tab.Held(), p.Free(), held, 4-held)
			}
			check(t, p, &tab)
		})
	}
}

func TestR13UnreferencedHitsCountAsNeeded(t *testing.T) {
	p := newPool(t, 5)
	hashes := []uint64{1, 2}
	p.Release(open(t, p, hashes, 2*size))
	// Four free, two of them cached: 2 hits that leave the free list and 3 new
	// blocks are one too many.
	var tab Table
	p.Open(&tab, hashes)
	hit := p.Match(&tab, 4*size+1)
	before := p.freeOrder()
	if p.Admit(&tab, Admission{Hit: hit, Tokens: 4*size + 1}) {
		t.Error("five blocks were found among four")
	}
	if diff := cmp.Diff(before, p.freeOrder()); diff != "" || tab.Held() != 0 {
		t.Errorf("a refused admission changed the free list (-before +after):\n%s", diff)
	}
	if !p.Admit(&tab, Admission{Hit: hit, Tokens: 4 * size}) {
		t.Error("two hits and two new blocks were refused")
	}
	// Hits that others hold cost nothing: no block is free, none is needed.
	check(t, p, &tab)
}

func TestR13HeldHitsCostNothing(t *testing.T) {
	p := newPool(t, 5)
	hashes := []uint64{1, 2, 3}
	a := open(t, p, hashes, 3*size)
	b := open(t, p, hashes, 3*size+1)
	if p.Free() != 0 {
		t.Errorf("%d blocks free, want 0: three shared, one new", p.Free())
	}
	if diff := cmp.Diff(a.ids[:3], b.ids[:3]); diff != "" {
		t.Errorf("blocks are not shared (-a +b):\n%s", diff)
	}
	check(t, p, a, b)
}

func TestR16AllocationEvictsFromTheHead(t *testing.T) {
	p := newPool(t, 4)
	p.Release(open(t, p, []uint64{1}, size)) // block 1, to the tail
	if diff := cmp.Diff([]int32{2, 3, 1}, p.freeOrder()); diff != "" {
		t.Fatalf("free list (-want +got):\n%s", diff)
	}
	a := open(t, p, nil, 2*size)
	if got := p.Counters().Evictions; got != 0 {
		t.Errorf("%d evictions while unnamed blocks were left, want 0", got)
	}
	if !p.Grow(a, 3*size) {
		t.Fatal("no room")
	}
	if got := p.Counters().Evictions; got != 1 {
		t.Errorf("%d evictions, want 1", got)
	}
	if hit := p.Match(openEmpty(p, []uint64{1}), 2*size); hit != 0 {
		t.Error("an evicted block was found")
	}
	check(t, p, a)
}

func openEmpty(p *Pool, hashes []uint64) *Table {
	t := &Table{}
	p.Open(t, hashes)
	return t
}

func TestR17TouchTakesOutOfTheFreeList(t *testing.T) {
	p := newPool(t, 6)
	p.Release(open(t, p, []uint64{1, 2}, 2*size)) // 3 4 5 2 1
	a := open(t, p, []uint64{1}, size+1)          // touches 1, takes 3
	if diff := cmp.Diff([]int32{4, 5, 2}, p.freeOrder()); diff != "" {
		t.Errorf("free list (-want +got):\n%s", diff)
	}
	check(t, p, a)
}

func TestR18TailIsFreedFirst(t *testing.T) {
	p := newPool(t, 6)
	a := open(t, p, []uint64{1, 2, 3}, 3*size+1)
	p.Release(a)
	// Block 5 was never used; then the tail of the sequence, its head last. The
	// unnamed block 4 is treated like the others (vLLM 0.19).
	if diff := cmp.Diff([]int32{5, 4, 3, 2, 1}, p.freeOrder()); diff != "" {
		t.Errorf("free list (-want +got):\n%s", diff)
	}
	// Two blocks are lost; the head survives.
	b := open(t, p, nil, 3*size)
	if hit := p.Match(openEmpty(p, []uint64{1, 2, 3}), 4*size); hit != 2 {
		t.Errorf("hit %d blocks, want the first 2", hit)
	}
	check(t, p, a, b)
}

func TestR18Variants(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  Config
		want []int32
	}{
		{"unnamed to the front", Config{UnnamedFirst: true}, []int32{6, 5, 4, 7, 3, 2, 1}},
		{"head first", Config{HeadFirst: true}, []int32{7, 1, 2, 3, 4, 5, 6}},
		{"both", Config{HeadFirst: true, UnnamedFirst: true}, []int32{4, 5, 6, 7, 1, 2, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Blocks, c.cfg.BlockSize, c.cfg.Caching = 8, size, true
			p, err := New(c.cfg)
			if err != nil {
				t.Fatal(err)
			}
			// Blocks 1 to 3 are full; 4, 5 and 6 are taken ahead and have no name.
			a := open(t, p, []uint64{1, 2, 3}, 3*size+1)
			if !p.Grow(a, 6*size) {
				t.Fatal("no room")
			}
			p.Release(a)
			if diff := cmp.Diff(c.want, p.freeOrder()); diff != "" {
				t.Errorf("free list (-want +got):\n%s", diff)
			}
			check(t, p, a)
		})
	}
}

func TestR19OnlyFullBlocksAreNamedAndEqualNamesCoexist(t *testing.T) {
	p := newPool(t, 10)
	a := open(t, p, []uint64{1, 2}, size+1)
	if hit := p.Match(openEmpty(p, []uint64{1, 2}), 3*size); hit != 1 {
		t.Errorf("hit %d blocks, want 1: the second is not full", hit)
	}
	// b computes the same content at the same time.
	b := openEmpty(p, []uint64{1, 2})
	if !p.Admit(b, Admission{Tokens: 2 * size}) {
		t.Fatal("no room")
	}
	p.Fill(b, 2*size)
	if a.ids[0] == b.ids[0] {
		t.Fatal("blocks were merged")
	}
	// The index points to b's copy. Losing a's copy must not lose the entry.
	p.Close(a)
	c := openEmpty(p, nil)
	if !p.Grow(c, p.Free()*size) {
		t.Fatal("no room")
	}
	if hit := p.Match(openEmpty(p, []uint64{1, 2}), 3*size); hit != 2 {
		t.Errorf("hit %d blocks, want 2", hit)
	}
	check(t, p, b, c)
}

func TestR20BlocksAreFoundAsSoonAsTheyAreFilled(t *testing.T) {
	p := newPool(t, 10)
	a := openEmpty(p, []uint64{1})
	if !p.Admit(a, Admission{Tokens: size}) {
		t.Fatal("no room")
	}
	if hit := p.Match(openEmpty(p, []uint64{1}), 2*size); hit != 0 {
		t.Error("a block was found before it was filled")
	}
	p.Fill(a, size)
	if hit := p.Match(openEmpty(p, []uint64{1}), 2*size); hit != 1 {
		t.Error("a filled block was not found")
	}
}

func TestR21ResetNeedsAnUnusedPool(t *testing.T) {
	p := newPool(t, 6)
	a := open(t, p, []uint64{1}, 2*size)
	if p.Reset() {
		t.Error("the cache was forgotten while blocks were held")
	}
	if hit := p.Match(openEmpty(p, []uint64{1}), 2*size); hit != 1 {
		t.Errorf("hit %d blocks after a refused reset, want 1", hit)
	}
	p.Release(a)
	if !p.Reset() {
		t.Error("an unused pool was not reset")
	}
	if shared, own := p.Match(openEmpty(p, []uint64{1}), 2*size), p.Match(a, 3*size); shared != 0 || own != 0 {
		t.Errorf("hit %d shared and %d own blocks after a reset, want none", shared, own)
	}
	open(t, p, nil, 5*size)
	if got := p.Counters().Evictions; got != 0 {
		t.Errorf("%d evictions of forgotten blocks, want 0", got)
	}
}

func TestResumeFindsOwnBlocks(t *testing.T) {
	p := newPool(t, 8)
	a := open(t, p, []uint64{1}, 4*size) // block 0 shared, 1 to 3 private
	p.Release(a)
	if hit := p.Match(a, 4*size+1); hit != 4 {
		t.Errorf("hit %d blocks, want 4", hit)
	}
	b := open(t, p, nil, 5*size) // evicts the three untouched ones and two of a's
	if hit := p.Match(a, 4*size+1); hit != 2 {
		t.Errorf("hit %d blocks after two were evicted, want 2", hit)
	}
	// Nobody else finds private blocks, not even with the same numbers.
	if hit := p.Match(openEmpty(p, []uint64{1}), 4*size+1); hit != 1 {
		t.Errorf("another sequence hit %d blocks, want the shared one", hit)
	}
	check(t, p, a, b)
}

func TestResumeFindsOwnCopyOfALostName(t *testing.T) {
	p := newPool(t, 8)
	a := open(t, p, []uint64{1}, 2*size)
	b := openEmpty(p, []uint64{1})
	if !p.Admit(b, Admission{Tokens: size}) {
		t.Fatal("no room")
	}
	p.Fill(b, size) // takes the name over
	p.Close(b)
	c := open(t, p, nil, 5*size) // evicts b's copy, and the name with it
	p.Release(a)
	if hit := p.Match(openEmpty(p, []uint64{1}), 2*size); hit != 0 {
		t.Errorf("another sequence hit %d blocks of a name that is lost, want 0", hit)
	}
	if hit := p.Match(a, 3*size); hit != 2 {
		t.Errorf("the sequence hit %d of its own two blocks", hit)
	}
	check(t, p, a, c)
}

func TestCachingOffFindsNothing(t *testing.T) {
	p, err := New(Config{Blocks: 8, BlockSize: size})
	if err != nil {
		t.Fatal(err)
	}
	a := open(t, p, []uint64{1, 2}, 2*size+1)
	p.Release(a)
	if hit := p.Match(a, 2*size+1); hit != 0 {
		t.Errorf("hit %d blocks, want 0", hit)
	}
	p.Query(9, 0)
	if diff := cmp.Diff(Counters{}, p.Counters()); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}
