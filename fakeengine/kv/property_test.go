package kv

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// life is one sequence in both pools.
type life struct {
	lean, full   *Table
	tokens, done int  // tokens wanted, tokens filled
	running      bool // admitted
}

// twins are two pools under the same calls. In full every block is in the
// prefix index, with names that nobody else uses for the private ones; lean
// leaves those out.
type twins struct {
	lean, full *Pool
	lives      []*life
	next       uint64
}

func (w *twins) open(rt *rapid.T) {
	w.next++
	family := rapid.Uint64Range(1, 3).Draw(rt, "family")
	shared := rapid.IntRange(0, 4).Draw(rt, "shared")
	var hashes []uint64
	for i := range shared {
		hashes = append(hashes, family<<32|uint64(i+1))
	}
	l := &life{lean: &Table{}, full: &Table{}, tokens: rapid.IntRange(1, 9*size).Draw(rt, "tokens")}
	l.tokens = max(l.tokens, shared*size)
	w.lean.Open(l.lean, hashes)
	all := hashes[:len(hashes):len(hashes)]
	for i := shared; i < 64; i++ {
		all = append(all, 1<<60|w.next<<16|uint64(i))
	}
	w.full.Open(l.full, all)
	w.lives = append(w.lives, l)
}

func (w *twins) admit(rt *rapid.T, l *life) {
	hit, hitFull := w.lean.Match(l.lean, l.tokens), w.full.Match(l.full, l.tokens)
	if hit != hitFull {
		rt.Fatalf("hit %d blocks, %d when all are in the index", hit, hitFull)
	}
	chunk := min(l.tokens, hit*size+rapid.IntRange(1, 6*size).Draw(rt, "chunk"))
	a := Admission{Hit: hit, Tokens: chunk, Spare: rapid.IntRange(0, 2).Draw(rt, "spare")}
	if rapid.Bool().Draw(rt, "reserve") {
		a.Reserve = l.tokens
	}
	ok, okFull := w.lean.Admit(l.lean, a), w.full.Admit(l.full, a)
	if ok != okFull {
		rt.Fatalf("admitted %v, %v when all are in the index", ok, okFull)
	}
	if ok {
		l.running, l.done = true, chunk
		w.lean.Fill(l.lean, chunk)
		w.full.Fill(l.full, chunk)
	}
}

func (w *twins) grow(rt *rapid.T, l *life) {
	if l.done == l.tokens {
		l.tokens++
	}
	to := rapid.IntRange(l.done+1, l.tokens).Draw(rt, "to")
	ok, okFull := w.lean.Grow(l.lean, to), w.full.Grow(l.full, to)
	if ok != okFull {
		rt.Fatalf("grew %v, %v when all are in the index", ok, okFull)
	}
	if ok {
		l.done = to
		w.lean.Fill(l.lean, to)
		w.full.Fill(l.full, to)
	}
}

func (w *twins) check() error {
	var lean, full []*Table
	for i, l := range w.lives {
		lean, full = append(lean, l.lean), append(full, l.full)
		if diff := cmp.Diff(l.full.ids[:l.full.held], l.lean.ids[:l.lean.held]); diff != "" {
			return fmt.Errorf("blocks of sequence %d (-full +lean):\n%s", i, diff)
		}
	}
	if err := w.lean.Check(lean); err != nil {
		return err
	}
	if err := w.full.Check(full); err != nil {
		return err
	}
	if diff := cmp.Diff(w.full.freeOrder(), w.lean.freeOrder()); diff != "" {
		return fmt.Errorf("free lists (-full +lean):\n%s", diff)
	}
	if diff := cmp.Diff(w.full.Counters(), w.lean.Counters()); diff != "" {
		return fmt.Errorf("counters (-full +lean):\n%s", diff)
	}
	return nil
}

// Invariant 7: blocks are conserved, shared only under a shared name, and
// never below zero references. Besides, leaving private blocks out of the index
// changes no decision.
func TestInvariant7BlocksAreConserved(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		blocks := rapid.IntRange(2, 40).Draw(rt, "blocks")
		var w twins
		cfg := Config{
			Blocks: blocks, BlockSize: size, Caching: true,
			UnnamedFirst: rapid.Bool().Draw(rt, "unnamed first"), HeadFirst: rapid.Bool().Draw(rt, "head first"),
		}
		for _, p := range []**Pool{&w.lean, &w.full} {
			var err error
			if *p, err = New(cfg); err != nil {
				rt.Fatal(err)
			}
		}
		for range rapid.IntRange(1, 120).Draw(rt, "operations") {
			op := rapid.IntRange(0, 9).Draw(rt, "operation")
			if len(w.lives) == 0 || op == 0 {
				w.open(rt)
				continue
			}
			i := rapid.IntRange(0, len(w.lives)-1).Draw(rt, "which")
			l := w.lives[i]
			switch {
			case op == 1:
				w.lean.Close(l.lean)
				w.full.Close(l.full)
				w.lives = append(w.lives[:i], w.lives[i+1:]...)
			case op == 2 && l.running:
				w.lean.Release(l.lean)
				w.full.Release(l.full)
				l.running = false
			case l.running:
				w.grow(rt, l)
			default:
				w.admit(rt, l)
			}
			if err := w.check(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	p := newPool(t, 256)
	hashes := []uint64{1, 2, 3, 4}
	var tab Table
	turn := func() {
		p.Open(&tab, hashes)
		hit := p.Match(&tab, 40*size)
		if !p.Admit(&tab, Admission{Hit: hit, Tokens: 40 * size}) {
			t.Fatal("no room")
		}
		p.Fill(&tab, 40*size)
		for n := 40 * size; n < 80*size; n++ {
			p.Grow(&tab, n)
			p.Fill(&tab, n)
		}
		p.Release(&tab)
		p.Close(&tab)
	}
	turn()
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations per sequence, want 0", n)
	}
}

func BenchmarkGrow(b *testing.B) {
	p := newPool(b, 1<<16)
	var tab Table
	p.Open(&tab, nil)
	b.ReportAllocs()
	n := 1
	for b.Loop() {
		if n == 1<<15 {
			p.Close(&tab)
			p.Open(&tab, nil)
			n = 1
		}
		p.Grow(&tab, n)
		p.Fill(&tab, n)
		n++
	}
}
