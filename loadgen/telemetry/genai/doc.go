// Package genai tells what the client side of a run saw in the words of
// OpenTelemetry's conventions for generative AI: a client span of each attempt, spans
// of sessions with their tools, of the engines of this process their own, and
// histograms of all.
//
// It works on the rows of a run that is over, so that nothing of it is on the way of
// the load. It sends nothing (package traceout does), and joins nothing that servers
// told over OTLP: they have exported that themselves.
package genai
