// Package otlpin is a receiver of OpenTelemetry spans (OTLP over gRPC, and over HTTP
// with protobuf or JSON) that keeps those of the requests of one run, so that what a
// server says of a request can be held against what the client saw.
//
// Spans are told apart by trace id. The receiver knows the ids of the run because it
// sees each attempt start (Watch); spans of other traces are counted and forgotten, but
// for those of engines whose request id holds the id of a trace of the run: a router that
// starts a trace of its own may still pass X-Request-Id on. It
// reads the dialects of vLLM, SGLang, TensorRT-LLM and goodput serve for engines, and
// any span of kind server or client as that of a router.
//
// It joins nothing: package record does, when a run is read. It takes metrics and logs
// only to be polite to senders that have one address for all.
package otlpin
