package record

import (
	"bytes"
	"errors"
	"testing"
)

func TestBodyPassesOnWhatWasAdded(t *testing.T) {
	var b body
	for round := range 3 {
		var want, have []byte
		for i := range 40 {
			piece := bytes.Repeat([]byte{byte(i + round)}, i*(bodyBlock/97))
			b.add(piece)
			want = append(want, piece...)
		}
		if b.n != len(want) {
			t.Errorf("round %d: holds %d bytes, want %d", round, b.n, len(want))
		}
		if err := b.each(func(p []byte) error { have = append(have, p...); return nil }); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("round %d: what comes out is not what went in", round)
		}
		b.reset()
	}
	if err := b.each(func([]byte) error { return errors.New("called") }); err != nil {
		t.Error("an empty body has a piece")
	}
}

func TestBodyEndsAtTheFirstError(t *testing.T) {
	var b body
	b.add(make([]byte, 3*bodyBlock))
	calls, full := 0, errors.New("no space")
	err := b.each(func([]byte) error { calls++; return full })
	if calls != 1 || !errors.Is(err, full) {
		t.Errorf("%d calls and %v, want one and %v", calls, err, full)
	}
}

// A row group's pages reuse the memory of the one before.
func TestBodyAllocatesOnce(t *testing.T) {
	var b body
	piece := make([]byte, 3*bodyBlock/2)
	if n := testing.AllocsPerRun(10, func() {
		b.reset()
		b.add(piece)
		b.add(piece)
	}); n != 0 {
		t.Errorf("%v allocations each time, want 0", n)
	}
}
