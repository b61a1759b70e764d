package server

import "time"

// maxBounds is the length of the longest list of bounds: those of tokens up to 10^9.
const maxBounds = 28

// histogram counts values below fixed bounds. It is a value, so that a snapshot is
// an assignment.
type histogram struct {
	counts [maxBounds + 1]uint64 // not cumulative; the one after the last bound is +Inf
	sum    int64                 // in the unit of the observations: ns or tokens
}

// observe counts v, of which per make one of what the bounds are in.
func (h *histogram) observe(bounds []float64, v int64, per float64) {
	x := float64(v) / per
	i := 0
	for i < len(bounds) && x > bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += v
}

// The upper bounds of vLLM's histograms (vllm/v1/metrics/loggers.py). Of time they
// are in seconds.
func firstTokenBounds() []float64 {
	return []float64{
		0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
		1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
	}
}

func tokenBounds() []float64 {
	return []float64{
		0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75,
		1, 2.5, 5, 7.5, 10, 20, 40, 80,
	}
}

func requestBounds() []float64 {
	return []float64{
		0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60,
		120, 240, 480, 960, 1920, 7680,
	}
}

func iterationBounds() []float64 {
	return []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
}

func choicesBounds() []float64 { return []float64{1, 2, 5, 10, 20} }

// lengthBounds are 1, 2, 5, 10, ... up to the model's length in tokens.
func lengthBounds(most int) []float64 {
	var out []float64
	for decade := 1.0; ; decade *= 10 {
		for _, m := range [...]float64{1, 2, 5} {
			if m*decade > float64(most) || len(out) == maxBounds {
				return out
			}
			out = append(out, m*decade)
		}
	}
}

// The histograms of a replica, in order of exposition.
const (
	histPrompt = iota
	histGeneration
	histIteration
	histMaxGeneration
	histChoices
	histMaxTokens
	histTTFT
	histITL
	histTPOT
	histE2E
	histQueue
	histInference
	histPrefill
	histDecode
	histComputed
	histograms // their number
)

// family describes a histogram to readers.
type family struct {
	name, help string // without a name it is not shown
	bounds     []float64
	per        float64 // observations that make one of the unit of the bounds
}

// families are the histograms of a release, with a model of that length in tokens.
func families(release Release, modelLen int) [histograms]family {
	const ns = float64(time.Second)
	ttft, token, req, length := firstTokenBounds(), tokenBounds(), requestBounds(), lengthBounds(modelLen)
	out := [histograms]family{
		histPrompt:        {"vllm:request_prompt_tokens", "Prompt tokens.", length, 1},
		histGeneration:    {"vllm:request_generation_tokens", "Generated tokens.", length, 1},
		histIteration:     {"vllm:iteration_tokens_total", "Prompt and generated tokens of an engine step with output.", iterationBounds(), 1},
		histMaxGeneration: {"vllm:request_max_num_generation_tokens", "Tokens of a request's longest answer.", length, 1},
		histChoices:       {"vllm:request_params_n", "The parameter n.", choicesBounds(), 1},
		histMaxTokens:     {"vllm:request_params_max_tokens", "The parameter max_tokens, or what it stands for.", length, 1},
		histTTFT:          {"vllm:time_to_first_token_seconds", "From arrival to the first token.", ttft, ns},
		histITL:           {"vllm:inter_token_latency_seconds", "Between two outputs of a request.", token, ns},
		histTPOT:          {"vllm:request_time_per_output_token_seconds", "Mean time of a request's tokens after the first; 0 if there are none.", token, ns},
		histE2E:           {"vllm:e2e_request_latency_seconds", "From arrival to the last token.", req, ns},
		histQueue:         {"vllm:request_queue_time_seconds", "From queued to first scheduled.", req, ns},
		histInference:     {"vllm:request_inference_time_seconds", "From first scheduled to the last token.", req, ns},
		histPrefill:       {"vllm:request_prefill_time_seconds", "From first scheduled to the first token.", req, ns},
		histDecode:        {"vllm:request_decode_time_seconds", "From the first token to the last.", req, ns},
		histComputed:      {"vllm:request_prefill_kv_computed_tokens", "Prompt tokens that were not in a cache.", length, 1},
	}
	if release == V010 {
		out[histITL].name = "vllm:time_per_output_token_seconds"
		out[histTPOT].name, out[histComputed].name = "", ""
	}
	return out
}
