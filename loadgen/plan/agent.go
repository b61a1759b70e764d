package plan

import "strings"

// IsAgent reports whether the named dataset plans sessions instead of requests.
func IsAgent(dataset string) bool { return dataset == "agent" }

// LiveHistory reports whether later steps of a session quote the answers that came.
func (p *Plan) LiveHistory() bool { return p.AgentHistory != "planned" }

// TokenHistory reports whether a server is asked for the numbers of an answer's tokens, for
// later steps to quote.
func (p *Plan) TokenHistory() bool { return p.Remote() && p.AgentHistory == "live-tokens" }

// checkAgent checks what sessions need, and what means nothing without them.
func (p *Plan) checkAgent(v *checker) {
	is, traced := IsAgent(p.DatasetName), IsTrace(p.DatasetName)
	v.ok(is || traced || p.SessionsRate == 0, "sessions-rate", "dataset %s has no sessions: use --request-rate, or --dataset-name agent", p.DatasetName)
	v.ok(is || traced || p.NumSessions == 0, "num-sessions", "dataset %s has no sessions: use --num-prompts, or --dataset-name agent", p.DatasetName)
	p.checkTraceSessions(v)
	p.checkLiveSessions(v)
	v.ok(is || p.AgentConfig == "", "agent-config", "dataset %s has no sessions: leave it out, or use --dataset-name agent", p.DatasetName)
	v.oneOf("agent-preset", p.AgentPreset, "coding", "coding-128k", "chat", "toolagent", "smoke")
	v.ok(!strings.HasPrefix(p.AgentOnError, "retry"), "agent-on-error", "%q: --retries says how often a request is tried again, steps of sessions among them; the step has failed when the last attempt has", p.AgentOnError)
	if !strings.HasPrefix(p.AgentOnError, "retry") {
		v.oneOf("agent-on-error", p.AgentOnError, "abort", "continue")
	}
	v.oneOf("agent-cache-scope", p.AgentScope, "run", "session", "none")
	v.oneOf("agent-history", p.AgentHistory, "planned", "live", "live-tokens")
	p.checkHistory(v)
	v.within("agent-max-inflight", p.AgentInFlight, 0, 1<<16)
	v.within("num-sessions", p.NumSessions, 0, 1<<31-1)
	v.span("sessions-drain", p.SessionsDrain)
	r := p.SessionsRate
	v.ok(r.Inf() || r == 0 || r >= 1e-6 && r <= 1e6, "sessions-rate", "%v is outside 1e-6 to 1e6 a second", r)
	v.ok(!r.Inf() || p.NumSessions > 0 || p.Duration == 0 || traced, "num-sessions", "with --sessions-rate inf, say how many")
	v.ok(!r.Inf() || p.Arrival == "" || p.Arrival == "constant" || p.Arrival == "poisson", "sessions-rate",
		"inf sends all at once, so --arrival %s means nothing", p.Arrival)
	if !is {
		return
	}
	v.ok(p.RequestRate == 0, "request-rate", "sessions arrive at --sessions-rate, and their steps follow from that: leave it out")
	v.ok(p.NumPrompts == 0, "num-prompts", "the number of requests follows from the sessions: use --num-sessions")
	v.ok(r > 0 || p.SessionsConcurrency > 0, "sessions-rate", "how many sessions a second? give a number, or inf for all at once")
}

// checkHistory checks whether later prompts can quote answers of a server.
func (p *Plan) checkHistory(v *checker) {
	if !p.Remote() {
		return
	}
	switch p.AgentHistory {
	case "live":
		v.ok(!p.PromptTokenIDs, "agent-history", "live quotes text, and --prompt-token-ids sends numbers of tokens: use live-tokens")
	case "live-tokens":
		v.ok(p.PromptTokenIDs, "agent-history", "live-tokens quotes numbers of tokens: add --prompt-token-ids (completions only), or use live, which quotes the text")
	}
}

