package datasets

import "time"

// Trigger says what a step of a session follows on.
type Trigger uint8

// The triggers. The zero value is the usual first step of a session.
const (
	ByUser       Trigger = iota // text of the user
	ByTool                      // results of the tools that the previous answer called
	ByJoin                      // the end of sub-agents that the thread waited for
	ByCompaction                // the context grew too long: this step asks for its summary
	BySpawn                     // the first step of a sub-agent
)

var triggers = [...]string{"user", "tool", "join", "compaction", "spawn"}

// String is the trigger's name in files and tables.
func (t Trigger) String() string {
	if int(t) < len(triggers) {
		return triggers[t]
	}
	return "unknown"
}

// ParseTrigger is the inverse of String.
func ParseTrigger(name string) (t Trigger, ok bool) {
	for i, n := range triggers {
		if n == name {
			return Trigger(i), true
		}
	}
	return 0, false
}

// Step is the plan of one request within a session. Its prompt is given by what it
// keeps of the context before it, so that a session costs memory for new content
// only: the context of a step is its prompt followed by its Answer.
type Step struct {
	// Keep is how many leading tokens of the previous context stay: that of the
	// thread's previous step; for the first step of a sub-agent, that of the parent's
	// step Spawn (0: a fresh context). Less than all of it is a compaction, a rewind
	// or an answer that is not sent back.
	Keep int
	// Append is the content that follows what is kept.
	Append []Span
	// In and Out are the tokens of the prompt (Keep and Append together) and of the
	// answer asked for, both at least 1.
	In, Out int
	// Reasoning are the first tokens of the answer that are a model's reasoning; they
	// stay in the context with the others.
	Reasoning int
	// OutKey names the answer's content.
	OutKey uint64
	// Wait is the planned time from the end of what the step waits for (the thread's
	// previous step and the threads that join here; for a thread's first step the
	// step that spawned it, or the session's arrival) to its own start.
	Wait time.Duration
	// At is the recorded start, counted from the session's arrival; it means
	// something only in a Session that is Recorded.
	At time.Duration
	// Trigger says what the step follows on.
	Trigger Trigger
}

// Thread is one line of steps, each of which starts after the end of the one
// before: the main agent or a sub-agent.
type Thread struct {
	// Parent is the index of the spawning thread, lower than the thread's own; -1
	// for the main thread.
	Parent int
	// Spawn is the step of the parent whose end lets the thread start. -1: it starts
	// with the parent (and in the main thread).
	Spawn int
	// Join is the step of the parent that waits for the thread's end; -1: none does.
	Join  int
	Steps []Step
	// First is the number of Steps[0] within the thread: more than 0 if others ended
	// before the run (Session.Underway).
	First int
}

// Session is the plan of a whole session, fixed before it starts. How long the
// server takes changes when a step runs, never what it holds.
type Session struct {
	// ID names the session within its set, from 1; Name is what the source calls it,
	// which may be empty.
	ID   uint64
	Name string
	// Tenant is the group whose sessions share their first content; 0 is none.
	Tenant uint32
	// At is the arrival, counted from the first session's. It means something only
	// if the set is Timed.
	At time.Duration
	// Recorded says that the steps' At were observed and not planned.
	Recorded bool
	// Underway says that the session began before the run: Threads holds what is left
	// of it then, and each first step all of the context before it.
	Underway bool
	// Threads holds the main thread first, and parents before their children.
	Threads []Thread
}

// Steps is the number of requests of all threads.
func (s *Session) Steps() int {
	n := 0
	for i := range s.Threads {
		n += len(s.Threads[i].Steps)
	}
	return n
}

// SessionSet is a finite sequence of session plans. Implementations are immutable
// after construction and safe for concurrent use.
type SessionSet interface {
	// Sessions is the number of sessions.
	Sessions() int
	// Session fills dst with session i, 0 <= i < Sessions, overwriting all of it.
	// Sessions are in order of arrival if they have arrivals.
	Session(i int, dst *Session)
}

// Cut appends the first tokens tokens of the spans to dst, or all of them if there
// are fewer.
func Cut(dst, spans []Span, tokens int) []Span {
	for _, s := range spans {
		if tokens <= 0 {
			break
		}
		s.Tokens = min(s.Tokens, tokens)
		tokens -= s.Tokens
		dst = append(dst, s)
	}
	return dst
}

// Prompt appends the step's prompt to dst. context is the prompt and the answer
// that the step's Keep counts in.
func (s *Step) Prompt(dst, context []Span) []Span {
	return append(Cut(dst, context, s.Keep), s.Append...)
}

// Answer is the planned answer as later prompts quote it.
func (s *Step) Answer() Span { return Span{Key: s.OutKey, Tokens: s.Out, Role: Assistant} }

// Context appends the step's prompt and answer to dst, given the context before
// it: what the next step of the thread builds upon.
func (s *Step) Context(dst, context []Span) []Span {
	return append(s.Prompt(dst, context), s.Answer())
}
