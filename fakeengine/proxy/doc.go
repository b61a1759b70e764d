// Package proxy puts a selection rule of package router before real servers: a
// streaming reverse proxy for OpenAI-compatible backends that uses the same rules as
// the pool of fake engines. It buffers no answer, changes no byte of it, passes
// traceparent on as it came, gives an answer up when its client leaves, and breaks
// the client's connection off when the backend broke its own: a cut stream never
// looks whole.
//
// What engines report is scraped from their /metrics, under the names of vLLM and
// SGLang. Backends that can't be connected to are left out for a while.
//
// It retries nothing, keeps no queue and makes no spans. Rules that need to be told
// what engines have cached or which adapters they hold can't be used: no backend
// tells that over HTTP.
package proxy
