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
// request into the loop and waits for a note that more tokens have been made.
// Tokens are made at the ends of engine steps, which are absolute instants, so a
// stream does not drift however late single chunks are. All figures, those of
// the metrics and of the log too, are in loop time: on a loop of speed 10 they
// are ten times what a clock on the wall shows.
//
// # Endpoints
//
// POST /v1/completions and /v1/chat/completions, GET /v1/models, /metrics and
// /health. Errors are {"error":{"message","type","param","code"}} as vLLM's. A
// request that can never run is 400, another model's name 404, a body of more
// than 32 MiB 413, and everything new is 503 while the server closes.
//
// Choices, where clients could expect something else:
//
//   - An answer has as many tokens as were asked for: there is no end of sequence
//     before max_tokens, so ignore_eos and min_tokens change nothing, and the
//     finish_reason is always "length". Without max_tokens a completion has 16
//     tokens, and a chat goes on to the end of the model's length, as in vLLM with
//     a model that never stops.
//   - A stream has one event per token, the last with the finish_reason. The
//     status goes out when a replica has the request, the role of a chat with the
//     first token. A token's text is a space and four letters, and depends on the
//     request's id and the token's position only.
//   - One prompt and one answer per request. echo, logprobs, n and best_of are
//     refused; sampling, stop strings and tools are ignored.
//   - usage has prompt_tokens_details.cached_tokens even if it is 0.
//   - The id of an answer is made from X-Request-Id, which is echoed, or made up
//     if there was none. X-Goodput-Replica says which replica answered, and
//     X-Session-Id tells the policy which conversation the request belongs to.
//   - A client that leaves takes its request out of the engine at once.
//
// # Tokens
//
// The tokenizer is a stand-in: text is cut at white space, and a piece is a token
// for every 8 bytes begun. A prompt of n words of up to 8 bytes is n tokens, and so
// is an answer of n tokens when it comes back in a later prompt. The chat template
// adds no tokens; roles only keep equal text of different speakers apart. Blocks
// of the prompt are shared through the prefix cache if all tokens up to their end
// are equal. The blocks of an answer are not: a later turn that quotes it computes
// it again.
//
// # Metrics
//
// The names, labels and buckets are vLLM's; one port for all replicas tells them
// apart by the label engine, a port of its own has engine="0". Histograms of whole
// requests leave out aborted ones.
//
// # The ground-truth log
//
// One JSON object per line for each request of the two POST endpoints, when it has
// ended, in order of ending. What is not known, or did not happen, is null.
//
//	request_id      X-Request-Id as received or made up
//	traceparent     as received
//	api             "completions" or "chat"
//	stream          whether a stream was asked for
//	status          of the response that was begun; null if the client left before
//	finish          "length" or "abort"; null if the request was refused
//	replica         which one had it, from 0
//	prompt_tokens, max_tokens
//	output_tokens   made by the engine
//	sent_tokens     written to the connection; the rest was made for nobody
//	cached_tokens   of the prompt, found in the prefix cache at the first scheduling
//	preemptions     and what they cost: recomputed_tokens, preempted_ns
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
package server
