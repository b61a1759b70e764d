package query

import (
	"goodput/loadgen/record"
	"goodput/report/stats"
)

// Replica are the figures of the requests of the window that one replica answered,
// by its own account or the router's.
type Replica struct {
	Name string
	// N requests, of which so many succeeded or failed.
	N, OK, Failed int64
	// TTFT and E2E are those of successes, FailedAfter how long failures took from
	// leaving to their end, all in nanoseconds.
	TTFT, E2E, FailedAfter stats.Summary
	// Hit is the measured cache hit rate of the successes.
	Hit          Ratio
	OutputTokens int64
	Preemptions  int64 // by the accounts that there are
	// InFlight is the number of attempts at the ends of the bins of the timeline.
	InFlight []int64
}

// MostReplicas have figures of their own.
const MostReplicas = 64

type replicaReader struct {
	Replica
	ttft, e2e, failed stats.Sample
}

// replicas finds them in order of their names.
type replicas struct {
	byName map[string]int
	all    []*replicaReader
	others map[string]bool // beyond MostReplicas
}

// number is that of a replica, -1 if it is unknown or one too many.
func (s *replicas) number(name string) int {
	if name == "" {
		return -1
	}
	if i, ok := s.byName[name]; ok {
		return i
	}
	if len(s.all) == MostReplicas {
		if s.others == nil {
			s.others = map[string]bool{}
		}
		if len(s.others) < MostReplicas*MostReplicas {
			s.others[name] = true
		}
		return -1
	}
	if s.byName == nil {
		s.byName = map[string]int{}
	}
	s.byName[name] = len(s.all)
	s.all = append(s.all, &replicaReader{Replica: Replica{Name: name}})
	return len(s.all) - 1
}

// add takes the attempt that decides a request of the window.
func (r *replicaReader) add(row *record.Request) {
	r.N++
	if row.ServerSource != "" {
		r.Preemptions += known(row.ServerPreemptions)
	}
	switch row.Outcome {
	case record.OK:
	case record.Censored, record.Canceled:
		return
	default:
		r.Failed++
		if from, to, ok := underWay(row); ok {
			r.failed.Add(int64(to - from))
		}
		return
	}
	r.OK++
	r.OutputTokens += known(row.OutputTokens)
	r.Hit.hit(row.CachedTokens, row.PromptTokens)
	if v := row.TTFT(); v != record.Null {
		r.ttft.Add(v)
	}
	if v := row.E2E(); v != record.Null {
		r.e2e.Add(v)
	}
}

// finish returns those that answered anything in the window, in the order of their
// names (numbers by value).
func (s *replicas) finish(t *timeline) []Replica {
	var out []Replica
	for i, r := range s.all {
		r.TTFT, r.E2E, r.FailedAfter = r.ttft.Summary(), r.e2e.Summary(), r.failed.Summary()
		r.InFlight = t.levels(i)
		if r.N > 0 {
			out = append(out, r.Replica)
		}
	}
	sortByName(out)
	return out
}
