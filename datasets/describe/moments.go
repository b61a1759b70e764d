package describe

import (
	"math"
	"math/bits"
)

// exactBelow is where lengths cease to be counted one by one.
const exactBelow = 1 << 18

// lengths counts token lengths.
type lengths struct {
	exact  []uint32
	coarse map[int]uint32 // by bucket, see bucket
	moments
	max int
}

// bucket is the number of the bucket of v >= exactBelow: 512 for each power of two.
func bucket(v int) int {
	e := bits.Len(uint(v)) - 10
	return e<<10 | v>>e
}

// middle is the middle of a bucket.
func middle(b int) float64 {
	e := b >> 10
	return (float64(b&1023) + 0.5) * float64(int(1)<<e)
}

func (l *lengths) add(v int) {
	l.moments.add(float64(v))
	l.max = max(l.max, v)
	if v >= exactBelow {
		if l.coarse == nil {
			l.coarse = map[int]uint32{}
		}
		l.coarse[bucket(v)]++
		return
	}
	if v >= len(l.exact) {
		grown := make([]uint32, min(exactBelow, max(2*v, 1024)))
		copy(grown, l.exact)
		l.exact = grown
	}
	l.exact[v]++
}

// quantile interpolates between the values of the two nearest ranks.
func (l *lengths) quantile(p float64) float64 {
	h := p * float64(l.n-1)
	low := l.at(int64(math.Floor(h)))
	return low + (h-math.Floor(h))*(l.at(int64(math.Ceil(h)))-low)
}

// at is the value of a rank from 0.
func (l *lengths) at(rank int64) float64 {
	for v, c := range l.exact {
		if rank -= int64(c); rank < 0 {
			return float64(v)
		}
	}
	for b := bucket(exactBelow); b <= bucket(l.max); b++ {
		if rank -= int64(l.coarse[b]); rank < 0 {
			return min(middle(b), float64(l.max))
		}
	}
	return float64(l.max)
}

// moments are those of a population, updated one by one (Welford 1962).
type moments struct {
	n    int64
	mean float64
	m2   float64
}

func (m *moments) add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / float64(m.n)
	m.m2 += d * (x - m.mean)
}

// cv2 is the squared coefficient of variation; nil if it is not defined.
func (m *moments) cv2() *float64 {
	if m.n == 0 || m.mean == 0 {
		return nil
	}
	v := m.m2 / float64(m.n) / (m.mean * m.mean)
	return &v
}

// pairs are the moments of two variables together.
type pairs struct {
	n          int64
	x, y       float64
	xx, yy, xy float64
}

func (p *pairs) add(x, y float64) {
	p.n++
	dx, dy := x-p.x, y-p.y
	p.x += dx / float64(p.n)
	p.y += dy / float64(p.n)
	p.xx += dx * (x - p.x)
	p.yy += dy * (y - p.y)
	p.xy += dx * (y - p.y)
}

// correlation is Pearson's; nil if one of the variables does not vary.
func (p *pairs) correlation() *float64 {
	if p.xx == 0 || p.yy == 0 {
		return nil
	}
	r := p.xy / math.Sqrt(p.xx*p.yy)
	return &r
}
