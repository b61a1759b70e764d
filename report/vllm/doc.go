// Package vllm tells a run in the words of vLLM's benchmark: its metrics by the
// definitions of that program's source (calculate_metrics and get_request of
// vllm/benchmarks/serve.py, and lib/endpoint_request_func.py), and the JSON that
// readers of its result files expect, with equal keys and units.
//
// It differs where that program would be wrong: what has no value is null and not 0,
// failures count as misses of the objective, and peak token rates count tokens and not
// chunks where the tokens of a chunk are known.
//
// It does not say what our own metrics are (package query), and it knows no texts of
// answers, which are not recorded.
package vllm
