package datasets

import "time"

// Pace is how fast answers are taken to come where no server was asked yet.
type Pace struct {
	// Delay is the time of each answer beside its tokens; Rate is tokens per second.
	Delay time.Duration
	Rate  float64
}

// Answer is how long so many tokens take.
func (p Pace) Answer(tokens int) time.Duration {
	return p.Delay + time.Duration(float64(tokens)/p.Rate*1e9)
}

// Course is when the steps of a session end if answers come at a pace, from its
// arrival on. It is used again for other sessions.
type Course struct {
	pace Pace
	ends [][]time.Duration // by thread and step; a thread that never starts has none
}

// NewCourse returns a course at the pace.
func NewCourse(p Pace) *Course { return &Course{pace: p} }

// Run follows the session, and returns how long its main thread takes with those that
// it waits for.
func (c *Course) Run(s *Session) time.Duration {
	for len(c.ends) < len(s.Threads) {
		c.ends = append(c.ends, nil)
	}
	for k := range c.ends {
		c.ends[k] = c.ends[k][:0]
	}
	c.thread(s, 0, 0)
	return c.over(0)
}

// over is when the thread ends; 0 if it never starts.
func (c *Course) over(k int) time.Duration {
	if n := len(c.ends[k]); n > 0 {
		return c.ends[k][n-1]
	}
	return 0
}

// thread follows thread k from its birth.
func (c *Course) thread(s *Session, k int, at time.Duration) {
	c.spawn(s, k, -1, at)
	for n := range s.Threads[k].Steps {
		st := &s.Threads[k].Steps[n]
		for j := k + 1; j < len(s.Threads); j++ {
			if t := &s.Threads[j]; t.Parent == k && t.Join == n {
				at = max(at, c.over(j))
			}
		}
		at += st.Wait + c.pace.Answer(st.Out)
		c.ends[k] = append(c.ends[k], at)
		c.spawn(s, k, n, at)
	}
}

// spawn follows the threads that start with step n of thread k, or with k itself.
func (c *Course) spawn(s *Session, k, n int, at time.Duration) {
	for j := k + 1; j < len(s.Threads); j++ {
		if t := &s.Threads[j]; t.Parent == k && t.Spawn == n {
			c.thread(s, j, at)
		}
	}
}

// Resume leaves of the session that was last Run what is not over at the given age: of
// each thread the steps that had not ended, the first with all of its context, and
// what is left of the wait before it; a step that was being answered is asked anew. It
// returns false if the main thread is over. Threads are numbered anew.
func (c *Course) Resume(s *Session, age time.Duration) bool {
	n := len(s.Threads)
	done, born := make([]int, n), make([]bool, n)
	for k := range s.Threads {
		p := s.Threads[k].Parent
		born[k] = p < 0 || born[p] && s.Threads[k].Spawn < done[p]
		for done[k] < len(c.ends[k]) && c.ends[k][done[k]] <= age {
			done[k]++
		}
	}
	if done[0] == len(s.Threads[0].Steps) {
		return false
	}
	to := make([]int, n) // new numbers; -1: over
	var left []Thread
	for k := range s.Threads {
		if to[k] = -1; done[k] < len(s.Threads[k].Steps) {
			to[k] = len(left)
			left = append(left, c.rest(s, k, born[k], done, to, age))
		}
	}
	s.Threads, s.Underway = left, true
	return true
}

// rest is what is left of thread k, which may not have been born.
func (c *Course) rest(s *Session, k int, born bool, done, to []int, age time.Duration) Thread {
	t := s.Threads[k]
	if p := t.Parent; p >= 0 {
		t.Spawn = max(-1, t.Spawn-done[p])
		if t.Join >= 0 {
			t.Join -= done[p]
		}
		if t.Parent = to[p]; t.Parent < 0 {
			t.Parent, t.Join = 0, -1 // a parent that is over left it in the background
		}
	}
	from := done[k]
	t.First += from
	t.Steps = append([]Step(nil), t.Steps[from:]...)
	if !born {
		return t
	}
	st := &t.Steps[0]
	var context []Span
	if from > 0 {
		context = contextOf(s, k, from-1)
	} else if p := s.Threads[k].Parent; p >= 0 && s.Threads[k].Spawn >= 0 {
		context = contextOf(s, p, s.Threads[k].Spawn)
	}
	st.Append = st.Prompt(nil, context)
	st.Keep = 0
	if !c.joining(s, k, from, age) {
		st.Wait = max(0, c.ends[k][from]-c.pace.Answer(st.Out)-age)
	}
	return t
}

// joining reports whether step n of thread k still waits for sub-agents, so that none of
// its own wait is over.
func (c *Course) joining(s *Session, k, n int, age time.Duration) bool {
	for j := k + 1; j < len(s.Threads); j++ {
		if t := &s.Threads[j]; t.Parent == k && t.Join == n && c.over(j) > age {
			return true
		}
	}
	return false
}

// contextOf is the prompt and the answer of step n of thread k.
func contextOf(s *Session, k, n int) []Span {
	t := &s.Threads[k]
	var context []Span
	if t.Parent >= 0 && t.Spawn >= 0 && t.Steps[0].Keep > 0 {
		context = contextOf(s, t.Parent, t.Spawn)
	}
	for i := 0; i <= n; i++ {
		st := &t.Steps[i]
		context = append(Cut(context[:0], context, st.Keep), st.Append...)
		context = append(context, st.Answer())
	}
	return context
}
