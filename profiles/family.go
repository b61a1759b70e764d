package profiles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Family is the kind of serving engine to which a GPU profile belongs: versions of
// an engine whose steps cost about the same. Those of 2023 had no CUDA graphs, or
// kernels since replaced; vllm-v0 is vLLM before its rewrite. An engine of which
// nothing is known is its own family.
func Family(engine, version string) string {
	engine = strings.ToLower(strings.TrimSpace(engine))
	minor, zero := minorVersion(version)
	switch {
	case strings.HasPrefix(engine, "vllm"):
		switch {
		case strings.Contains(engine, "2023"), zero && minor < 5:
			return "vllm-2023"
		case zero && minor < 8:
			return "vllm-v0"
		}
		return "vllm"
	case strings.HasPrefix(engine, "trtllm"), strings.HasPrefix(engine, "tensorrt"):
		if zero && minor < 8 {
			return "trtllm-2023"
		}
		return "trtllm"
	case strings.HasPrefix(engine, "lmdeploy"):
		return "lmdeploy-2023"
	}
	return engine
}

// Overlaps says whether an engine prepares a step while the last one runs, so that
// the host's work hides behind the GPU's: vLLM since 0.14, TensorRT-LLM since its
// overlap scheduler, SGLang. An unstated version counts as one that does not.
func Overlaps(engine, version string) bool {
	switch Family(engine, version) {
	case "trtllm", "sglang":
		return true
	case "vllm":
		minor, zero := minorVersion(version)
		return zero && minor >= 14
	}
	return false
}

// minorVersion is the second number of a version of the form 0.N, and whether it has
// that form.
func minorVersion(version string) (minor int, zero bool) {
	rest, ok := strings.CutPrefix(version, "0.")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(digits)
	return n, err == nil
}

// LoadGPUUnder returns the profile of a GPU under a family of engines: that of the
// name GPU@family if there is one, otherwise the GPU's own, which is vLLM's. own
// says that the measurements behind it are of the family.
func LoadGPUUnder(gpu, family string) (g GPU, own bool, err error) {
	if name := gpu + "@" + family; slices.Contains(GPUs(), name) {
		g, err = LoadGPU(name)
		return g, true, err
	}
	if g, err = LoadGPU(gpu); err != nil {
		return g, false, fmt.Errorf("under %s: %w", family, err)
	}
	return g, slices.Contains(g.Covered.Families, family), nil
}
