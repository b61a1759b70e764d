// Package engine is a continuous-batching LLM engine without the GPU: the
// scheduler of vLLM v1, synchronous or asynchronous, on a KV account (package kv)
// and a step-time model (package steptime).
//
// A step serves running sequences in order of admission, and then admits waiting
// ones. There are two ways to run it. With Config.EveryStep each step walks all
// running sequences and its end is an event of the loop: slow next to what is
// possible, easy to compare with its source, and the reference for the other way.
// Otherwise, of sequences that have Seq.Runs,
//
//   - those that just decode are in a group, which a step takes as a whole (group);
//   - a boundary between steps at which no first token and no end is to be told is
//     no event, but made up for when the next event comes or somebody looks. When
//     that event is due is computed ahead: with a steptime.Linear model k steps
//     have a closed form, with others it is the next boundary (horizon);
//   - their tokens are not told one by one but as a part of the engine's log of the
//     ends of steps (stepLog).
//
// The two ways agree in all that can be seen: each instant, each part of Spent,
// the totals at any instant, the blocks handed out and what they held, in order.
// Tests compare them. A feature that wants to see each row or each boundary keeps
// its sequences out of the group (plain) or makes each boundary an event
// (horizon); what looks at the engine from outside calls catchUp first.
//
// Comments and tests cite the scheduling rules by number:
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
// KV blocks may have a second tier in host memory (Config.Offload), from which
// evicted content is loaded while others go on.
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
// Ranks is engines that step together, because they share experts: each schedules
// for itself, and a step of all lasts as long as the slowest one's. Its boundaries are
// all events, so there is no group and no computing ahead.
//
// It draws no chance of its own, speaks no protocol, and makes no text. It is driven by one
// clock.Loop and must be called from within that loop's events.
package engine
