package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// GPUGroup is a number of replicas in a row whose GPUs have one profile.
type GPUGroup struct {
	// Count is how many there are; 0: all that the plan has.
	Count int
	Name  string
}

// maxGPUGroups bounds the parts of a mix.
const maxGPUGroups = 64

// GPUs reads a value of GPU: one profile for all replicas, such as h100-sxm, or a mix in
// the order of the replicas' numbers, such as 3*h100-sxm,1*a100-sxm-80gb.
func GPUs(text string) ([]GPUGroup, error) {
	if !strings.ContainsAny(text, "*,") {
		return []GPUGroup{{Name: text}}, nil
	}
	var out []GPUGroup
	for part := range strings.SplitSeq(text, ",") {
		count, name, ok := strings.Cut(strings.TrimSpace(part), "*")
		n, err := strconv.Atoi(count)
		if !ok || err != nil || n < 1 || n > 4096 || name == "" || strings.Contains(name, "*") {
			return nil, fmt.Errorf("%q in %q is not COUNT*PROFILE with a count from 1 to 4096: write a mix as 3*h100-sxm,1*a100-sxm-80gb", part, text)
		}
		if len(out) == maxGPUGroups {
			return nil, fmt.Errorf("%q has more than %d parts", text, maxGPUGroups)
		}
		out = append(out, GPUGroup{n, name})
	}
	return out, nil
}

// FirstGPU is the profile of replica 0, or the text itself if it can't be read.
func FirstGPU(text string) string {
	groups, err := GPUs(text)
	if err != nil {
		return text
	}
	return groups[0].Name
}

// MixedReplicas is how many replicas a mix of GPUs has; 0: GPU is no mix.
func (p *Plan) MixedReplicas() int {
	groups, err := GPUs(p.GPU)
	n := 0
	if err == nil {
		for _, g := range groups {
			n += g.Count
		}
	}
	return n
}

// checkGPUs checks a mix of GPUs.
func (p *Plan) checkGPUs(v *checker) {
	_, err := GPUs(p.GPU)
	v.ok(err == nil, "gpu", "%v", err)
	n := p.MixedReplicas()
	if n == 0 {
		return
	}
	v.ok(p.Replicas == n, "replicas", "%d is not the sum of the mix in --gpu, %d: leave it out", p.Replicas, n)
	v.ok(!p.Split(), "gpu", "a mix has no link between two kinds of GPU: name one profile, or leave out --prefill-replicas and --decode-replicas")
	v.ok(p.EngineStepTable == "", "gpu", "kernel times of --engine.step-table are of one GPU: name one profile")
}
