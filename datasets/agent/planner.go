package agent

import (
	"time"

	"goodput/datasets"
	"goodput/loadgen/rng"
)

// purposes are what random numbers are for: each has a stream of its own in each
// session.
var purposes = [...]string{
	"tenant", "turns", "steps", "init", "user", "tool", "assistant", "tool wait", "human wait",
	"fan-out", "sub-agent shape", "sub-agent tool", "sub-agent assistant", "sub-agent wait", "compaction", "break", "content", "reasoning",
}

// Indices of purposes.
const (
	forTenant = iota
	forTurns
	forSteps
	forInit
	forUser
	forTool
	forAssistant
	forWait
	forHuman
	forFanout
	forSubShape
	forSubTool
	forSubAssistant
	forSubWait
	forCompaction
	forBreak
	forContent
	forReasoning
)

type streams struct{ of [len(purposes)]rng.Family }

func newStreams(seed uint64) streams {
	var s streams
	for i, name := range purposes {
		s.of[i] = rng.Of(seed, "agent "+name)
	}
	return s
}

// planner plans one session.
type planner struct {
	set    *Set
	dst    *datasets.Session
	salt   uint64
	stream [len(purposes)]rng.Stream
	spans  []datasets.Span // room for content of steps
}

func (p *planner) streams(i uint64) {
	for k := range p.stream {
		p.stream[k] = p.set.streams.of[k].Stream(i)
	}
}

// plan fills dst with session i.
func (p *planner) plan(i int) {
	d := p.dst
	threads := d.Threads[:0]
	tenant := p.set.tenants.draw(&p.stream[forTenant]) + 1
	*d = datasets.Session{ID: uint64(i) + 1, Tenant: uint32(tenant), Threads: threads}
	p.thread(-1, -1)
	p.main()
	for k := range d.Threads {
		if !p.spawns(k) {
			p.markPrivate(&d.Threads[k])
		}
	}
}

// spawns reports whether a thread starts with what the last step of thread k leaves.
func (p *planner) spawns(k int) bool {
	last := len(p.dst.Threads[k].Steps) - 1
	for i := range p.dst.Threads {
		if t := &p.dst.Threads[i]; t.Parent == k && t.Spawn == last {
			return true
		}
	}
	return false
}

// main plans the main thread, and the sub-agents on the way.
func (p *planner) main() {
	set := p.set
	most := set.cfg.Shape.MaxSteps
	if most == 0 {
		most = mostSteps
	}
	turns := set.dist.turns.tokens(&p.stream[forTurns], 1)
	done := 0
	for turn := range turns {
		for k := range set.dist.steps.tokens(&p.stream[forSteps], 1) {
			if done == most {
				return
			}
			switch {
			case turn == 0 && k == 0:
				p.first()
			case k == 0:
				n := set.dist.user.tokens(&p.stream[forUser], 1)
				if !p.follow(datasets.ByUser, 0, n, p.human()) {
					return
				}
			default:
				if !p.afterTools() {
					return
				}
			}
			done++
		}
	}
}

// first plans the first step of the main thread.
func (p *planner) first() {
	c, d := &p.set.cfg, &p.set.dist
	room := c.limit() - c.prefix()
	user := min(d.user.tokens(&p.stream[forUser], 1), room)
	init := d.init.tokens(&p.stream[forInit], 0)
	if f := c.Context.ResumeFraction; f > 0 && p.stream[forInit].Float64() < f {
		init = d.resume.tokens(&p.stream[forInit], 0)
	}
	s := p.step(0, datasets.ByUser)
	tenant := uint64(p.dst.Tenant)
	p.add(s, datasets.System, p.shared("agent global", 0), c.Context.GlobalPrefix)
	p.add(s, datasets.System, p.shared("agent system", tenant), c.Context.System)
	p.add(s, datasets.System, p.shared("agent tools", tenant), c.Context.Tools)
	p.add(s, datasets.User, p.content(), min(init, room-user))
	p.add(s, datasets.User, p.content(), user)
	p.answer(s, &d.assistant, forAssistant)
}

