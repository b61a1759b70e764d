package shaper

import (
	"slices"

	"goodput/loadgen/clock"
)

// sessionCap lets so many requests of a session, or of a tenant, go on at once. Further
// ones wait; others pass them by. Requests of none are not bounded.
type sessionCap struct {
	named
	most, room int
	byTenant   bool
	used       map[uint64]int
	wait       []*Request
}

var _ Shaper = (*sessionCap)(nil)

func sessionCapEntry() entry {
	return entry{
		Info: Info{
			"session-cap", "lets so many requests of each session or tenant through at once",
			[]Param{{"most", "1", "requests of one at once"}, {"per", "session", "session or tenant"}, queue()},
		},
		build: func(a *args, _ uint64) Shaper {
			return &sessionCap{
				most: a.int("most", 1, most), room: a.int("queue", 0, most), byTenant: a.choice("per", "session", "tenant") == "tenant",
				used: map[uint64]int{}, named: a.named(),
			}
		},
	}
}

func (s *sessionCap) key(r *Request) uint64 {
	if s.byTenant {
		return r.Tenant
	}
	return r.Session
}

// free reports whether r may go on.
func (s *sessionCap) free(r *Request) bool { return s.key(r) == 0 || s.used[s.key(r)] < s.most }

// Offer implements Shaper.
func (s *sessionCap) Offer(r *Request, _ clock.Time) Decision {
	switch {
	case s.free(r): // then nobody of its session waits
		s.used[s.key(r)]++
		return Decision{}
	case len(s.wait) >= s.room:
		return full(noRoom)
	}
	s.wait = append(s.wait, r)
	return Decision{Kind: Hold}
}

// Next implements Shaper.
func (s *sessionCap) Next(clock.Time) (*Request, Decision, bool) {
	i := slices.IndexFunc(s.wait, s.free)
	if i < 0 {
		return nil, Decision{}, false
	}
	r := s.wait[i]
	s.wait = slices.Delete(s.wait, i, i+1)
	s.used[s.key(r)]++
	return r, Decision{}, true
}

// Done implements Shaper.
func (s *sessionCap) Done(r *Request, _ clock.Time) {
	if s.used[s.key(r)]--; s.used[s.key(r)] == 0 {
		delete(s.used, s.key(r))
	}
}

// Cancel implements Shaper.
func (s *sessionCap) Cancel(r *Request) {
	s.wait = slices.DeleteFunc(s.wait, func(w *Request) bool { return w == r })
}
