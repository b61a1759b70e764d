package plan

// IsAgent reports whether the named dataset plans sessions instead of requests.
func IsAgent(dataset string) bool { return dataset == "agent" }

// LiveHistory reports whether later steps of a session quote the answers that came.
func (p *Plan) LiveHistory() bool { return p.AgentHistory != "planned" }

// checkAgent checks what sessions need, and what means nothing without them.
func (p *Plan) checkAgent(v *checker) {
	is, traced := IsAgent(p.DatasetName), IsTrace(p.DatasetName)
	v.ok(is || traced || p.SessionsRate == 0, "sessions-rate", "dataset %s has no sessions: use --request-rate, or --dataset-name agent", p.DatasetName)
	v.ok(is || traced || p.NumSessions == 0, "num-sessions", "dataset %s has no sessions: use --num-prompts, or --dataset-name agent", p.DatasetName)
	p.checkTraceSessions(v)
	v.ok(is || p.AgentConfig == "", "agent-config", "dataset %s has no sessions: leave it out, or use --dataset-name agent", p.DatasetName)
	v.oneOf("agent-preset", p.AgentPreset, "coding", "coding-128k", "chat", "toolagent", "smoke")
	v.oneOf("agent-on-error", p.AgentOnError, "abort", "continue")
	v.oneOf("agent-cache-scope", p.AgentScope, "run", "session", "none")
	v.oneOf("agent-history", p.AgentHistory, "planned", "live", "live-tokens")
	v.ok(p.BaseURL == "" || !p.LiveHistory(), "agent-history",
		"%q is for the engines in this process: use planned with --base-url, which sends the planned text and is the same for every server", p.AgentHistory)
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
	v.ok(r > 0, "sessions-rate", "how many sessions a second? give a number, or inf for all at once")
}

// How the sessions of a trace run.
const (
	SessionsClosed = "closed"
	SessionsOpen   = "open"
)

// checkTraceSessions checks how the sessions of a trace are to run.
func (p *Plan) checkTraceSessions(v *checker) {
	if p.TraceSessions == "" && (p.SessionsRate == 0 && p.NumSessions == 0 || !IsTrace(p.DatasetName)) {
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
