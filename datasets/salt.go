package datasets

// Salted is the set with other content, named by the salt: prompts are as long and
// share as much of each other as before, and nothing with the same set under another
// salt. 0 changes nothing.
func Salted(s Set, salt uint64) Set {
	if salt == 0 {
		return s
	}
	return &salted{s, salt}
}

type salted struct {
	Set
	salt uint64
}

var _ Set = (*salted)(nil)

func (s *salted) Item(i int, dst *Item) {
	s.Set.Item(i, dst)
	for k := range dst.Prompt {
		dst.Prompt[k].Key = rekey(dst.Prompt[k].Key, s.salt)
	}
	dst.OutKey = rekey(dst.OutKey, s.salt)
}

// PrefixesUnknown reports whether the set does not say which prompts begin alike.
func (s *salted) PrefixesUnknown() bool { return prefixesUnknown(s.Set) }

// rekey is a permutation of keys, another one for each salt: the finaliser of
// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of their sum.
func rekey(key, salt uint64) uint64 {
	x := key + salt
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
