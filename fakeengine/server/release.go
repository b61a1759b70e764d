package server

import "fmt"

// Release is a release of vLLM, as far as its metrics tell it from others.
type Release uint8

// The releases, the latest first: it is the one meant by default.
//
//   - V019 counts prompt tokens by source (vllm-project/vllm pull request 33290,
//     February 2026) and has the finish reason "repetition" (35451, in 0.17).
//   - V015 has neither, but request_prefill_kv_computed_tokens (30189, December
//     2025), inter_token_latency_seconds and request_time_per_output_token_seconds
//     (24110 and 24015, September 2025), and the finish reason "error" (26813).
//   - V010, as of July 2025, has the latency of tokens as
//     time_per_output_token_seconds, and the metrics of the cache under their old
//     names beginning with gpu_ as well (removed by 29330 in 0.12).
const (
	V019 Release = iota
	V015
	V010
)

// ParseRelease reads the name of an engine and its release, such as vllm@0.19.
func ParseRelease(name string) (Release, error) {
	for _, r := range []Release{V019, V015, V010} {
		if name == r.String() {
			return r, nil
		}
	}
	return 0, fmt.Errorf("the metrics of engine %q are not known: use %v, %v or %v", name, V010, V015, V019)
}

// String is the name that ParseRelease reads.
func (r Release) String() string {
	return [...]string{V019: "vllm@0.19", V015: "vllm@0.15", V010: "vllm@0.10"}[r]
}

// never are the reasons for an end that the release counts, and that nothing here
// ends for.
func (r Release) never() []string {
	switch r {
	case V010:
		return nil
	case V015:
		return []string{"error"}
	}
	return []string{"error", "repetition"}
}
