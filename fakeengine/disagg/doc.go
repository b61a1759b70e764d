// Package disagg takes requests through two engines: a prefill replica computes
// the prompt, its KV goes over a link to a decode replica, and that one makes the
// answer. It follows vLLM with NixlConnector, as llm-d and NVIDIA Dynamo run it.
//
//  1. The decode replica is known before (its own router rule picked it). If it
//     lacks no more tokens of the prompt than Config.MaxLocalPrefill, it computes
//     them itself and nothing here is needed: Prefill.Wanted.
//  2. A prefill replica, picked by a rule of its own, serves the request with one
//     output token. That token is thrown away: the decode replica makes all that
//     the client sees, the first one too, because what comes over the link is the
//     KV of the prompt and not a result. So the first token pays for the transfer,
//     for a second front end and for one step more.
//  3. The answered request keeps its blocks on the prefill replica. The decode
//     replica gets the request, and, when its turn comes, takes blocks for the whole
//     prompt and asks for the part that its prefix cache lacks. Others pass it
//     meanwhile.
//  4. When the KV is there, the prefill replica's blocks are free, and the decode
//     replica computes the last token of the prompt, as vLLM does, and goes on.
//
// # The link
//
// A transfer takes Link.Latency, and then the time of its bytes at Link.Bandwidth.
// A replica sends one transfer at a time and receives one at a time. Those whose
// latency is over wait in one line, and the first whose two ends are free begins.
// So no link is idle while it could carry something, and the bytes of several
// transfers take as long as if they shared the link; the first of them is there
// earlier. The KV of one request is sent when all of it is computed, not layer by
// layer.
//
// # What it does not do
//
// It schedules nothing (package engine), picks nothing (package router), and sends
// nothing to a client: its callers, packages pool and server, are the sinks of the
// decode sequence.
package disagg
