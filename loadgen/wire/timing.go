package wire

import (
	"math"
	"strconv"
	"strings"
)

// TimingHeader is where a server says how long parts of an answer took, of a stream in a
// trailer, since its header leaves before they are known.
const TimingHeader = "Server-Timing"

// UnknownTiming marks a duration that a Timing does not tell.
const UnknownTiming = int64(-1)

// Timing is a server's account of one answer, in nanoseconds.
type Timing struct{ Queue, Prefill, Decode, TTFT, E2E int64 }

// timingNames are those of its parts in the header (W3C Server-Timing). They are unlike
// those that proxies and content delivery networks give, which mean other things.
var timingNames = [...]string{"llm-queue", "llm-prefill", "llm-decode", "llm-ttft", "llm-e2e"}

func (t *Timing) parts() [len(timingNames)]*int64 {
	return [...]*int64{&t.Queue, &t.Prefill, &t.Decode, &t.TTFT, &t.E2E}
}

// Append appends the header's value, in milliseconds to the nanosecond; unknown parts are
// left out.
func (t Timing) Append(dst []byte) []byte {
	start := len(dst)
	for i, v := range t.parts() {
		if *v < 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ", "...)
		}
		dst = append(dst, timingNames[i]...)
		dst = append(dst, ";dur="...)
		dst = strconv.AppendFloat(dst, float64(*v)/1e6, 'f', 6, 64)
	}
	return dst
}

// ParseTiming reads the values of the header. ok is false if they tell none of the parts;
// a part that is told twice, or is no duration, is unknown.
func ParseTiming(values []string) (t Timing, ok bool) {
	t = Timing{UnknownTiming, UnknownTiming, UnknownTiming, UnknownTiming, UnknownTiming}
	var told [len(timingNames)]int
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			name, rest, _ := strings.Cut(item, ";")
			for i, known := range timingNames {
				if !strings.EqualFold(strings.TrimSpace(name), known) {
					continue
				}
				told[i]++
				*t.parts()[i] = durationOf(rest)
			}
		}
	}
	for i, v := range t.parts() {
		if told[i] > 1 {
			*v = UnknownTiming
		}
		ok = ok || *v >= 0
	}
	return t, ok
}

// durationOf is what the parameter dur says, in nanoseconds.
func durationOf(params string) int64 {
	for p := range strings.SplitSeq(params, ";") {
		name, v, found := strings.Cut(p, "=")
		if !found || !strings.EqualFold(strings.TrimSpace(name), "dur") {
			continue
		}
		ms, err := strconv.ParseFloat(strings.Trim(strings.TrimSpace(v), `"`), 64)
		if err != nil || !(ms >= 0 && ms < 1e12) {
			return UnknownTiming
		}
		return int64(math.Round(ms * 1e6))
	}
	return UnknownTiming
}