// checkLiveSessions checks how many sessions are live.
func (p *Plan) checkLiveSessions(v *checker) {
	is := IsAgent(p.DatasetName) || IsTrace(p.DatasetName) && p.TraceSessions != SessionsOpen
	n := p.SessionsConcurrency
	v.within("max-live-sessions", p.MaxLiveSessions, 0, 1<<20)
	v.within("sessions-concurrency", n, 0, 1<<20)
	v.oneOf("sessions-overflow", p.SessionsOverflow, "queue", "drop")
	v.ok(p.ServiceRate >= 1e-3 && p.ServiceRate <= 1e6, "service-rate", "%v tokens per second is outside 0.001 to 1e6", p.ServiceRate)
	v.span("service-delay", p.ServiceDelay)
	v.ok(is || n == 0, "sessions-concurrency", "dataset %s is not run in sessions: leave it out", p.DatasetName)
	v.ok(is || p.MaxLiveSessions == 0, "max-live-sessions", "dataset %s is not run in sessions: leave it out", p.DatasetName)
	v.ok(p.SessionsOverflow != "drop" || p.MaxLiveSessions > 0, "sessions-overflow", "without --max-live-sessions none is dropped: give it, or leave this out")
	v.ok(n == 0 || p.SessionsRate == 0, "sessions-rate", "in the closed loop of --sessions-concurrency a session begins where another ends: give one of them")
	v.ok(n == 0 || p.MaxLiveSessions == 0, "max-live-sessions", "--sessions-concurrency says how many are live: give one of them")
	v.ok(n == 0 || p.Arrival == "", "arrival", "in the closed loop of --sessions-concurrency nothing arrives by a process: leave it out")
	if p.StationaryStart {
		v.ok(IsAgent(p.DatasetName), "stationary-start", "it is for --dataset-name agent, whose past can be planned: leave it out")
		v.ok(!p.SessionsRate.Inf(), "stationary-start", "sessions that arrive all at once have no steady state: give --sessions-rate a number")
		v.ok(p.MaxLiveSessions == 0, "stationary-start", "what a queue for --max-live-sessions has left is not known beforehand: leave one of them out")
	}
}

// How the sessions of a trace run.
const (
	SessionsClosed = "closed"
	SessionsOpen   = "open"
)

// checkTraceSessions checks how the sessions of a trace are to run.
func (p *Plan) checkTraceSessions(v *checker) {
	if p.TraceSessions == "" && (p.SessionsRate == 0 && p.NumSessions == 0 && p.SessionsConcurrency == 0 || !IsTrace(p.DatasetName)) {
		return
	}
	if p.TraceSessions != "" {
		v.oneOf("trace-sessions", p.TraceSessions, SessionsClosed, SessionsOpen)
		v.ok(IsTrace(p.DatasetName), "trace-sessions", "dataset %s is generated: it replays no trace", p.DatasetName)
	}
	if p.TraceSessions == SessionsOpen {
		v.ok(p.SessionsRate == 0, "sessions-rate", "with --trace-sessions open each step is sent by itself: use --request-rate")
		v.ok(p.NumSessions == 0, "num-sessions", "with --trace-sessions open each step is sent by itself: use --num-prompts")
		return
	}
	v.ok(p.RequestRate == 0, "request-rate", "sessions arrive at --sessions-rate, and their steps follow from that: leave it out, or use --trace-sessions open")
	v.ok(p.NumPrompts == 0, "num-prompts", "the number of requests follows from the sessions: use --num-sessions, or --trace-sessions open")
	v.ok(p.TraceSpeed == 1 || p.SessionsRate == 0, "trace-speed", "--sessions-rate sets the speed already: give one of them")
}

// InSessions reports whether the load is sessions whose steps wait for each other. Of
// a trace it is known once TraceSessions is resolved.
func (p *Plan) InSessions() bool {
	return IsAgent(p.DatasetName) || p.TraceSessions == SessionsClosed
}
