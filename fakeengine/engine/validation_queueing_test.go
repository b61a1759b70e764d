package engine

import (
	"math"
	"testing"

	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// hyperexponential draws services of twice the standard deviation of
// exponential ones: a mixture of two exponentials that contribute equally to
// the mean.
func hyperexponential(s *rng.Stream) int64 {
	const cv2 = 4
	p := (1 + math.Sqrt((cv2-1.0)/(cv2+1))) / 2
	if s.Float64() >= p {
		p = 1 - p
	}
	return 1 + int64(s.Exp()*meanService*1000/(2*p))
}

// The load that a single server can carry at a given mean wait depends on the
// variability of the services: solved for the load, the formula of Pollaczek and
// Khinchine gives w/(w + (1+cv^2)/2) at a wait of w service times. The search is
// over simulations only; theory comes in at the end.
func TestValidationLoadAtAWaitOfThreeServices(t *testing.T) {
	long(t)
	for _, c := range []struct {
		name    string
		service func(*rng.Stream) int64
		want    float64
	}{
		{"constant", constant, 0.857},
		{"exponential", exponential, 0.750},
		{"twice as variable", hyperexponential, 0.545},
	} {
		t.Run(c.name, func(t *testing.T) {
			lo, hi := 0.4, 0.95
			for hi-lo > 0.005 {
				load := (lo + hi) / 2
				if wait, _ := meanOf(runStation(t, load, 50_000, c.service).waits); wait < 3*meanService {
					lo = load
				} else {
					hi = load
				}
			}
			t.Logf("load %.3f, theory %.3f", lo, c.want)
			if math.Abs(lo-c.want) > 0.02 {
				t.Errorf("a wait of three services at a load of %.3f, theory says %.3f", lo, c.want)
			}
		})
	}
}

// counter is an engine of several seats that share one queue. A service is a
// number of steps, geometrically distributed: exponential but for the steps.
type counter struct {
	t       testing.TB
	loop    *clock.Virtual
	e       *Engine
	gaps    rng.Stream
	lengths rng.Stream
	meanGap float64 // ns
	left    int
	next    uint64
	idle    []*Seq
	waits   []float64 // ns
}

// A step takes a unit of time, whatever is in it; the mean service is many.
const (
	unit         = 20_000 // ns
	serviceUnits = 50
)

func (q *counter) Step(*steptime.Batch) int64 { return unit * 1000 }

func (q *counter) Entity() uint64 { return 0 }

// Fire is an arrival.
func (q *counter) Fire(now clock.Time) {
	s := &Seq{}
	if n := len(q.idle); n > 0 {
		s, q.idle = q.idle[n-1], q.idle[:n-1]
	}
	q.next++
	steps := 1 + int(math.Log(1-q.lengths.Float64())/math.Log(1-1.0/serviceUnits))
	s.ID, s.Prompt, s.MaxTokens, s.Sink = q.next, 1, steps, q
	if err := q.e.Submit(s); err != nil {
		q.t.Fatal(err)
	}
	if q.left--; q.left > 0 {
		q.loop.At(now+clock.Time(math.Round(q.gaps.Exp()*q.meanGap)), clock.RankArrival, q)
	}
}

func (q *counter) Tokens(*Seq, clock.Time, int) {}

func (q *counter) Finished(s *Seq, _ clock.Time, _ Finish) {
	q.waits = append(q.waits, float64(s.Scheduled.Sub(s.Arrival)))
	s.Reset()
	q.idle = append(q.idle, s)
}

// An engine of c seats and steps of constant duration is the M/M/c queue: the
// mean wait is that of Erlang. Steps add up to half of one, the time to the next
// boundary.
func TestValidationMeanWaitIsErlangs(t *testing.T) {
	long(t)
	const n = 50_000
	for _, c := range []struct {
		name  string
		seats int
		load  float64
	}{
		{"M/M/2 at 0.7", 2, 0.7},
		{"M/M/4 at 0.7", 4, 0.7},
		{"M/M/8 at 0.7", 8, 0.7},
	} {
		t.Run(c.name, func(t *testing.T) {
			service := float64(unit * serviceUnits)
			q := &counter{t: t, loop: clock.NewVirtual(), left: n, meanGap: service / (float64(c.seats) * c.load)}
			q.gaps, q.lengths = rng.New(3, "gaps", 0), rng.New(3, "lengths", 0)
			var err error
			q.e, err = New(Config{
				MaxNumSeqs: c.seats, MaxNumBatchedTokens: c.seats, MaxModelLen: 1 << 20,
				BlockSize: 16, NumGPUBlocks: 1 << 16, ChunkedPrefill: true,
			}, q, q.loop)
			if err != nil {
				t.Fatal(err)
			}
			q.loop.At(0, clock.RankArrival, q)
			q.loop.Run()
			if len(q.waits) != n {
				t.Fatalf("%d of %d requests were served", len(q.waits), n)
			}
			got, stderr := meanOf(q.waits)
			want := erlangC(c.seats, float64(c.seats)*c.load) * service / (float64(c.seats) * (1 - c.load))
			t.Logf("mean wait %.3f service times (standard error %.3f), Erlang's %.3f", got/service, stderr/service, want/service)
			if got < want-4*stderr || got > want+4*stderr+unit || stderr > 0.1*want {
				t.Errorf("mean wait %.0f ns, standard error %.0f; theory says %.0f", got, stderr, want)
			}
		})
	}
}

// erlangC is the probability of having to wait at c servers that are offered a
// erlangs.
func erlangC(c int, a float64) float64 {
	inverse := 1.0 // of Erlang's B, built up server by server
	for k := 1; k <= c; k++ {
		inverse = 1 + inverse*float64(k)/a
	}
	b := 1 / inverse
	return b / (1 - a/float64(c)*(1-b))
}
