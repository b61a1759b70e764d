// Package fakeengine is the server side of the wire: a pool of LLM engines
// without GPUs, behind a router, in process or over HTTP. It holds no code; this
// page says where to start reading.
//
// A request travels from the outside in:
//
//	server  OpenAI-compatible HTTP: bodies, server-sent events, /metrics
//	proxy   the rules of router before real servers
//	pool    several engines and a router as one target, in process
//	disagg  a request's way from a prefill replica to a decode replica
//	router  which replica gets the request
//	engine  which sequences compute which tokens in which step
//	kv      which blocks hold them, and what is found again
//	spec    how many drafted tokens are accepted, if the engine speculates
//	steptime, profiles
//	        how long the step takes on a given GPU and model
//	fault   what breaks when, by a script
//
// Beside them, trial puts one engine under a closed loop or a batch, and accuracy
// holds what it predicts against published measurements.
//
// engine is the core. It runs steps back to back on a clock.Loop: at the end of
// a step it hands out tokens, takes in what has arrived, schedules the next step
// by the rules of vLLM v1, asks steptime for its duration, and sleeps until
// then. Everything that a client can observe (queueing, batching, interference
// of prompts with answers, prefix hits, preemption) comes out of those steps;
// none of it is a formula.
//
// Three properties hold throughout. Time is the loop's, so the same code runs in
// virtual time and on the wall clock. Chance (drafts that are accepted, jitter of
// steps, routers that draw) comes from seeded streams only, so runs repeat exactly
// in virtual time. And no step is
// faster than the GPU's peak arithmetic rate and memory bandwidth allow.
package fakeengine