// afterTools plans a step that follows on tools or on sub-agents; false: the session
// ends before it.
func (p *planner) afterTools() bool {
	f := &p.set.cfg.Fanout
	tokens := p.set.dist.tool.tokens(&p.stream[forTool], 1)
	calls, wait := p.toolWait(forWait)
	if f.Probability == 0 || p.stream[forFanout].Float64() >= f.Probability {
		return p.follow(datasets.ByTool, calls, tokens, wait)
	}
	from := len(p.dst.Threads)
	p.fanOut()
	if f.Join == None {
		return p.follow(datasets.ByTool, calls, tokens, wait)
	}
	join := len(p.dst.Threads[0].Steps)
	returned := 0
	for k := from; k < len(p.dst.Threads); k++ {
		p.dst.Threads[k].Join = join
		returned += p.set.dist.giveBack.tokens(&p.stream[forFanout], 1)
	}
	if p.follow(datasets.ByJoin, len(p.dst.Threads)-from, returned, 0) {
		return true
	}
	// No step is left to wait for them.
	for k := from; k < len(p.dst.Threads); k++ {
		p.dst.Threads[k].Join = -1
	}
	return false
}

// follow plans the next step of the main thread, which adds so many tokens: results of
// calls, or the user's text if there are none. false: they do not fit into the context.
func (p *planner) follow(t datasets.Trigger, calls, tokens int, wait time.Duration) bool {
	c := &p.set.cfg
	last := p.last(0)
	kept := last.In + last.Out
	if kept+tokens > c.limit() {
		if c.Compaction.At == 0 {
			return false
		}
		p.compact(t, kept, wait)
		return true
	}
	s := p.step(0, t)
	s.Wait, s.Keep, s.In = wait, kept, kept
	if c.PrefixBreak > 0 && p.stream[forBreak].Float64() < c.PrefixBreak && kept > c.prefix() {
		s.Keep, s.In = c.prefix(), c.prefix()
		p.add(s, datasets.User, p.content(), kept-c.prefix())
	}
	p.append(s, calls, tokens)
	p.answer(s, &p.set.dist.assistant, forAssistant)
	return true
}

// compact plans the request for a summary, if there is one, and the step that goes
// on with it. What the step would have added is in what is attached.
func (p *planner) compact(t datasets.Trigger, kept int, wait time.Duration) {
	c, d := &p.set.cfg, &p.set.dist
	room := c.limit() - c.prefix()
	key := p.content()
	summary := min(d.summary.tokens(&p.stream[forCompaction], 0), room)
	if c.Compaction.Request {
		s := p.step(0, datasets.ByCompaction)
		s.Wait, s.Keep, s.In = wait, kept, kept
		p.add(s, datasets.User, p.content(), c.Compaction.Instruction)
		summary = max(summary, 1)
		s.Out, s.OutKey = summary, key
		wait = 0
	}
	s := p.step(0, t)
	s.Wait, s.Keep, s.In = wait, c.prefix(), c.prefix()
	p.add(s, datasets.User, key, summary)
	p.add(s, datasets.User, p.content(), min(d.reattach.tokens(&p.stream[forCompaction], 0), room-summary))
	if s.In == 0 {
		p.add(s, datasets.User, p.content(), 1)
	}
	p.answer(s, &d.assistant, forAssistant)
}

// fanOut plans sub-agents that start when the main thread's last step has ended.
func (p *planner) fanOut() {
	f, d := &p.set.cfg.Fanout, &p.set.dist
	kind := uint64(p.stream[forFanout].IntN(f.Types))
	kind += uint64(p.dst.Tenant) * uint64(f.Types)
	for range min(d.width.tokens(&p.stream[forFanout], 1), mostParallel) {
		k := p.thread(0, len(p.dst.Threads[0].Steps)-1)
		s := p.step(k, datasets.BySpawn)
		if f.Context == Fork {
			last := p.last(0)
			s.Keep = last.In + last.Out
			s.In = s.Keep
		} else {
			p.add(s, datasets.System, p.shared("agent type", kind), f.Prefix)
		}
		p.add(s, datasets.User, p.content(), d.task.tokens(&p.stream[forSubShape], 1))
		p.answer(s, &d.assistant, forSubAssistant)
		for range min(d.subSteps.tokens(&p.stream[forSubShape], 1), mostSteps) - 1 {
			last := p.last(k)
			kept := last.In + last.Out
			tokens := d.subTool.tokens(&p.stream[forSubTool], 1)
			if kept+tokens > p.set.cfg.limit() {
				break // a sub-agent returns what it has rather than compact
			}
			s := p.step(k, datasets.ByTool)
			calls, wait := p.toolWait(forSubWait)
			s.Wait, s.Keep, s.In = wait, kept, kept
			p.append(s, calls, tokens)
			p.answer(s, &d.assistant, forSubAssistant)
		}
	}
}

