package trace

import (
	"io"
	"math"
	"time"

	"goodput/datasets"
	"goodput/loadgen/rng"
)

// weka reads agent sessions as published by WEKA: one JSON value for each session,
// with the requests of the main agent and, nested, those of its sub-agents. Times
// are seconds since the session's start; when sessions arrived is not said, so that
// all of a file start at once. Hash ids name blocks within one session.
//
// The times of a sub-agent count from its start, or from the session's start: a file
// is taken to keep to what its first sub-agent shows. A marker stands at the start of
// its sub-agent; where that would let sub-agents run on beside the main agent's next
// request, and all fit in if markers stand at the end, they stand at the end.
type weka struct {
	d     *documents
	clock wekaClock
	rows  []Row
	names map[string]int
}

// wekaClock is where the times of sub-agents count from.
type wekaClock int

const (
	clockUnknown wekaClock = iota
	clockRelative
	clockAbsolute
)

func newWeka(r io.Reader, path string, _ Options) (source, error) {
	d, err := newDocuments(r, path)
	if err != nil {
		return nil, err
	}
	return &weka{d: d, names: map[string]int{}}, nil
}

func (*weka) traits() Traits {
	return Traits{Timed: true, Recorded: true, Waits: true, Identified: true}
}

// wekaSession is one value of the file.
type wekaSession struct {
	ID       *string       `json:"id"`
	Block    int           `json:"block_size"`
	Requests []wekaRequest `json:"requests"`
}

// wekaRequest is a request, or the marker of a sub-agent with requests of its own.
type wekaRequest struct {
	T          *float64      `json:"t"`
	Type       string        `json:"type"`
	In         *int          `json:"in"`
	Out        *int          `json:"out"`
	IDs        wekaIDs       `json:"hash_ids"`
	InputTypes []string      `json:"input_types"`
	API        float64       `json:"api_time"`
	Duration   float64       `json:"duration_ms"`
	Requests   []wekaRequest `json:"requests"`
}

func (w *weka) next(r *Row) error {
	for len(w.rows) == 0 {
		raw, err := w.d.next()
		if err != nil {
			return err
		}
		var s wekaSession
		if err := w.d.object(raw, &s); err != nil {
			return err
		}
		if err := w.open(&s); err != nil {
			w.rows = nil
			return err
		}
	}
	*r = w.rows[0]
	w.rows = w.rows[1:]
	return nil
}

// wekaThread is where a thread stands while its requests are read.
type wekaThread struct {
	index, steps int
	end          float64 // of its last request, in s since the session's start
	ids          []int64 // of its last request
	in           int
	children     []int // threads that the next step waits for, and their end
	joined       float64
}

