package promscrape

import (
	"strings"

	"goodput/loadgen/record"
)

// alias is one name of a signal. Where a page has several, the one that comes first in
// the list of the dialect counts.
type alias struct {
	signal  record.Signal
	name    string
	label   string // "": any series of the name; otherwise those with label=value
	value   string
	highest bool // of several series the highest counts, not their sum
}

// dialect is the set of names of one program.
type dialect struct {
	name    string
	role    record.SampleRole
	aliases []alias
}

func one(s record.Signal, names ...string) []alias {
	var out []alias
	for _, n := range names {
		out = append(out, alias{signal: s, name: n})
	}
	return out
}

// share is a level from 0 to 1, which is not to be summed.
func share(s record.Signal, names ...string) []alias {
	out := one(s, names...)
	for i := range out {
		out[i].highest = true
	}
	return out
}

// counter is a counter by its name with _total, which Python's client adds and
// documents leave out.
func counter(s record.Signal, names ...string) []alias {
	var out []alias
	for _, n := range names {
		out = append(out, alias{signal: s, name: n}, alias{signal: s, name: strings.TrimSuffix(n, "_total")})
	}
	return out
}

// labelled are the series of a name by a label.
func labelled(s record.Signal, name, label, value string) []alias {
	return []alias{{signal: s, name: name, label: label, value: value}}
}

// timing are the sum and count of a histogram, by its names.
func timing(sum, count record.Signal, names ...string) []alias {
	var out []alias
	for _, n := range names {
		out = append(out, alias{signal: sum, name: n + "_sum"}, alias{signal: count, name: n + "_count"})
	}
	return out
}

