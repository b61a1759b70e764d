package stats

import (
	"math"
	"slices"
)

// Series is a sequence of values, such as a latency in the order of arrivals, from
// which the number of independent values is estimated. Values may be added in any
// order, under their own index. Its memory does not grow: beyond Cells values
// neighbours are averaged. The zero value is empty.
type Series struct {
	shift uint // a cell holds 1<<shift indexes
	sum   []float64
	count []int32
	n     int64
	total float64
	mean2 float64 // sum of squared deviations from the running mean (Welford)
	room  int     // cells to make room for at the first value
}

// Cells is the most cells of a Series.
const Cells = 1 << 14

// Expect tells that indexes below n will come, so that memory is taken once; with more
// of them it grows.
func (s *Series) Expect(n int64) { s.room = int(min(n, Cells)) }

// Add takes the value of an index from 0.
func (s *Series) Add(index uint64, v float64) {
	for index>>s.shift >= Cells {
		s.halve()
	}
	at := int(index >> s.shift)
	if s.sum == nil {
		s.sum, s.count = make([]float64, 0, s.room), make([]int32, 0, s.room)
	}
	for len(s.sum) <= at {
		s.sum, s.count = append(s.sum, 0), append(s.count, 0)
	}
	s.sum[at] += v
	s.count[at]++
	before := 0.0
	if s.n > 0 {
		before = s.total / float64(s.n)
	}
	s.n++
	s.total += v
	s.mean2 += (v - before) * (v - s.total/float64(s.n))
}

// halve averages pairs of cells.
func (s *Series) halve() {
	n := (len(s.sum) + 1) / 2
	for i := range n {
		sum, count := s.sum[2*i], s.count[2*i]
		if 2*i+1 < len(s.sum) {
			sum, count = sum+s.sum[2*i+1], count+s.count[2*i+1]
		}
		s.sum[i], s.count[i] = sum, count
	}
	s.sum, s.count = s.sum[:n], s.count[:n]
	s.shift++
}

// N is the number of values.
func (s *Series) N() int64 { return s.n }

// Effective is the number of independent values that would give the mean the same
// variance as these correlated ones: the variance of the values over that of their
// mean, at most N. ok is false for fewer than 32 values, from which no correlation
// can be estimated. Calls one after the other may share w.
//
// The variance of the mean is that of cells times their integrated autocorrelation
// time, 1 + 2*sum of rho, the sum being cut by Geyer's rule (initial positive
// sequence, "Practical Markov Chain Monte Carlo", 1992).
func (s *Series) Effective(w *Correlator) (n float64, ok bool) {
	if s.n < 32 {
		return 0, false
	}
	x := s.cells(w.values[:0])
	w.values = x
	if len(x) < 32 {
		return 0, false
	}
	whole := s.mean2 / float64(s.n)
	if whole <= 0 {
		return float64(s.n), true // all are equal
	}
	variance, tau := w.autocorrelation(x)
	if variance == 0 {
		return float64(s.n), true
	}
	ofMean := variance * tau / float64(len(x))
	return min(float64(s.n), max(1, whole/ofMean)), true
}

// cells appends the means of cells that hold values to out.
func (s *Series) cells(out []float64) []float64 {
	out = slices.Grow(out, len(s.sum))
	for i, c := range s.count {
		if c > 0 {
			out = append(out, s.sum[i]/float64(c))
		}
	}
	return out
}

// Transient is the number of leading values whose removal makes the mean of the
// rest most certain: MSER-5, which averages fives and looks at the first half
// (White, "An effective truncation heuristic for bias reduction in simulation
// output", 1997). It is a diagnostic of a level such as the number in flight; on
// latencies, which come in bursts, it cuts bursts and not a transient.
func Transient(x []float64) int {
	const five = 5
	k := len(x) / five
	batches := make([]float64, k)
	for i := range batches {
		for _, v := range x[five*i : five*(i+1)] {
			batches[i] += v / five
		}
	}
	best, cut := math.Inf(1), 0
	sum, squares := 0.0, 0.0
	for d := k - 1; d >= 0; d-- { // sums over batches[d:]
		sum += batches[d]
		squares += batches[d] * batches[d]
		if d > k/2 {
			continue
		}
		n := float64(k - d)
		if score := (squares - sum*sum/n) / (n * n); score <= best {
			best, cut = score, five*d
		}
	}
	return cut
}
