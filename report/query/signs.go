package query

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"goodput/loadgen/record"
	"goodput/report/stats"
)

// Signs is what the rows show of things that go wrong between a client and engines.
type Signs struct {
	// Streams are successes with 8 chunks or more; the first token of LateFirst of them
	// came after 80 % of the time from sending to the last one. Of these, so many were
	// Looked at chunk by chunk, and Bunched ones had 80 % of their chunks within 2 ms of
	// the first.
	Streams, LateFirst, Looked, Bunched int64
	// CleanEnds are truncated answers with status 200: a stream that ended in good order,
	// without its terminal marker.
	CleanEnds int64
	// RouterAttempts were made by the router, by its own account, for RouterRequests.
	RouterAttempts, RouterRequests int64
	// Left requests were given up by the client while the server's account is known;
	// it went on with Orphans of them, for OrphanTime in total (nanoseconds), making
	// about OrphanTokens.
	Left, Orphans int64
	OrphanTime    int64
	OrphanTokens  int64
	// FailedAfter is how long failed attempts took, Answered how long successes did, from
	// leaving to their end, in nanoseconds.
	FailedAfter, Answered stats.Summary
	// DTTFT and DTail are client minus server, of successes; ok only where N > 0.
	DTTFT, DTail Spread10
}

// Spread10 is the middle four fifths of some values, in nanoseconds.
type Spread10 struct {
	N             int64
	P10, P50, P90 float64
}

// The rules of Signs.
const (
	streamChunks = 8
	lateShare    = 0.8
	bunchUS      = 2000
	mostLooked   = 20_000
	orphanMin    = int64(100e6)
)

// signs accumulates Signs.
type signs struct {
	Signs
	failed, answered, dttft, dtail stats.Sample
}

// all are the samples of which successes have values.
func (s *signs) all() []*stats.Sample { return []*stats.Sample{&s.answered, &s.dttft, &s.dtail} }

// add takes an attempt of the window.
func (s *signs) add(r *record.Request) {
	s.leaver(r)
	if r.Outcome == record.Truncated && r.HTTPStatus == 200 && !strings.Contains(r.Error, record.CutShort) {
		s.CleanEnds++
	}
	if r.ServerAttempts != record.Null32 {
		s.RouterRequests++
		s.RouterAttempts += int64(r.ServerAttempts)
	}
	from, to, ok := underWay(r)
	if !ok {
		return
	}
	switch r.Outcome {
	case record.OK:
		s.answered.Add(int64(to - from))
	case record.Censored, record.Canceled:
		return
	default:
		s.failed.Add(int64(to - from))
		return
	}
	if lateFirst(r) {
		s.LateFirst++
	}
	if r.Chunks >= streamChunks {
		s.Streams++
	}
	if r.ServerSource != "" && r.DTTFT != record.Null {
		s.dttft.Add(r.DTTFT)
		if r.DTail != record.Null {
			s.dtail.Add(r.DTail)
		}
	}
}

// lateFirst reports whether nearly all of a stream's time went before its first token.
func lateFirst(r *record.Request) bool {
	whole := r.LastToken - r.Writing
	return r.Chunks >= streamChunks && r.Writing.Known() && r.FirstToken.Known() && r.LastToken.Known() &&
		float64(r.FirstToken-r.Writing) >= lateShare*float64(whole)
}

// leaver looks at an attempt that the client gave up.
func (s *signs) leaver(r *record.Request) {
	switch r.Outcome {
	case record.Canceled, record.TimeoutTTFT, record.TimeoutTotal:
	default:
		return
	}
	if r.ServerE2E == record.Null || !r.Wrote.Known() || !r.Closed.Known() {
		return
	}
	s.Left++
	over := r.ServerE2E - int64(r.Closed-r.Wrote)
	if over < orphanMin {
		return
	}
	s.Orphans++
	s.OrphanTime += over
	if n := r.OutputTokens; r.ServerDecode != record.Null && r.ServerDecode > 0 && n > 1 {
		s.OrphanTokens += int64(float64(n) * min(1, float64(over)/float64(r.ServerDecode)))
	}
}

func (s *signs) finish() Signs {
	s.FailedAfter, s.Answered = s.failed.Summary(), s.answered.Summary()
	s.DTTFT, s.DTail = middle(&s.dttft), middle(&s.dtail)
	return s.Signs
}

func middle(s *stats.Sample) Spread10 {
	out := Spread10{N: s.N()}
	for _, q := range []struct {
		at float64
		to *float64
	}{{.1, &out.P10}, {.5, &out.P50}, {.9, &out.P90}} {
		v, _ := s.Quantile(q.at)
		*q.to = float64(v)
	}
	return out
}

// errEnough ends a reading early.
var errEnough = errors.New("enough rows")

// bunched looks at the chunks of streams whose first token was late: reading the gaps
// takes longer than all the rest, so it is done only where most were.
func (s *Signs) bunched(run *record.Run) error {
	if s.Streams == 0 || 2*s.LateFirst < s.Streams {
		return nil
	}
	err := run.Requests(func(r *record.Request) error {
		if r.Phase != record.Measure || r.Outcome != record.OK || !lateFirst(r) {
			return nil
		}
		if s.Looked == mostLooked {
			return errEnough
		}
		s.Looked++
		if atOnce(r) {
			s.Bunched++
		}
		return nil
	}, record.Columns("phase", "outcome", "chunks", "writing", "first_token", "last_token", "token_gaps_us"))
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// atOnce reports whether 80 % of the chunks came within 2 ms of the first.
func atOnce(r *record.Request) bool {
	n, us := int64(1), int64(0)
	for _, gap := range r.TokenGapsUS {
		if us += int64(gap); us > bunchUS {
			break
		}
		n++
	}
	return float64(n) >= lateShare*float64(r.Chunks)
}

// sortByName sorts replicas by name, numbers by their value.
func sortByName(all []Replica) {
	slices.SortFunc(all, func(a, b Replica) int {
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
}
