package engine

import (
	"goodput/fakeengine/steptime"
	"goodput/loadgen/clock"
)

// Builder makes the engines of a pool in order. Where a model is one of several
// ranks, so many engines in a row step together. The zero value is ready.
type Builder struct {
	group *Ranks // the last one; nil: none
}

// New makes the next engine. The model of a group is that of its first one.
func (b *Builder) New(cfg Config, m steptime.Model, loop clock.Loop) (*Engine, error) {
	ranked, ok := m.(steptime.Ranked)
	if !ok || ranked.Ranks() < 2 {
		return New(cfg, m, loop)
	}
	if b.group == nil || len(b.group.engines) == b.group.model.Ranks() {
		b.group = &Ranks{model: ranked, loop: loop, id: uint64(max(cfg.ID, 0))}
	}
	return b.group.add(cfg)
}