// toolWait is the number of parallel calls of one step, and the longest of them.
func (p *planner) toolWait(purpose int) (calls int, longest time.Duration) {
	c, d := &p.set.cfg, &p.set.dist
	s := &p.stream[purpose]
	calls = min(d.calls.tokens(s, 1), mostParallel)
	for range calls {
		longest = max(longest, capped(d.wait.sample(s), c.Wait.ToolCap))
	}
	return calls, longest
}

func (p *planner) human() time.Duration {
	return capped(p.set.dist.human.sample(&p.stream[forHuman]), 0)
}

// mostWait is the longest wait in seconds that is taken as it was drawn.
const mostWait = 30 * 24 * 3600

func capped(seconds float64, most time.Duration) time.Duration {
	d := time.Duration(min(seconds, mostWait) * 1e9)
	if most > 0 {
		d = min(d, most)
	}
	return d
}

// shared is the key of content that other sessions use too.
func (p *planner) shared(what string, id uint64) uint64 {
	s := rng.New(p.set.seed, what, id)
	return s.Uint64() ^ p.salt
}

// content is a key that nothing else has.
func (p *planner) content() uint64 { return p.stream[forContent].Uint64() ^ p.salt }

// thread adds a thread and returns its index.
func (p *planner) thread(parent, spawn int) int {
	t := &p.dst.Threads
	k := len(*t)
	if k < cap(*t) {
		*t = (*t)[:k+1]
	} else {
		*t = append(*t, datasets.Thread{})
	}
	(*t)[k] = datasets.Thread{Parent: parent, Spawn: spawn, Join: -1, Steps: (*t)[k].Steps[:0]}
	return k
}

func (p *planner) last(thread int) *datasets.Step {
	s := p.dst.Threads[thread].Steps
	return &s[len(s)-1]
}

// step adds a step to a thread; the pointer is good until the next one is added.
func (p *planner) step(thread int, t datasets.Trigger) *datasets.Step {
	steps := &p.dst.Threads[thread].Steps
	k := len(*steps)
	if k < cap(*steps) {
		*steps = (*steps)[:k+1]
	} else {
		*steps = append(*steps, datasets.Step{})
	}
	s := &(*steps)[k]
	*s = datasets.Step{Append: s.Append[:0], Trigger: t}
	if cap(s.Append) == 0 {
		s.Append = p.room(usualSpans)
		if k == 0 {
			s.Append = p.room(firstSpans)
		}
	}
	return s
}

// Spans of a step: a broken prefix and what follows, or the parts that a session
// begins with.
const (
	usualSpans = 2
	firstSpans = 5
	spanSlab   = 128
)

// room is an empty slice for n spans.
func (p *planner) room(n int) []datasets.Span {
	if cap(p.spans)-len(p.spans) < n {
		p.spans = make([]datasets.Span, 0, spanSlab)
	}
	at := len(p.spans)
	p.spans = p.spans[:at+n]
	return p.spans[at : at : at+n]
}

// add appends content to the step's prompt.
func (p *planner) add(s *datasets.Step, role datasets.Role, key uint64, tokens int) {
	if tokens > 0 {
		s.Append = append(s.Append, datasets.Span{Key: key, Tokens: tokens, Role: role})
		s.In += tokens
	}
}

// append is add of what the step follows on: results of calls, or the user's text if
// there are none.
func (p *planner) append(s *datasets.Step, calls, tokens int) {
	if calls == 0 {
		p.add(s, datasets.User, p.content(), tokens)
		return
	}
	p.add(s, datasets.Tool, p.content(), tokens)
	if n := len(s.Append); tokens > 0 {
		s.Append[n-1].Calls = uint8(min(calls, mostCalls))
	}
}

func (p *planner) answer(s *datasets.Step, length *sampler, purpose int) {
	s.Reasoning = p.set.dist.reasoning.tokens(&p.stream[forReasoning], 0)
	s.Out, s.OutKey = length.tokens(&p.stream[purpose], 1)+s.Reasoning, p.content()
}

// markPrivate marks what a thread's last step adds: nothing comes after it.
func (p *planner) markPrivate(t *datasets.Thread) {
	s := &t.Steps[len(t.Steps)-1]
	shared := 0
	if len(t.Steps) == 1 && s.Keep == 0 {
		shared = p.set.cfg.prefix()
		if t.Parent >= 0 {
			shared = p.set.cfg.Fanout.Prefix
		}
	}
	for i := range s.Append {
		if shared -= s.Append[i].Tokens; shared < 0 {
			s.Append[i].Private = true
		}
	}
}
