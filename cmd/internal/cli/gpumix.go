package cli

import (
	"fmt"
	"strconv"
	"strings"

	"goodput/fakeengine/engine"
	"goodput/fakeengine/steptime"
	"goodput/loadgen/plan"
)

// gpuMix is a pool whose replicas have different GPUs. Its methods serve a pool of equal
// ones, too, for which it is nil.
type gpuMix struct {
	groups []plan.GPUGroup
	setups []engineSetup // of the groups
	of     []int         // replica i's group
}

// newMixedSetup sets up each group of a mix. What all engines share is by the first one.
func newMixedSetup(p *plan.Plan) (engineSetup, error) {
	groups, err := plan.GPUs(p.GPU)
	if err != nil {
		return engineSetup{}, fmt.Errorf("--gpu: %w", err)
	}
	m := &gpuMix{groups: groups}
	var texts []string
	for g, group := range groups {
		one := *p
		one.GPU, one.Replicas = group.Name, group.Count
		s, err := newEngineSetup(&one)
		if err != nil {
			return s, err
		}
		m.setups = append(m.setups, s)
		for range group.Count {
			m.of = append(m.of, g)
		}
		texts = append(texts, fmt.Sprintf("%d: %s", group.Count, s.text))
	}
	out := m.setups[0]
	out.mix, out.text = m, strings.Join(texts, "; ")
	for _, s := range m.setups[1:] {
		out.derived = out.derived || s.derived
	}
	out.step = func(i int) steptime.Model { return m.setups[m.group(i)].step(i) }
	return out, nil
}

// group is that of replica i; what the mix does not number is as its last group.
func (m *gpuMix) group(i int) int {
	if i < len(m.of) {
		return m.of[i]
	}
	return len(m.setups) - 1
}

// vary makes an engine's configuration that of its replica.
func (m *gpuMix) vary() func(i int, c *engine.Config) {
	if m == nil {
		return nil
	}
	return func(i int, c *engine.Config) { *c = m.setups[m.group(i)].config }
}

// namer names replicas by their numbers and GPUs.
func (m *gpuMix) namer() func(i int) string {
	if m == nil {
		return nil
	}
	return func(i int) string { return strconv.Itoa(i) + "-" + m.groups[m.group(i)].Name }
}

// blocks is the number of KV blocks of replica i; all is the configuration of equal ones.
func (m *gpuMix) blocks(i int, all *engine.Config) int {
	if m == nil {
		return all.NumGPUBlocks
	}
	return m.setups[m.group(i)].config.NumGPUBlocks
}

// blockText is the number of KV blocks of a replica, or of those of each group.
func (m *gpuMix) blockText(all *engine.Config) string {
	if m == nil {
		return strconv.Itoa(all.NumGPUBlocks)
	}
	var out []string
	for _, s := range m.setups {
		if n := strconv.Itoa(s.config.NumGPUBlocks); len(out) == 0 || out[len(out)-1] != n {
			out = append(out, n)
		}
	}
	return strings.Join(out, " or ")
}

// cached is the number of KV blocks in which all replicas together keep prefixes.
func (m *gpuMix) cached() int {
	n := 0
	for _, g := range m.of {
		c := &m.setups[g].config
		n += c.NumGPUBlocks - 1 + c.Offload.Blocks
	}
	return n
}
