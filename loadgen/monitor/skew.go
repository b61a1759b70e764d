package monitor

import "goodput/loadgen/clock"

// SkewSpan is how many seconds a point of the skew is of: in one alone chance would rule.
const SkewSpan = 10

// mostNames bounds the replicas that are told apart over time; with more of them the skew
// is not known.
const mostNames = 256

// assigned counts a request of the replica in x.
func (b *Board) assigned(x *slot, replica string) {
	if replica == "" {
		return
	}
	at, ok := b.names[replica]
	if !ok {
		at = len(b.names)
		b.names[replica] = at
	}
	if at >= mostNames {
		return
	}
	for len(x.by) <= at {
		x.by = append(x.by, 0)
	}
	x.by[at]++
}

// skews fills in that of each point of the series.
func (b *Board) skews(p *Picture, now clock.Time, g *Gauges) {
	replicas := len(b.names)
	if g != nil {
		replicas = max(replicas, len(g.Replicas))
	}
	known := min(len(b.names), mostNames)
	last := secondOf(now)
	first := last - int64(len(p.Series)) + 1
	var sums [mostNames]int64
	move := func(number, by int64) {
		if number < 1 {
			return
		}
		x := &b.seconds[number%seconds]
		if x.number != number {
			return
		}
		for i, n := range x.by {
			sums[i] += by * int64(n)
		}
	}
	for number := first - SkewSpan + 1; number < first; number++ {
		move(number, 1)
	}
	for i := range p.Series {
		number := first + int64(i)
		move(number, 1)
		p.Series[i].Skew = None()
		if len(b.names) <= mostNames {
			p.Series[i].Skew = skewOf(sums[:known], replicas)
		}
		move(number-SkewSpan+1, -1)
	}
}

// skewOf is most / mean of the requests of so many replicas, of which those beyond n had
// none.
func skewOf(n []int64, replicas int) Number {
	var most, all int64
	for _, x := range n {
		most, all = max(most, x), all+x
	}
	return over(float64(most*int64(replicas)), float64(all))
}
