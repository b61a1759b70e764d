package cli

import (
	"fmt"
	"strings"

	"goodput/datasets/agent"
	"goodput/loadgen/dispatch"
	"goodput/loadgen/record"
)

// ofSessions reports whether some of the load is sessions.
func (s *session) ofSessions() bool {
	return s.sessions != nil || mixOf(s.set).ofSessions()
}

// ofSessions reports whether one of the classes is of sessions.
func (m *mix) ofSessions() bool {
	if m == nil {
		return false
	}
	for i := range m.parts {
		if m.parts[i].sessions != nil {
			return true
		}
	}
	return false
}

// openMixedSessions makes c offer the sessions of those classes that are of sessions. salt
// names the run. The load is waited for as its sessions are.
func (s *session) openMixedSessions(c *dispatch.Config, salt uint64) error {
	m := mixOf(s.set)
	if !m.ofSessions() {
		return nil
	}
	complete := map[string]func(*record.Session){}
	for i := range m.parts {
		x := &m.parts[i]
		if x.sessions == nil {
			continue
		}
		if err := x.sessions.scope(agent.Scope(x.plan.AgentScope), salt^x.plan.Seed); err != nil {
			return fmt.Errorf("class %s: %w", x.name, err)
		}
		if x.sessions.config != nil {
			if err := s.writer.WriteFile(classConfigName(i), x.sessions.config); err != nil {
				return fmt.Errorf("class %s: --agent-config: %w", x.name, err)
			}
		}
		own := dispatch.Config{Sessions: x.sessions, Assign: c.Classes[i].Assign, IgnoreEOS: x.plan.IgnoreEOS}
		own.MaxInFlight, own.Live, own.ContinueOnError = sessionTerms(&x.plan)
		var err error
		if complete[x.name], err = s.completer(&x.plan, x.sessions, x.slo, &own); err != nil {
			return fmt.Errorf("class %s: %w", x.name, err)
		}
	}
	c.Shapes, c.Drain = true, max(s.plan.Drain, s.plan.SessionsDrain)
	return s.logSessions(c, func(r *record.Session) { complete[r.Class](r) })
}

// classConfigName is the copy of the --agent-config of class i in a run directory.
func classConfigName(i int) string {
	stem, _, _ := strings.Cut(agentConfigName, ".")
	return fmt.Sprintf("%s-%d.yaml", stem, i+1)
}
