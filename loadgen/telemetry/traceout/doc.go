// Package traceout exports spans over OTLP, in batches and behind the back of whoever
// makes them: what finds no room is dropped and counted, and nobody waits.
//
// Of a router's ways it makes the spans; others come as they are. It takes none (package
// otlpin does).
package traceout
