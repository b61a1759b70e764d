package datasets

import (
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
)

// Joined is several sets one behind the other, whose sessions and prefixes are told
// apart. It is not Timed: the times of its sets have nothing to do with each other.
type Joined struct {
	sets  []Set
	first []int // number of the first item of each set, and behind them Len
}

var _ Set = (*Joined)(nil)

// Join joins one set or more.
func Join(sets ...Set) (*Joined, error) {
	if len(sets) == 0 {
		return nil, errors.New("joining no sets: give at least one")
	}
	j := &Joined{sets: sets, first: make([]int, len(sets)+1)}
	for i, s := range sets {
		n := s.Len()
		if j.first[i] > math.MaxInt-n {
			return nil, fmt.Errorf("the first %d sets hold more items than can be numbered: ask for fewer", i+1)
		}
		j.first[i+1] = j.first[i] + n
	}
	return j, nil
}

// First is the number of the first item of set k.
func (j *Joined) First(k int) int { return j.first[k] }

// Len is the number of items of all sets.
func (j *Joined) Len() int { return j.first[len(j.sets)] }

// Timed is false.
func (j *Joined) Timed() bool { return false }

// nameBits is where the number of a set begins in the names of its sessions and
// prefixes: those of the first set keep theirs.
const nameBits = 48

// Item fills dst with item i.
func (j *Joined) Item(i int, dst *Item) {
	k := sort.SearchInts(j.first[1:], i+1)
	j.sets[k].Item(i-j.first[k], dst)
	dst.At = 0
	for _, name := range []*uint64{&dst.Session, &dst.Prefix} {
		if *name != 0 {
			*name ^= uint64(k) << nameBits
		}
	}
}

// PrefixesUnknown reports whether one of the sets does not say which prompts begin alike.
func (j *Joined) PrefixesUnknown() bool {
	for _, s := range j.sets {
		if prefixesUnknown(s) {
			return true
		}
	}
	return false
}

// String names the sets.
func (j *Joined) String() string {
	out := make([]string, len(j.sets))
	for i, s := range j.sets {
		out[i] = s.String()
	}
	return strings.Join(out, " + ")
}