func join(lists ...[]alias) []alias {
	var out []alias
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// dialects are what engines and routers call things.
func dialects() []dialect {
	started := share(record.SignalStarted, "process_start_time_seconds")
	out := []dialect{vllm(), sglang(), trtllm(), triton(), tgi(), dynamo(), llmd()}
	for i := range out {
		out[i].aliases = append(out[i].aliases, started...)
	}
	return out
}

// vllm is vLLM (vllm/v1/metrics/loggers.py), with the names from before 0.9 and 0.11;
// llm-d-inference-sim and goodput serve have them, too.
func vllm() dialect {
	return dialect{"vllm", record.SampleEngine, join(
		one(record.SignalRunning, "vllm:num_requests_running"),
		one(record.SignalWaiting, "vllm:num_requests_waiting"),
		labelled(record.SignalWaitingCapacity, "vllm:num_requests_waiting_by_reason", "reason", "capacity"),
		labelled(record.SignalWaitingDeferred, "vllm:num_requests_waiting_by_reason", "reason", "deferred"),
		share(record.SignalKVUsage, "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
		counter(record.SignalPrefixQueries, "vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
		counter(record.SignalPrefixHits, "vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
		counter(record.SignalPreemptions, "vllm:num_preemptions_total"),
		counter(record.SignalPromptTokens, "vllm:prompt_tokens_total"),
		counter(record.SignalGenerationTokens, "vllm:generation_tokens_total"),
		counter(record.SignalRequestsDone, "vllm:request_success_total"),
		counter(record.SignalSpecDrafts, "vllm:spec_decode_num_drafts_total"),
		counter(record.SignalSpecDrafted, "vllm:spec_decode_num_draft_tokens_total"),
		counter(record.SignalSpecAccepted, "vllm:spec_decode_num_accepted_tokens_total"),
		timing(record.SignalTTFTSum, record.SignalTTFTCount, "vllm:time_to_first_token_seconds"),
		timing(record.SignalE2ESum, record.SignalE2ECount, "vllm:e2e_request_latency_seconds"),
		timing(record.SignalQueueSum, record.SignalQueueCount, "vllm:request_queue_time_seconds"),
		timing(record.SignalPrefillSum, record.SignalPrefillCount, "vllm:request_prefill_time_seconds"),
		timing(record.SignalDecodeSum, record.SignalDecodeCount, "vllm:request_decode_time_seconds"),
		timing(record.SignalTPOTSum, record.SignalTPOTCount, "vllm:request_time_per_output_token_seconds"),
	)}
}

// sglang is SGLang, whose prompt tokens are what its cache was asked for.
func sglang() dialect {
	return dialect{"sglang", record.SampleEngine, join(
		one(record.SignalRunning, "sglang:num_running_reqs"),
		one(record.SignalWaiting, "sglang:num_queue_reqs"),
		share(record.SignalKVUsage, "sglang:token_usage", "sglang:full_token_usage"),
		counter(record.SignalPrefixQueries, "sglang:prompt_tokens_total"),
		counter(record.SignalPrefixHits, "sglang:cached_tokens_total"),
		counter(record.SignalPreemptions, "sglang:num_retracted_requests_total"),
		counter(record.SignalPromptTokens, "sglang:prompt_tokens_total"),
		counter(record.SignalGenerationTokens, "sglang:generation_tokens_total"),
		counter(record.SignalRequestsDone, "sglang:num_requests_total"),
		timing(record.SignalTTFTSum, record.SignalTTFTCount, "sglang:time_to_first_token_seconds"),
		timing(record.SignalE2ESum, record.SignalE2ECount, "sglang:e2e_request_latency_seconds"),
		timing(record.SignalQueueSum, record.SignalQueueCount, "sglang:queue_time_seconds"),
		timing(record.SignalTPOTSum, record.SignalTPOTCount, "sglang:request_time_per_output_token_seconds"),
	)}
}

// trtllm is trtllm-serve; below Dynamo the names began with trtllm: once.
func trtllm() dialect {
	n := func(name string) []string { return []string{"trtllm_" + name, "trtllm:" + name} }
	return dialect{"trtllm", record.SampleEngine, join(
		one(record.SignalRunning, n("num_requests_running")...),
		one(record.SignalWaiting, n("num_requests_waiting")...),
		share(record.SignalKVUsage, n("kv_cache_utilization")...),
		counter(record.SignalPrefixQueries, n("prompt_tokens_total")...),
		counter(record.SignalPrefixHits, n("prompt_cached_tokens_total")...),
		counter(record.SignalPromptTokens, n("prompt_tokens_total")...),
		counter(record.SignalGenerationTokens, n("generation_tokens_total")...),
		counter(record.SignalRequestsDone, n("request_success_total")...),
		counter(record.SignalSpecDrafted, append(n("spec_decode_num_draft_tokens_total"), n("spec_decode_drafted_tokens_total")...)...),
		counter(record.SignalSpecAccepted, append(n("spec_decode_num_accepted_tokens_total"), n("spec_decode_accepted_tokens_total")...)...),
		timing(record.SignalTTFTSum, record.SignalTTFTCount, n("time_to_first_token_seconds")...),
		timing(record.SignalE2ESum, record.SignalE2ECount, n("e2e_request_latency_seconds")...),
		timing(record.SignalQueueSum, record.SignalQueueCount, n("request_queue_time_seconds")...),
		timing(record.SignalPrefillSum, record.SignalPrefillCount, n("request_prefill_time_seconds")...),
		timing(record.SignalDecodeSum, record.SignalDecodeCount, n("request_decode_time_seconds")...),
		timing(record.SignalTPOTSum, record.SignalTPOTCount, n("time_per_output_token_seconds")...),
	)}
}

// triton is Triton's TensorRT-LLM backend.
func triton() dialect {
	const requests, blocks = "nv_trt_llm_request_metrics", "nv_trt_llm_kv_cache_block_metrics"
	usage := labelled(record.SignalKVUsage, blocks, "kv_cache_block_type", "fraction")
	usage[0].highest = true
	return dialect{"triton", record.SampleEngine, join(
		labelled(record.SignalRunning, requests, "request_type", "scheduled"),
		labelled(record.SignalWaiting, requests, "request_type", "waiting"),
		usage,
	)}
}

// tgi is Text Generation Inference, whose KV cache is not told.
func tgi() dialect {
	return dialect{"tgi", record.SampleEngine, join(
		one(record.SignalRunning, "tgi_batch_current_size"),
		one(record.SignalWaiting, "tgi_queue_size"),
		one(record.SignalPromptTokens, "tgi_request_input_length_sum"),
		one(record.SignalGenerationTokens, "tgi_request_generated_tokens_sum"),
		counter(record.SignalRequestsDone, "tgi_request_success_total"),
		timing(record.SignalE2ESum, record.SignalE2ECount, "tgi_request_duration"),
		timing(record.SignalQueueSum, record.SignalQueueCount, "tgi_request_queue_duration"),
		timing(record.SignalTPOTSum, record.SignalTPOTCount, "tgi_request_mean_time_per_token_duration"),
	)}
}

// dynamo is the front end of Dynamo, which stands before its workers.
func dynamo() dialect {
	n := func(name string) string { return "dynamo_frontend_" + name }
	return dialect{"dynamo", record.SampleRouter, join(
		one(record.SignalRunning, n("inflight_requests")),
		one(record.SignalWaiting, n("queued_requests")),
		counter(record.SignalGenerationTokens, n("output_tokens_total")),
		counter(record.SignalRequestsDone, n("requests_total")),
		timing(record.SignalTTFTSum, record.SignalTTFTCount, n("time_to_first_token_seconds")),
		timing(record.SignalE2ESum, record.SignalE2ECount, n("request_duration_seconds")),
	)}
}

// llmd is the endpoint picker of llm-d, and of the Gateway API inference extension
// before it.
func llmd() dialect {
	n := func(name string) []string { return []string{"llm_d_epp_" + name, "inference_extension_" + name} }
	return dialect{"llm-d", record.SampleRouter, join(
		counter(record.SignalRequestsDone, "llm_d_epp_request_total", "inference_objective_request_total", "inference_model_request_total"),
		timing(record.SignalTTFTSum, record.SignalTTFTCount, n("request_ttft_seconds")...),
		timing(record.SignalE2ESum, record.SignalE2ECount, append(n("request_duration_seconds"), "inference_objective_request_duration_seconds", "inference_model_request_duration_seconds")...),
		timing(record.SignalQueueSum, record.SignalQueueCount, n("flow_control_request_queue_duration_seconds")...),
		timing(record.SignalTPOTSum, record.SignalTPOTCount, n("request_streaming_tpot_seconds")...),
	)}
}