// open turns a session into rows.
func (w *weka) open(s *wekaSession) error {
	if s.ID == nil || s.Requests == nil {
		return w.d.errorf("row", "found no id or no requests, expected both in every session")
	}
	if s.Block < 1 || s.Block > 1<<16 {
		return w.d.errorf("block_size", "found %d, expected a whole number from 1 to %d", s.Block, 1<<16)
	}
	name := *s.ID
	if _, twice := w.names[name]; twice {
		return w.d.errorf("id", "found session %q twice, expected it once", name)
	}
	w.names[name] = len(w.names)
	b := wekaBuilder{w: w, name: name, block: s.Block, keys: rng.Of(0, "weka block "+name), atEnd: markersAtEnd(s.Requests)}
	main := &wekaThread{}
	for i := range s.Requests {
		q := &s.Requests[i]
		if q.T == nil || !(*q.T >= 0 && *q.T < math.MaxInt64/2e9) {
			return w.d.errorf("t", "found no time from 0 on in request %d, expected it in every request", i)
		}
		var err error
		if q.Type == "subagent" {
			err = b.agent(main, q, i)
		} else {
			err = b.request(main, q, *q.T)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// wekaBuilder makes the rows of one session.
type wekaBuilder struct {
	w       *weka
	name    string
	block   int
	keys    rng.Family
	threads int  // sub-agents so far
	atEnd   bool // markers stand at the end of their sub-agent
}

// markersAtEnd tells where the markers of a session stand.
func markersAtEnd(all []wekaRequest) bool {
	startFits, endFits := true, true
	last := 0.0         // when the main agent's last request ended
	next := math.Inf(1) // when its next one starts, going backwards
	ends := make([]float64, len(all))
	for i := range all {
		if q := &all[i]; q.Type != "subagent" && q.T != nil {
			last = *q.T + q.API
		}
		ends[i] = last
	}
	for i := len(all) - 1; i >= 0; i-- {
		q := &all[i]
		switch {
		case q.T == nil:
		case q.Type != "subagent":
			next = *q.T
		default:
			startFits = startFits && *q.T+q.Duration/1e3 <= next
			endFits = endFits && *q.T-q.Duration/1e3 >= ends[i] && *q.T <= next
		}
	}
	return !startFits && endFits
}

// agent reads the requests of a sub-agent, which starts when the main agent's last
// request has ended.
func (b *wekaBuilder) agent(main *wekaThread, q *wekaRequest, number int) error {
	if len(q.Requests) == 0 {
		return nil // nothing was asked
	}
	first := math.Inf(1)
	for i := range q.Requests {
		if q.Requests[i].T == nil || !(*q.Requests[i].T >= 0 && *q.Requests[i].T < math.MaxInt64/2e9) {
			return b.w.d.errorf("t", "found no time from 0 on in request %d of sub-agent %d, expected it in every request", i, number)
		}
		first = min(first, *q.Requests[i].T)
	}
	offset, err := b.w.offset(*q.T, first, number)
	if err != nil {
		return err
	}
	end := *q.T + q.Duration/1e3
	if b.atEnd {
		end = *q.T
		if offset > 0 {
			offset -= q.Duration / 1e3
		}
	}
	b.threads++
	th := &wekaThread{index: b.threads, end: main.end}
	for i := range q.Requests {
		if err := b.request(th, &q.Requests[i], offset+*q.Requests[i].T); err != nil {
			return err
		}
	}
	for i := len(b.w.rows) - len(q.Requests); i < len(b.w.rows); i++ {
		b.w.rows[i].Parent, b.w.rows[i].Spawn = 0, main.steps-1
	}
	b.w.rows[len(b.w.rows)-len(q.Requests)].Trigger = datasets.BySpawn
	main.children = append(main.children, th.index)
	main.joined = max(main.joined, th.end, end)
	return nil
}

// offset is what is added to the times of a sub-agent whose marker is at marker and
// whose first request at first.
func (w *weka) offset(marker, first float64, number int) (float64, error) {
	if w.clock == clockUnknown && marker > 0 {
		w.clock = clockAbsolute
		if first < marker {
			w.clock = clockRelative
		}
	}
	if w.clock != clockAbsolute {
		return marker, nil
	}
	if first < marker {
		return 0, w.d.errorf("t", "found %v in sub-agent %d, before its marker at %v, in a file whose times count from the session's start", first, number, marker)
	}
	return 0, nil
}

// request appends the row of a request at t seconds.
func (b *wekaBuilder) request(th *wekaThread, q *wekaRequest, t float64) error {
	d := b.w.d
	if q.In == nil || q.Out == nil || *q.In < 1 || *q.Out < 1 || *q.In > datasets.MaxTokens || *q.Out > datasets.MaxTokens {
		return d.errorf("in", "found no lengths from 1 to %d at t %v of session %s, expected in and out in every request", datasets.MaxTokens, t, b.name)
	}
	full := *q.In / b.block
	if n := len(q.IDs); n != full && n != (*q.In+b.block-1)/b.block {
		return d.errorf("hash_ids", "found %d ids at t %v of session %s, expected %d, one for each full block of %d tokens of an input of %d", n, t, b.name, full, b.block, *q.In)
	}
	if !(q.API >= 0 && q.API < 1e9 && q.Duration >= 0) {
		return d.errorf("api_time", "found %v, expected a number of seconds that is not negative", q.API)
	}
	r := Row{
		Line: d.line, Session: b.name, Thread: th.index, Parent: -1, Spawn: -1, Join: -1,
		At: int64(math.Round(t * 1e9)), In: *q.In, Out: *q.Out,
	}
	common := 0
	for common < full && common < th.in/b.block && q.IDs[common] == th.ids[common] {
		common++
	}
	r.Keep = common * b.block
	r.Append = blocks(nil, b.keys, q.IDs[common:full], b.block, *q.In)
	if tail := *q.In - full*b.block; tail > 0 {
		// What is behind the last full block has no id, and is nobody else's.
		own := rng.New(uint64(th.index), "weka tail "+b.name, uint64(th.steps))
		r.Append = append(r.Append, datasets.Span{Key: own.Uint64(), Tokens: tail})
	}
	for _, kind := range q.InputTypes {
		if kind == "tool_result" {
			r.Trigger = datasets.ByTool
		}
	}
	after := th.end
	if len(th.children) > 0 && t >= th.joined {
		r.Trigger, after = datasets.ByJoin, max(th.end, th.joined)
		b.join(th)
	}
	if th.steps > 0 || th.index > 0 {
		r.Before = time.Duration(max(0, t-after) * 1e9)
	}
	th.ids, th.in, th.end = q.IDs, *q.In, t+q.API
	th.steps++
	b.w.rows = append(b.w.rows, r)
	return nil
}

// join notes that the next step of the main agent waits for its sub-agents. A step
// that starts before they end does not.
func (b *wekaBuilder) join(th *wekaThread) {
	for i := range b.w.rows {
		for _, child := range th.children {
			if b.w.rows[i].Thread == child {
				b.w.rows[i].Join = th.steps
			}
		}
	}
	th.children, th.joined = nil, 0
}
