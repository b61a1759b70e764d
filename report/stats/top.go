package stats

import (
	"cmp"
	"container/heap"
	"math/bits"
	"slices"
)

// Top sums rows of figures, of all rows and of those with the largest keys, in
// memory that does not grow with their number. The largest TopExact rows are kept as
// they are; of more, those whose keys differ by less than 0.4 % may be taken for alike.
type Top struct {
	width   int
	octaves [65][]float64 // of cells, each a count and width sums
	largest topRows
}

// TopExact is the number of rows whose mean is exact.
const TopExact = 4096

// topRow is one that is kept. Of equal keys the one with the lower id is larger.
type topRow struct {
	key, id int64
	row     []float64
}

func (r topRow) compare(o topRow) int {
	return cmp.Or(cmp.Compare(r.key, o.key), cmp.Compare(o.id, r.id))
}

// topRows is a heap, the smallest first.
type topRows []topRow

func (h topRows) Len() int           { return len(h) }
func (h topRows) Less(i, j int) bool { return h[i].compare(h[j]) < 0 }
func (h topRows) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *topRows) Push(x any)        { *h = append(*h, x.(topRow)) }
func (h *topRows) Pop() any          { panic("rows are only replaced") }

// add keeps a row if it is among the largest.
func (h *topRows) add(r topRow) {
	switch {
	case len(*h) < TopExact:
		r.row = slices.Clone(r.row)
		heap.Push(h, r)
	case r.compare((*h)[0]) > 0:
		copy((*h)[0].row, r.row)
		(*h)[0].key, (*h)[0].id = r.key, r.id
		heap.Fix(h, 0)
	}
}

// topBits makes cells of a width of at most 1/256 of their keys.
const topBits = 9

// NewTop returns an empty Top for rows of width values.
func NewTop(width int) *Top { return &Top{width: width} }

// Add takes a row. Its key is at least 0; a smaller one counts as 0. Of rows with equal
// keys those with lower ids are taken for the larger ones.
func (t *Top) Add(key, id int64, row []float64) {
	key = max(key, 0)
	t.largest.add(topRow{key, id, row[:t.width]})
	octave := max(0, bits.Len64(uint64(key))-topBits)
	if t.octaves[octave] == nil {
		t.octaves[octave] = make([]float64, (1+t.width)<<topBits)
	}
	cell := t.octaves[octave][int(key>>octave)*(1+t.width):]
	cell[0]++
	for i, v := range row[:t.width] {
		cell[1+i] += v
	}
}

// N is the number of rows.
func (t *Top) N() int64 {
	n := 0.0
	t.descend(func(cell []float64) bool {
		n += cell[0]
		return true
	})
	return int64(n)
}

// Mean is the mean of the n rows with the largest keys; nil if there are fewer, or
// n is 0. Beyond TopExact of rows with alike keys, some of which belong to them, it takes
// the mean.
func (t *Top) Mean(n int64) []float64 {
	if n > 0 && n <= int64(len(t.largest)) {
		return t.largest.mean(int(n), t.width)
	}
	left := n // whole rows: no rounding leaves a part of one to be found
	sum := make([]float64, t.width)
	t.descend(func(cell []float64) bool {
		if cell[0] == 0 {
			return true
		}
		taken := min(left, int64(cell[0]))
		share := float64(taken) / cell[0]
		for i := range sum {
			sum[i] += share * cell[1+i]
		}
		left -= taken
		return left > 0
	})
	if left > 0 || n <= 0 {
		return nil
	}
	for i := range sum {
		sum[i] /= float64(n)
	}
	return sum
}

// mean is that of the largest n.
func (h topRows) mean(n, width int) []float64 {
	rows := slices.Clone(h)
	slices.SortFunc(rows, func(a, b topRow) int { return b.compare(a) })
	sum := make([]float64, width)
	for _, r := range rows[:n] {
		for i, v := range r.row {
			sum[i] += v
		}
	}
	for i := range sum {
		sum[i] /= float64(n)
	}
	return sum
}

// descend calls f with the cells from the largest keys down, while it says true.
func (t *Top) descend(f func(cell []float64) bool) {
	for i := len(t.octaves) - 1; i >= 0; i-- {
		size := 1 + t.width
		for cells := t.octaves[i]; len(cells) > 0; cells = cells[:len(cells)-size] {
			if !f(cells[len(cells)-size:]) {
				return
			}
		}
	}
}
