package cli

// ladder looks for the highest rate that holds, within most and least, by doubling or
// halving from a first one and then between the last two until they are near.
type ladder struct {
	from, least, most float64
	near              float64 // ratio of the two at the end
	holds             func(rate float64) (bool, error)
	over              func() bool // no time is left to look closer
}

// climb returns it, 0 if none holds.
func (l *ladder) climb() (float64, error) {
	lo, hi, err := l.bracket()
	for err == nil && lo > 0 && hi > l.near*lo && !l.over() {
		mid := (lo + hi) / 2
		var ok bool
		if ok, err = l.holds(mid); ok {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, err
}

// bracket returns a rate that holds, 0 without one, and one that does not; they are
// equal if all hold.
func (l *ladder) bracket() (lo, hi float64, err error) {
	rate := l.from
	ok, err := l.holds(rate)
	for err == nil && ok && rate < l.most {
		lo = rate
		rate = min(2*rate, l.most)
		ok, err = l.holds(rate)
	}
	if err != nil || ok {
		return rate, rate, err
	}
	for hi = rate; lo == 0 && hi > l.least && err == nil; {
		rate = max(hi/2, l.least)
		if ok, err = l.holds(rate); ok {
			lo = rate
		} else {
			hi = rate
		}
	}
	return lo, hi, err
}
