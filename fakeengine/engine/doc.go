// Package engine is a continuous-batching LLM engine without the GPU: the
// scheduler of vLLM v1, synchronous or asynchronous, on a KV account (package kv)
// and a step-time model (package steptime).
//
// Every step walks all running sequences, in order of admission, and then
// admits waiting ones; nothing is summarised or skipped. That makes it slow next
// to what is possible and easy to compare with its source, so it also serves as
// the reference for faster engines. Comments and tests cite the scheduling rules
// by number:
//
//	R2-R3    what a step tries to do; usable blocks
//	R4-R7    running sequences: order, budget, preemption
//	R8-R15   waiting sequences: head of line, prefix hits, admission
//	R16-R20  blocks: eviction, sharing, naming (package kv)
//	R22-R24  which rows emit tokens, when sequences end and free their blocks
//	R25-R26  scheduling ahead of the outputs
//	R27-R31  speculative decoding (package spec has the chance in it)
//	R32-R33  the instants of a request
//
// LoRA adapters have places on the GPU and in host memory; what a step lacks is
// brought before it starts.
//
// A sequence may have the KV of its prompt brought from another engine
// (Seq.Remote), and keep its own for another one (Seq.Hold): vLLM's decode and
// prefill instances. Both are the same engine; whoever owns them decides.
//
// Seq.Spent divides the time of a request by cause; its parts sum to the whole.
//
// With Config.Speculation each step of an answer verifies drafts: it takes 1+k tokens
// of the budget, blocks for them and for the drafter's own, and gives what was
// accepted and one token more, in one call of Sink.Tokens. What was rejected is
// computed again. Blocks are named by tokens that are known, never by drafts. A
// sequence that is preempted loses its drafts.
//
// It draws no chance of its own, speaks no protocol, and makes no text. It is driven by one
// clock.Loop and must be called from within that loop's events.
package engine
