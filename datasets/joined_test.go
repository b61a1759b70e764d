package datasets_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"goodput/datasets"
)

func randomSet(t interface{ Fatal(...any) }, n int, seed uint64) datasets.Set {
	s, err := datasets.NewRandom(datasets.Random{InputLen: 64, OutputLen: 8, PrefixLen: 16, RangeRatio: 0.5, NumPrompts: n, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestJoinedItems: each item of each set is there once, in order, as it is in its set.
func TestJoinedItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 20), 1, 5).Draw(t, "sizes")
		var sets []datasets.Set
		total := 0
		for i, n := range sizes {
			sets = append(sets, randomSet(t, n, uint64(i)))
			total += n
		}
		j, err := datasets.Join(sets...)
		if err != nil {
			t.Fatal(err)
		}
		if j.Len() != total {
			t.Fatalf("%d items, want %d", j.Len(), total)
		}
		i := 0
		var got, want datasets.Item
		prefixes := map[uint64]int{}
		for k, s := range sets {
			if j.First(k) != i {
				t.Fatalf("set %d begins at %d, want %d", k, j.First(k), i)
			}
			for x := range s.Len() {
				j.Item(i, &got)
				s.Item(x, &want)
				if got.Prefix != 0 {
					if of, known := prefixes[got.Prefix]; known && of != k {
						t.Fatalf("prefix %d is of the sets %d and %d", got.Prefix, of, k)
					}
					prefixes[got.Prefix] = k
				}
				want.Prefix, want.Session = got.Prefix, got.Session
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("item %d of set %d: %s", x, k, diff)
				}
				i++
			}
		}
	})
}

func TestJoinNothing(t *testing.T) {
	if _, err := datasets.Join(); err == nil {
		t.Error("no error")
	}
}

func ExampleJoin() {
	chat, _ := datasets.NewRandom(datasets.Random{InputLen: 100, OutputLen: 10, NumPrompts: 2})
	batch, _ := datasets.NewRandom(datasets.Random{InputLen: 1000, OutputLen: 100, NumPrompts: 1})
	all, err := datasets.Join(chat, batch)
	if err != nil {
		fmt.Println(err)
		return
	}
	var it datasets.Item
	for i := range all.Len() {
		all.Item(i, &it)
		fmt.Println(it.In, it.Out)
	}
	// Output:
	// 100 10
	// 100 10
	// 1000 100
}
