package shaper

import "goodput/loadgen/clock"

// priority lets the request with the smallest priority number go on first, and of equal
// ones the oldest. A full line refuses the newcomer, or the last in it if the newcomer
// ranks before that, as the flow control of llm-d evicts: lowest priority, then newest.
type priority struct {
	named
	line
}

var _ Shaper = (*priority)(nil)

func priorityEntry() entry {
	return entry{
		Info: Info{
			"priority", "lets so many requests through, those with the smallest priority first; a full queue drops the last of it (llm-d flow control)",
			[]Param{inFlight(), queue()},
		},
		build: func(a *args, _ uint64) Shaper {
			return &priority{line: line{most: a.int("in-flight", 1, most), room: a.int("queue", 0, most)}, named: a.named()}
		},
	}
}

const noRoom = "the queue in front of the router is full"

// Offer implements Shaper.
func (p *priority) Offer(r *Request, _ clock.Time) Decision {
	if p.enter(r, int64(r.Priority)) {
		return Decision{Kind: Hold}
	}
	last := len(p.wait) - 1
	if last < 0 || p.wait[last].key <= int64(r.Priority) {
		return full(noRoom)
	}
	p.out = append(p.out, p.wait[last].r)
	p.wait = p.wait[:last]
	p.enter(r, int64(r.Priority))
	return Decision{Kind: Hold}
}

// Next implements Shaper.
func (p *priority) Next(clock.Time) (*Request, Decision, bool) {
	if r, ok := p.refused(); ok {
		return r, full("a request that ranks before it took its place in the queue"), true
	}
	r, ok := p.next()
	return r, Decision{}, ok
}
