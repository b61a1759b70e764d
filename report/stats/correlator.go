package stats

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Correlator estimates how correlated successive values are. The zero value is ready;
// it keeps its memory from one estimate to the next.
type Correlator struct {
	values []float64
	fft    *fourier.FFT
	padded []float64
	coeff  []complex128
}

// directLags are computed one by one before all of them are, by transforms: few values
// are correlated for longer.
const directLags = 64

// autocorrelation returns the variance of x and its integrated autocorrelation
// time, at least 1. It changes x.
func (w *Correlator) autocorrelation(x []float64) (variance, tau float64) {
	mean := 0.0
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for i := range x {
		x[i] -= mean
	}
	g := geyer{tau: -1, least: math.Inf(1)}
	for lag := 0; lag+1 < min(directLags, len(x)); lag += 2 {
		if even, odd := covariances(x, lag); !g.add(even, odd) {
			return g.variance, g.time()
		}
	}
	cov := w.autocovariance(x)
	g = geyer{tau: -1, least: math.Inf(1)}
	for lag := 0; lag+1 < len(cov); lag += 2 {
		if !g.add(cov[lag], cov[lag+1]) {
			break
		}
	}
	return g.variance, g.time()
}

// geyer sums up autocovariances until pairs of them are no longer positive.
type geyer struct{ variance, tau, least float64 }

// add takes those of the next two lags, and reports whether more are needed.
func (g *geyer) add(even, odd float64) bool {
	if math.IsInf(g.least, 1) {
		g.variance = max(0, even)
	}
	if g.variance == 0 {
		return false
	}
	pair := (even + odd) / g.variance
	if pair <= 0 {
		return false
	}
	g.least = min(g.least, pair) // the sums of pairs fall; where they don't, it is noise
	g.tau += 2 * g.least
	return true
}

func (g *geyer) time() float64 { return max(1, g.tau) }

// covariances are those of values with mean 0 at a lag and at the one behind it, which
// is below their number.
func covariances(x []float64, lag int) (even, odd float64) {
	n := len(x)
	a, b := x[:n-lag-1], x[lag:]
	b = b[:len(a)+1]
	for i, v := range a {
		even += v * b[i]
		odd += v * b[i+1]
	}
	even += x[n-lag-1] * x[n-1]
	return even / float64(n), odd / float64(n)
}

// autocovariance returns those of lags 0 to len(x)-1 of values with mean 0, by the
// transform of x padded with zeros to twice its length, so that lags do not wrap. It is
// valid until the next call.
func (w *Correlator) autocovariance(x []float64) []float64 {
	n := 1
	for n < 2*len(x) {
		n *= 2
	}
	if w.fft == nil || w.fft.Len() != n {
		w.fft, w.padded, w.coeff = fourier.NewFFT(n), make([]float64, n), make([]complex128, n/2+1)
	}
	clear(w.padded[copy(w.padded, x):])
	for i, v := range w.fft.Coefficients(w.coeff, w.padded) {
		w.coeff[i] = complex(real(v)*real(v)+imag(v)*imag(v), 0)
	}
	out := w.fft.Sequence(w.padded, w.coeff)[:len(x)]
	for i := range out {
		out[i] /= float64(n) * float64(len(x))
	}
	return out
}
