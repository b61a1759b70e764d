package server

import (
	"net/http"
	"strings"

	"goodput/loadgen/clock"
	"goodput/loadgen/wire"
)

// tellTiming adds the engine's account of an ended answer to its header, or, with
// http.TrailerPrefix, to its trailer, which only those get that ask for one (RFC 9110,
// 6.5.1). Of several choices there is no one account.
func (x *exchange) tellTiming(prefix string) {
	s := x.srv
	if s.wallAt == nil || len(x.st.choices) != 1 || prefix == http.TrailerPrefix && !wantsTrailer(x.r.Header) {
		return
	}
	t := x.truthOf(0)
	took := func(from, to clock.Time) int64 {
		if !from.Known() || !to.Known() {
			return wire.UnknownTiming
		}
		return int64(s.wallAt(to).Sub(s.wallAt(from)))
	}
	told := wire.Timing{
		Queue: took(t.queued, t.scheduled), Prefill: took(t.scheduled, t.firstToken), Decode: took(t.firstToken, t.lastToken),
		TTFT: took(t.received, t.firstToken), E2E: took(t.received, t.lastToken),
	}
	if text := told.Append(nil); len(text) > 0 {
		x.w.Header()[prefix+wire.TimingHeader] = []string{string(text)}
	}
}

// wantsTrailer reports whether the client says that it reads trailers.
func wantsTrailer(h http.Header) bool {
	for _, v := range h["Te"] {
		for item := range strings.SplitSeq(v, ",") {
			name, _, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(name), "trailers") {
				return true
			}
		}
	}
	return false
}
