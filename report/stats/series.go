package stats

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
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
}

// Cells is the most cells of a Series.
const Cells = 1 << 14

// Add takes the value of an index from 0.
func (s *Series) Add(index uint64, v float64) {
	for index>>s.shift >= Cells {
		s.halve()
	}
	at := int(index >> s.shift)
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
// can be estimated.
//
// The variance of the mean is that of cells times their integrated autocorrelation
// time, 1 + 2*sum of rho, the sum being cut by Geyer's rule (initial positive
// sequence, "Practical Markov Chain Monte Carlo", 1992).
func (s *Series) Effective() (n float64, ok bool) {
	x := s.cells()
	if s.n < 32 || len(x) < 32 {
		return 0, false
	}
	whole := s.mean2 / float64(s.n)
	if whole <= 0 {
		return float64(s.n), true // all are equal
	}
	variance, tau := autocorrelation(x)
	if variance == 0 {
		return float64(s.n), true
	}
	ofMean := variance * tau / float64(len(x))
	return min(float64(s.n), max(1, whole/ofMean)), true
}

// cells are the means of cells that hold values.
func (s *Series) cells() []float64 {
	out := make([]float64, 0, len(s.sum))
	for i, c := range s.count {
		if c > 0 {
			out = append(out, s.sum[i]/float64(c))
		}
	}
	return out
}

// autocorrelation returns the variance of x and its integrated autocorrelation
// time, at least 1.
func autocorrelation(x []float64) (variance, tau float64) {
	cov := autocovariance(x)
	if cov[0] <= 0 {
		return 0, 1
	}
	tau = -1
	least := math.Inf(1)
	for i := 0; i+1 < len(cov); i += 2 {
		pair := (cov[i] + cov[i+1]) / cov[0]
		if pair <= 0 {
			break
		}
		least = min(least, pair) // the sums of pairs fall; where they don't, it is noise
		tau += 2 * least
	}
	return cov[0], max(1, tau)
}

// autocovariance returns those of lags 0 to len(x)-1, by the transform of x padded
// with zeros to twice its length, so that lags do not wrap.
func autocovariance(x []float64) []float64 {
	n := 1
	for n < 2*len(x) {
		n *= 2
	}
	mean := 0.0
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	padded := make([]float64, n)
	for i, v := range x {
		padded[i] = v - mean
	}
	fft := fourier.NewFFT(n)
	c := fft.Coefficients(nil, padded)
	for i, v := range c {
		c[i] = complex(real(v)*real(v)+imag(v)*imag(v), 0)
	}
	all := fft.Sequence(nil, c)
	out := all[:len(x)]
	for i := range out {
		out[i] /= float64(n) * float64(len(x))
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
