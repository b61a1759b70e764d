package observe

import "goodput/loadgen/record"

// MetSession reports whether a session got all that s promises: each of its steps what
// a request is promised, and the whole what a session is. Only a completed session can;
// of a censored one, or one that began before the run, it is unknown, as is everything if nothing was promised, and a
// clause whose metric is not known leaves it unknown unless another one is missed.
func (s SLO) MetSession(r *record.Session) record.Tri {
	if s == (SLO{}) || r.Outcome == record.SessionCensored || r.Underway {
		return record.Unknown
	}
	if r.Outcome != record.SessionCompleted {
		return record.No
	}
	met := record.Yes
	require := func(asked, known, held bool) {
		switch {
		case !asked || met == record.No:
		case !known:
			met = record.Unknown
		case !held:
			met = record.No
		}
	}
	missed := r.StepsMissed > 0
	require(s.OfRequests() != (SLO{}), missed || r.StepsMet == r.StepsPlanned, !missed)
	require(s.SCT > 0, r.SCT != record.Null, r.SCT <= int64(s.SCT))
	for _, t := range r.Turns {
		require(s.Turn > 0, true, t <= int64(s.Turn))
	}
	slower, known := r.Slowdown()
	require(s.Slowdown > 0, known, slower <= s.Slowdown)
	return met
}
