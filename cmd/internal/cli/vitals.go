package cli

import (
	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/vitals"
)

// watch begins to watch this process. In virtual time it may be as busy as it likes.
func (s *session) watch() {
	if s.stamp != nil {
		s.vitals = vitals.Start()
	}
}

// unwatch ends that, before files are closed, and returns what was seen.
func (s *session) unwatch() *record.Generator {
	if s.vitals == nil {
		return nil
	}
	return s.vitals.Stop()
}

// spare is how many files a run opens beside its connections.
const spare = 64

// checkLimits refuses a load whose connections the system can't hold, as far as the
// plan says how many there are.
func checkLimits(p *plan.Plan, l vitals.Limits) error {
	most := max(p.MaxConcurrency, p.Concurrency)
	flag := "--max-concurrency"
	if p.Concurrency > 0 {
		flag = "--concurrency"
	}
	switch n := int64(most); {
	case !p.Remote() || n == 0:
	case l.Files >= 0 && n+max(l.Open, 0)+spare > l.Files:
		return exitf(exitUsage, "%s: %d connections and what else is open are more than the %d files that this process may open: lower it, or raise the limit (ulimit -n)", flag, n, l.Files)
	case l.Ports >= 0 && n > l.Ports:
		return exitf(exitUsage, "%s: %d connections are more than the %d local ports that the system gives to one address: lower it, or widen net.ipv4.ip_local_port_range", flag, n, l.Ports)
	}
	return nil
}
