package plan

// IsAgent reports whether the named dataset plans sessions instead of requests.
func IsAgent(dataset string) bool { return dataset == "agent" }

// LiveHistory reports whether later steps of a session quote the answers that came.
func (p *Plan) LiveHistory() bool { return p.AgentHistory != "planned" }

// checkAgent checks what sessions need, and what means nothing without them.
func (p *Plan) checkAgent(v *checker) {
	is := IsAgent(p.DatasetName)
	v.ok(is || p.SessionsRate == 0, "sessions-rate", "dataset %s has no sessions: use --request-rate, or --dataset-name agent", p.DatasetName)
	v.ok(is || p.NumSessions == 0, "num-sessions", "dataset %s has no sessions: use --num-prompts, or --dataset-name agent", p.DatasetName)
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
	if !is {
		return
	}
	v.ok(p.RequestRate == 0, "request-rate", "sessions arrive at --sessions-rate, and their steps follow from that: leave it out")
	v.ok(p.NumPrompts == 0, "num-prompts", "the number of requests follows from the sessions: use --num-sessions")
	r := p.SessionsRate
	v.ok(r > 0, "sessions-rate", "how many sessions a second? give a number, or inf for all at once")
	v.ok(r.Inf() || r == 0 || r >= 1e-6 && r <= 1e6, "sessions-rate", "%v is outside 1e-6 to 1e6 a second", r)
	v.ok(!r.Inf() || p.NumSessions > 0 || p.Duration == 0, "num-sessions", "with --sessions-rate inf, say how many")
	v.ok(!r.Inf() || p.Arrival == "" || p.Arrival == "constant" || p.Arrival == "poisson", "sessions-rate",
		"inf sends all at once, so --arrival %s means nothing", p.Arrival)
}
