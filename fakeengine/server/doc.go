// Package server puts fake engines behind an OpenAI-compatible HTTP API, in real
// time: what a router under test, or a load generator, takes for a pool of vLLM
// servers.
//
// It neither schedules (package engine) nor routes (package router), it has no
// model and understands no text, and it opens no port: it gives http.Handlers to
// whoever does.
//
// # Time
//
// The engines run on the loop. A handler is an ordinary goroutine: it posts its
// request into the loop and waits for a note that more tokens have been made. With
// ConnContext, streams over HTTP/1.1 are sent by a few goroutines for all of them, past
// net/http and without waiting, and a handler has to act only if its client does not read.
// Tokens are made at the ends of engine steps, which are absolute instants, so a
// stream does not drift however late single chunks are. All figures, those of
// the metrics and of the log too, are in loop time: on a loop of speed 10 they
// are ten times what a clock on the wall shows.
//
// # Endpoints
//
//	POST /v1/completions, /v1/chat/completions   text, whole or streamed
//	POST /v1/responses                           text, by events of a type each
//	POST /v1/embeddings                          a vector, made up; computed as a prompt
//	GET  /v1/models                              the model and the adapters
//	POST /v1/load_lora_adapter                   {"lora_name", "lora_path", "load_inplace"}
//	POST /v1/unload_lora_adapter                 {"lora_name"}
//	POST /tokenize                               {"prompt"} or {"messages"}: numbers of tokens
//	POST /reset_prefix_cache                     200, or 409 if requests hold blocks
//	GET  /metrics                                Prometheus text format, by vLLM's names;
//	                                             spec_decode's only if the engines speculate
//	GET  /health                                 200, or 503 while the server closes
//	GET  /version                                {"version"}
//
// Errors are {"error":{"message","type","param","code"}} as vLLM's. A request that
// can never run is 400, another model's name 404, a body of more than 32 MiB 413,
// one that finds a full queue (Config.MaxQueue) 429 with Retry-After, and
// everything new is 503 while the server closes. A port of all replicas loads
// adapters and resets caches on all of them; it finds an adapter only if all have
// it.
//
// Choices, where clients could expect something else:
//
//   - An answer has as many tokens as were asked for: there is no end of sequence,
//     so ignore_eos changes nothing. Only stop and stop_token_ids end it before
//     max_tokens, if its words happen to match them; then min_tokens and
//     include_stop_str_in_output mean what they do in vLLM. Without max_tokens a
//     completion has 16 tokens, and a chat goes on to the end of the model's
//     length, as in vLLM with a model that never stops.
//   - A stream has one event for the tokens of one engine step, the last with the
//     finish_reason. The status goes out when a replica has the request, the role
//     of a chat with the first token. A token's text is a space and four letters,
//     and depends on the request's id, the choice and the token's position only.
//     What may turn out to be part of a stop string is held back.
//   - n asks for up to 128 choices, each a sequence of its own in the same replica;
//     they share the prompt's blocks. usage counts the prompt once.
//   - logprobs have the shape of either API. Every word is as likely as any other,
//     so every logprob is -16 ln 2, and the alternatives are other words.
//   - return_token_ids adds token_ids to what a completion says: the numbers that
//     /tokenize has for its words, so that a prompt of numbers can quote it. Those of the
//     prompt, and of a chat, are left out.
//   - One prompt per request. echo, and a best_of that is not n, are refused;
//     sampling, tool_choice and response formats are ignored.
//   - usage has prompt_tokens_details.cached_tokens even if it is 0; with several
//     choices it is that of the first. stream_options knows include_usage and,
//     together with it, continuous_usage_stats.
//   - The id of an answer is made from X-Request-Id, which is echoed, or made up
//     if there was none. X-Goodput-Replica says which replica answered, and
//     X-Session-Id tells the policy which conversation the request belongs to.
//   - priority is for engines that schedule by it; elsewhere any but 0 is refused,
//     as vLLM's description of the field has it.
//   - With Engine.LoRA adapters have places on the GPU and cost time to load and to
//     run; loading one by name takes a place at once, and unloading frees it. Without,
//     there are none: their names are 404 as any other model's, and loading one is 400.
//     A request shares blocks with
//     those of the same adapter and the same cache_salt only.
//   - A reset of the prefix cache leaves what Engine.Offload holds in host memory, as
//     in vLLM.
//   - There is no /detokenize: the number of a token is a hash.
//   - A reset of the prefix cache that comes while a request holds blocks does
//     nothing, as in vLLM; but here the client is told so.
//   - A client that leaves takes its request out of the engine at once.
//
// # The shape of a chat's answer
//
// The header X-Goodput-Shape, which goodput run sends with each step of a chat whose
// plan says so, asks for an answer of several parts:
//
//	X-Goodput-Shape: reasoning=32,tool=16,calls=2
//
// The first 32 tokens are deltas of reasoning, the last 2 times 16 are tool calls of
// 16 tokens each, and what max_tokens leaves between them is content. Each part
// may be left out; calls is 1 if it is. The first token of a call is the name of a
// function (those of tools in turn, or "goodput"), the others are a JSON object with
// one text. Calls make the finish_reason "tool_calls", and usage counts the
// reasoning in completion_tokens_details. An answer with a shape has no stop.
//
// # Prefill and decode replicas
//
// With Config.Prefill the port of all replicas takes a request through two engines,
// as package disagg describes, and what a proxy before two vLLM servers does happens
// inside: the stream begins with the first token of the replica that answers, which
// X-Goodput-Replica names; X-Goodput-Prefill-Replica names the one that computed the
// prompt. Cached tokens are the latter's. A request is cut off if one of them crashes
// while it is needed, and refused if one of them would refuse it. The metrics of each
// replica are of its own part, as with vLLM; the queue time of one that answers holds
// the wait for the KV.
//
// # Faults
//
// Config.Faults makes replicas fail on time; package fault says how. A port of its
// own of a replica that is down breaks off every connection; the port of all
// replicas answers 502 to a request that the policy gives to it, and leaves it out
// of its metrics. After a restart a replica has the adapters of Config. An injected status
// meets requests for text only. A stream that is truncated ends after the broken
// event without an error of HTTP.
//
// # Tokens
//
// The tokenizer is a stand-in: text is cut at white space, and a piece is a token
// for every 8 bytes begun. A prompt of n words of up to 8 bytes is n tokens, and so
// is an answer of n tokens when it comes back in a later prompt. The chat template
// adds no tokens; roles only keep equal text of different speakers apart. A prompt
// of the numbers that /tokenize gives is the same as the text.
//
// A message of a chat counts as its reasoning, its content, and of each of its
// tool_calls the name and the arguments: {"text":"..."}, which is what answers here have,
// as that text, others as they are written. So an answer with parts has, as a message
// of role assistant, the tokens that were generated, if function names have at most 8
// bytes.
//
// Blocks are shared through the prefix cache if all tokens up to their end are equal,
// those of answers among them: a later turn that quotes an answer finds all of it that
// was computed, which the last token never is.
//
// # Metrics
//
// The names, labels and buckets are those of Config.Release of vLLM (its
// vllm/v1/metrics/loggers.py and stats.py), with the _created gauges of the Prometheus
// client that it uses; one port for all replicas tells them apart by the label
// engine, a port of its own has engine="0". What may surprise is vLLM's:
//
//   - iteration_tokens_total is a histogram, and sees steps with output only. A prompt
//     counts in the step that gives its first token, whole, with cached tokens
//     and those of earlier chunks; each of several choices has its own.
//   - Histograms of whole requests are observed when a choice ends, for each choice,
//     and leave out aborted ones. request_params_n and
//     request_max_num_generation_tokens, the length of the longest answer, are
//     observed once a request, when its last choice ends.
//   - request_params_max_tokens is what applies where the request has none.
//   - An answer of one token has a mean time of 0 for each token after the first.
//   - A prompt of which all tokens but one are cached counts a token more in
//     prompt_tokens_by_source as a local hit, and in prompt_tokens_recomputed. Tokens
//     from host memory or from a prefill replica are those of source
//     external_kv_transfer. A prefill replica has a request of its own for each choice.
//   - cache_config_info and lora_requests_info have no model_name. vLLM's
//     cache_config_info has more settings than there are here.
//   - Some finish reasons never occur here.
//
// # The ground-truth log
//
// One JSON object per line for each choice of each request for text, when the
// request has ended, in order of ending. What is not known, or did not happen, is
// null.
//
//	request_id      X-Request-Id as received or made up
//	traceparent     as received
//	adapter         name of the LoRA adapter; null: the base model
//	api             "completions" or "chat"
//	stream          whether a stream was asked for
//	status          of the response that was begun; null if the client left before
//	finish          "length", "stop" or "abort"; null if the request was refused
//	replica         which one had it, or refused it, from 0
//	prefill_replica which other one computed the prompt; arrival_ns, cached_tokens and
//	                the parts of the time begin there; null if there was none
//	choice          from 0; null if the request was refused
//	prompt_tokens, max_tokens
//	output_tokens   made by the engine
//	sent_tokens     written to the connection; the rest was made for nobody
//	cached_tokens   of the prompt, found in the prefix cache at the first scheduling
//	preemptions     and what they cost: recomputed_tokens, preempted_ns
//	spent_…_ns      frontend, queue, prefill, decode, interference and transfer: where
//	                the time from arrival_ns to the end went; the sum lacks
//	                preempted_ns
//	received_ns     the body was read              (stamped by the handler)
//	arrival_ns      the replica's front end has it (the engine's own account, as are
//	queued_ns       the scheduler saw it            the others without a note)
//	scheduled_ns    first in a step
//	first_token_ns, last_token_ns   ends of the steps that made them
//	first_sent_ns, last_sent_ns     the write that held them returned (stamped by
//	                                the handler)
//
// Instants are nanoseconds of loop time since the loop's epoch. Lines are handed on
// when the buffer is full, when no request is under way, and at Close.
//
// A request with the header Endpoint-Load-Metrics-Format (TEXT or JSON) is answered with
// the load of its engine in Endpoint-Load-Metrics, as of when the engine took it (ORCA).
// Where Config.Wall is set, Server-Timing tells how long an answer took, of a stream in its
// trailer, for those who ask for trailers by TE.
package server
