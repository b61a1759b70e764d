package observe

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"goodput/loadgen/record"
)

// SLO is what each single request is promised, and each session: upper bounds of its
// metrics, each as package record defines it. A bound of 0 is not asked for. The zero
// value promises nothing.
type SLO struct {
	TTFT     time.Duration // first token, from the intended instant
	TTFTSend time.Duration // first token, from the start of writing
	TPOT     time.Duration // mean time per output token after the first
	E2EL     time.Duration // last token, from the intended instant

	// Of a session: its completion time, the response time of each user turn, and the
	// slowdown, which is a ratio.
	SCT, Turn time.Duration
	Slowdown  float64
}

// sloMetrics are the names that a clause may have, in the order of clauses; the last
// ones are of sessions.
var sloMetrics = [...]string{"ttft", "ttft_send", "tpot", "e2el", "sct", "turn"}

// ofRequest is how many of sloMetrics are those of a request.
const ofRequest = 4

const slowdown = "slowdown"

// ParseSLO reads clauses METRIC:MILLISECONDS, the form of vLLM's --goodput, and
// slowdown:RATIO. One item may hold several, separated by spaces.
func ParseSLO(items []string) (SLO, error) {
	var s SLO
	bounds := [...]*time.Duration{&s.TTFT, &s.TTFTSend, &s.TPOT, &s.E2EL, &s.SCT, &s.Turn}
	for _, item := range items {
		for _, clause := range strings.Fields(item) {
			name, text, found := strings.Cut(clause, ":")
			if !found {
				return SLO{}, fmt.Errorf("goodput clause %q: write METRIC:MILLISECONDS, such as ttft:2000", clause)
			}
			if name == slowdown {
				if err := s.slow(text); err != nil {
					return SLO{}, fmt.Errorf("goodput clause %q: %w", clause, err)
				}
				continue
			}
			i := metricIndex(name)
			if i < 0 {
				return SLO{}, fmt.Errorf("goodput clause %q: metric %q is unknown: use one of %s, %s", clause, name, strings.Join(sloMetrics[:], ", "), slowdown)
			}
			if *bounds[i] != 0 {
				return SLO{}, fmt.Errorf("goodput clause %q: %s was already given as %s:%s: leave one out", clause, name, name, millis(*bounds[i]))
			}
			d, err := parseMillis(text)
			if err != nil {
				return SLO{}, fmt.Errorf("goodput clause %q: %w", clause, err)
			}
			*bounds[i] = d
		}
	}
	return s, nil
}

// slow reads the bound of the slowdown.
func (s *SLO) slow(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(v > 0) || v > 1e6:
		return fmt.Errorf("%q is no bound of a ratio: give a number up to 1e6, such as 2", text)
	case s.Slowdown != 0:
		return fmt.Errorf("slowdown was already given as %v: leave one out", s.Slowdown)
	}
	s.Slowdown = v
	return nil
}

func metricIndex(name string) int {
	for i, m := range sloMetrics {
		if m == name {
			return i
		}
	}
	return -1
}

func parseMillis(text string) (time.Duration, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a number of milliseconds", text)
	}
	const most = 1e12 // about 31 years, well inside a Duration
	ns := math.Round(v * 1e6)
	if ns < 1 || v > most {
		return 0, fmt.Errorf("%s ms is no bound: give a positive number up to %g", text, most)
	}
	return time.Duration(ns), nil
}

func millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/1e6, 'f', -1, 64)
}

// String prints the clauses in the form that ParseSLO reads, "" if there are none.
func (s SLO) String() string {
	var out []string
	for i, b := range s.bounds() {
		if b != 0 {
			out = append(out, sloMetrics[i]+":"+millis(b))
		}
	}
	if s.Slowdown != 0 {
		out = append(out, slowdown+":"+strconv.FormatFloat(s.Slowdown, 'f', -1, 64))
	}
	return strings.Join(out, " ")
}

func (s SLO) bounds() [len(sloMetrics)]time.Duration {
	return [...]time.Duration{s.TTFT, s.TTFTSend, s.TPOT, s.E2EL, s.SCT, s.Turn}
}

// OfRequests is the part that each request is promised.
func (s SLO) OfRequests() SLO {
	s.SCT, s.Turn, s.Slowdown = 0, 0, 0
	return s
}

// OfSessions reports whether sessions are promised something of their own.
func (s SLO) OfSessions() bool { return s != s.OfRequests() }

// Met reports whether r got all that s promises. Only a success can; every other
// outcome is a miss, except that of a censored request, or of one that was given up on
// purpose, which is unknown, as is everything if nothing was promised. A clause that cannot
// apply (TPOT of a one-token answer, or of one that came whole) is skipped; one whose metric
// was not observed, though it exists, leaves the answer unknown unless another clause is
// missed.
func (s SLO) Met(r *record.Request) record.Tri {
	if s.OfRequests() == (SLO{}) || r.Outcome == record.Censored || r.Outcome == record.Canceled {
		return record.Unknown
	}
	if r.Outcome != record.OK {
		return record.No
	}
	values := [...]int64{r.TTFT(), r.TTFTSend(), r.TPOT(), r.E2E()}
	needs := [...]int32{1, 1, 2, 1} // output tokens without which there is no such metric
	if r.LastToken.Known() && r.LastToken == r.FirstToken {
		values[2] = 0 // it came whole: its user waited for none of the further tokens
	}
	met := record.Yes
	bounds := s.bounds()
	for i, bound := range bounds[:ofRequest] {
		switch {
		case bound == 0:
		case values[i] != record.Null:
			if values[i] > int64(bound) {
				return record.No
			}
		case r.OutputTokens == record.Null32 || r.OutputTokens >= needs[i]:
			met = record.Unknown
		}
	}
	return met
}
