// Package proxy puts a selection rule of package router before real servers: a
// streaming reverse proxy for OpenAI-compatible backends that uses the same rules as
// the pool of fake engines. It buffers no answer, changes no byte of it, passes
// traceparent on as it came unless it is traced itself, gives an answer up when its client leaves, and breaks
// the client's connection off when the backend broke its own: a cut stream never
// looks whole.
//
// What engines report is scraped from their /metrics, and read from the header of their
// answers in between (ORCA), under the names of vLLM and
// SGLang. Backends that can't be connected to are left out for a while.
//
// With a picker (package extproc) it goes where that says instead, with the headers and the
// body that it wants, and shows it the answer. Backends are known to it by their addresses;
// one that a picker names and that is no backend is never connected to. If a connection
// fails, the next endpoint of the picker's list is tried.
//
// Who wants spans gets the way of each traced request that a rule picks for (Passages).
//
// It retries nothing else and keeps no queue. Rules that need to be told
// what engines have cached or which adapters they hold can't be used: no backend
// tells that over HTTP.
package proxy
