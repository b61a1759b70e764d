package monitor

import (
	"cmp"
	"slices"
	"strconv"

	"goodput/loadgen/clock"
	"goodput/loadgen/record"
)

// tables fills in what is told of the latest requests.
func (b *Board) tables(p *Picture, now clock.Time, g *Gauges) {
	since := int64(now) - int64(p.Window)
	rs := newReplicas(g)
	var w where
	b.each(func(s *Sample) {
		if int64(s.At) < since || int64(s.At) > int64(now) || !b.filter.match(s) {
			return
		}
		rs.add(s)
		w.add(s)
	})
	p.Replicas, p.Skew = rs.table(g)
	p.Spans = w.spans()
	p.Sessions = b.sessionTable(g)
}

// replicas gathers the requests of each replica.
type replicas struct {
	by    map[string]*gathered
	total int64
}

type gathered struct {
	n, cached, prompt int64
	ttft              []Nanos
	where             where
}

func newReplicas(g *Gauges) *replicas {
	rs := &replicas{by: map[string]*gathered{}}
	if g != nil {
		for i := range g.Replicas {
			rs.by[g.Replicas[i].Name] = new(gathered)
		}
	}
	return rs
}

func (rs *replicas) add(s *Sample) {
	if s.Replica == "" {
		return
	}
	x := rs.by[s.Replica]
	if x == nil {
		x = new(gathered)
		rs.by[s.Replica] = x
	}
	x.n++
	rs.total++
	x.where.add(s)
	if s.CachedTokens.Known() && s.PromptTokens > 0 {
		x.cached, x.prompt = x.cached+int64(s.CachedTokens), x.prompt+int64(s.PromptTokens)
	}
	if s.TTFT.Known() {
		x.ttft = append(x.ttft, s.TTFT)
	}
}

func (rs *replicas) table(g *Gauges) ([]Replica, Number) {
	var out []Replica
	most := int64(0)
	for name, x := range rs.by {
		most = max(most, x.n)
		out = append(out, Replica{
			Name: name, Requests: x.n, Share: over(float64(x.n), float64(rs.total)),
			Hit: over(float64(x.cached), float64(x.prompt)), TTFT: exact(x.ttft), Stale: Unknown, Spans: x.where.spans(),
		})
	}
	slices.SortFunc(out, func(a, b Replica) int { return byNumber(a.Name, b.Name) })
	if g != nil {
		for i := range out {
			out[i].level(g)
		}
	}
	return out, over(float64(most*int64(len(out))), float64(rs.total))
}

// level takes the levels of the replica from g.
func (r *Replica) level(g *Gauges) {
	i := slices.IndexFunc(g.Replicas, func(x ReplicaGauge) bool { return x.Name == r.Name })
	if i < 0 {
		return
	}
	x := &g.Replicas[i]
	r.Levels, r.Running, r.Waiting, r.KVUsed = true, x.Running, x.Waiting, x.KVUsed
	r.Outstanding, r.Preemptions, r.Stale = x.Outstanding, x.Preemptions, x.Stale
	if x.QueryTokens > 0 && !r.Hit.Known() {
		r.Hit = over(float64(x.HitTokens), float64(x.QueryTokens))
	}
}

// byNumber orders names that are numbers by these, before all others.
func byNumber(a, b string) int {
	x, errX := strconv.Atoi(a)
	y, errY := strconv.Atoi(b)
	switch {
	case errX == nil && errY == nil:
		return cmp.Compare(x, y)
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// exact are the nearest ranks of v, which it sorts.
func exact(v []Nanos) Quantiles {
	out := Quantiles{N: int64(len(v)), P50: Unknown, P95: Unknown, P99: Unknown}
	if len(v) == 0 {
		return out
	}
	slices.Sort(v)
	at := func(perMille int) Nanos { return v[max(1, (len(v)*perMille+999)/1000)-1] }
	out.P50, out.P95, out.P99 = at(500), at(950), at(990)
	return out
}

// where adds up where the time of successes went.
type where struct {
	n, covered int64
	e2e        int64
	parts      [8]total
}

type total struct{ n, sum int64 }

func (t *total) add(v Nanos) {
	if v.Known() {
		t.n++
		t.sum += int64(v)
	}
}

func (w *where) add(s *Sample) {
	if !s.E2E.Known() {
		return
	}
	w.n++
	if !s.ServerE2E.Known() {
		return
	}
	w.covered++
	w.e2e += int64(s.E2E)
	parts := [...]Nanos{s.Lag, s.Connect, s.FrontEnd, s.Queue, s.Prefill, s.Decode, s.Other}
	rest := s.E2E
	for i, v := range parts {
		w.parts[i].add(v)
		if v.Known() {
			rest -= v
		}
	}
	w.parts[len(parts)].add(rest)
}

// spans are the means over all that are covered: a part that a request does not have
// took it no time, so that the parts sum to the whole.
func (w *where) spans() Spans {
	out := Spans{N: w.n, Covered: w.covered, E2E: Unknown}
	if w.covered > 0 {
		out.E2E = Nanos(w.e2e / w.covered)
	}
	for i, name := range [...]string{"lag", "connect", "front end", "queue", "prefill", "decode", "other server", "router, network"} {
		mean := Unknown
		if w.parts[i].n > 0 {
			mean = Nanos(w.parts[i].sum / w.covered)
		}
		out.Parts = append(out.Parts, Span{name, mean})
	}
	return out
}

// sessionRow copies what s tells.
func sessionRow(s *record.Session) SessionRow {
	slowdown := None()
	if x, ok := s.Slowdown(); ok {
		slowdown = Number(x)
	}
	return SessionRow{
		ID: s.SessionID, Tenant: s.Tenant, Outcome: s.Outcome.String(),
		Arrival: Nanos(s.Arrival), Ended: Nanos(s.Ended), SCT: Nanos(s.SCT), ModelTime: Nanos(s.ModelTime), WaitTime: Nanos(s.WaitTime),
		Slowdown: slowdown, StepsPlanned: s.StepsPlanned, StepsOK: s.StepsOK, StepsFailed: s.StepsFailed,
	}
}

func (b *Board) sessionTable(g *Gauges) Sessions {
	out := Sessions{Known: len(b.ended) > 0}
	if g != nil && g.Sessions != (SessionGauge{}) {
		out.Known, out.Levels, out.Counts, out.Seen = true, true, g.Sessions, g.Seen
		for i := range g.Live {
			if s := &g.Live[i]; b.filter.session(s.ID, s.Tenant) {
				out.Live = append(out.Live, *s)
			}
		}
	}
	var sct []Nanos
	for i := len(b.ended) - 1; i >= 0; i-- {
		s := &b.ended[i]
		if !b.filter.session(s.ID, s.Tenant) {
			continue
		}
		out.Ended = append(out.Ended, *s)
		if s.SCT.Known() {
			sct = append(sct, s.SCT)
		}
	}
	out.SCT = exact(sct)
	return out
}
