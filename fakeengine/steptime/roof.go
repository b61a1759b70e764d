package steptime

// Bound is what takes most of a step's time.
type Bound string

// The bounds.
const (
	WeightBound  Bound = "weights" // reading them
	ComputeBound Bound = "compute" // matrix products, attention and element-wise work
	KVBound      Bound = "kv"      // reading the KV cache
	LinkBound    Bound = "link"    // all-reduces
	LaunchBound  Bound = "launch"  // kernel launches and the host
)

// Bound names what takes most of Step(b), and how much of it in picoseconds.
// Matrix products count as weights while reading those takes longer than
// multiplying, else as compute.
func (a *Analytic) Bound(b *Batch) (bound Bound, ps int64) {
	bill := a.Bill(b)
	sums := [...]struct {
		bound Bound
		ps    int64
	}{
		{WeightBound, 0},
		{ComputeBound, bill.Attention + bill.Elementwise},
		{KVBound, bill.KV},
		{LinkBound, bill.AllReduce},
		{LaunchBound, bill.Launch + bill.Sequences + bill.Host},
	}
	charge := func(ps int64, computes bool) {
		if computes {
			sums[1].ps += ps
		} else {
			sums[0].ps += ps
		}
	}
	charge(bill.Matmul, a.layerWork(b.Tokens) > a.layerRead(b.Tokens))
	charge(bill.Head, a.headWork(b.Emit) > a.headRead())
	most := sums[0]
	for _, s := range sums[1:] {
		if s.ps > most.ps {
			most = s
		}
	}
	return most.bound, most.ps
}

// Floor implements Bounded: the arithmetic of b at the peak rates, or its reads of
// weights and KV cache at the full bandwidth, whichever takes longer. What
// Batch does not tell, such as contexts shorter than a sliding window, is left
// out.
func (a *Analytic) Floor(b *Batch) int64 {
	w := a.Work(b)
	return int64(1e12 * max(w.Read/a.gpu.HBM.Value, w.Matrices/a.rates.Peak+w.Rest/a.gpu.Peak.Value))
}
