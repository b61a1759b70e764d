package engine

import (
	"math"
	"testing"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// station is an engine that serves one request at a time, one step for each:
// the single server of queueing theory, under Poisson arrivals.
type station struct {
	t       testing.TB
	loop    *clock.Virtual
	e       *Engine
	gaps    rng.Stream
	meanGap float64 // ns
	service func() int64
	left    int
	next    uint64
	idle    []*Seq
	waits   []float64 // ns

	// The time integral of the number of sequences in the engine, ns.
	inside, area int64
	since        clock.Time
	sojourn      int64
}

func (q *station) Step(*steptime.Batch) int64 { return q.service() }

func (q *station) Entity() uint64 { return 0 }

// Fire is an arrival.
func (q *station) Fire(now clock.Time) {
	var s *Seq
	if n := len(q.idle); n > 0 {
		s, q.idle = q.idle[n-1], q.idle[:n-1]
	} else {
		s = &Seq{}
	}
	q.next++
	s.ID, s.Prompt, s.MaxTokens, s.Sink = q.next, 1, 1, q
	if err := q.e.Submit(s); err != nil {
		q.t.Fatal(err)
	}
	q.count(now)
	if q.left--; q.left > 0 {
		q.loop.At(now+clock.Time(math.Round(q.gaps.Exp()*q.meanGap)), clock.RankArrival, q)
	}
}

// count adds up the sequences that were inside since the last change.
func (q *station) count(now clock.Time) {
	q.area += q.inside * int64(now-q.since)
	st := q.e.Stats()
	q.inside, q.since = int64(st.Arriving+st.Waiting+st.Running), now
}

func (q *station) Tokens(*Seq, clock.Time, int) {}

func (q *station) Finished(s *Seq, now clock.Time, _ Finish) {
	q.waits = append(q.waits, float64(s.Scheduled.Sub(s.Arrival)))
	q.sojourn += int64(now.Sub(s.Arrival))
	q.count(now)
	s.Reset()
	q.idle = append(q.idle, s)
}

const meanService = 1e6 // ns

func runStation(t *testing.T, load float64, n int, service func(s *rng.Stream) int64) *station {
	t.Helper()
	q := &station{t: t, loop: clock.NewVirtual(), left: n, meanGap: meanService / load}
	q.gaps = rng.New(7, "gaps", 0)
	draws := rng.New(7, "service", 0)
	q.service = func() int64 { return service(&draws) }
	e, err := New(Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 1, MaxModelLen: 2, BlockSize: 1, NumGPUBlocks: 3, ChunkedPrefill: true}, q, q.loop)
	if err != nil {
		t.Fatal(err)
	}
	q.e = e
	q.loop.At(0, clock.RankArrival, q)
	q.loop.Run()
	if len(q.waits) != n {
		t.Fatalf("%d of %d requests were served", len(q.waits), n)
	}
	return q
}

// meanOf returns the mean and its standard error by batch means, which allows
// for the correlation of neighbours.
func meanOf(x []float64) (mean, stderr float64) {
	const batches = 40
	size := len(x) / batches
	var means [batches]float64
	for b := range means {
		for _, v := range x[b*size : (b+1)*size] {
			means[b] += v / float64(size)
		}
		mean += means[b] / batches
	}
	var ss float64
	for _, m := range means {
		ss += (m - mean) * (m - mean)
	}
	return mean, math.Sqrt(ss / (batches - 1) / batches)
}

func constant(*rng.Stream) int64 { return meanService * 1000 }

func exponential(s *rng.Stream) int64 {
	return 1 + int64(s.Exp()*meanService*1000)
}

// The mean wait of the M/G/1 queue is load * service * (1+cv^2) / (2*(1-load)),
// after Pollaczek and Khinchine: half as long for constant service as for
// exponential.
func TestMeanWaitIsPollaczekKhinchine(t *testing.T) {
	long(t)
	for _, c := range []struct {
		name    string
		load    float64
		cv2     float64
		service func(*rng.Stream) int64
	}{
		{"M/D/1 at 0.5", 0.5, 0, constant},
		{"M/D/1 at 0.8", 0.8, 0, constant},
		{"M/M/1 at 0.5", 0.5, 1, exponential},
		{"M/M/1 at 0.8", 0.8, 1, exponential},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := runStation(t, c.load, 200_000, c.service)
			got, stderr := meanOf(q.waits)
			want := c.load * meanService * (1 + c.cv2) / (2 * (1 - c.load))
			if math.Abs(got-want) > 4*stderr || stderr > 0.05*want {
				t.Errorf("mean wait %.0f ns, standard error %.0f; theory says %.0f", got, stderr, want)
			}
		})
	}
}

// Little's law, which holds exactly over a run that starts and ends empty: the
// integral of the number inside is the sum of the times spent inside.
func TestLittlesLaw(t *testing.T) {
	q := runStation(t, 0.9, 20_000, exponential)
	if q.area != q.sojourn || q.inside != 0 {
		t.Errorf("integral of the number inside %d ns, sum of the times inside %d ns, %d inside at the end", q.area, q.sojourn, q.inside)
	}
}
