package record

// Definition says what one metric means.
type Definition struct {
	Name     string
	Unit     string
	Text     string
	NullWhen string // empty: never
}

// Definitions are the metrics in the order of the documentation. The slice is
// the caller's own.
func Definitions() []Definition {
	return []Definition{
		{"lag", "ns", "dispatched - (attempt_due, or else intended): how late the generator was", ""},
		{"prior", "ns", "attempt_due - intended: the attempts and waits before a retry or a hedge; latencies count them, since they begin at intended", "it is a first attempt"},
		{"client_queue", "ns", "permitted - dispatched: the wait for the concurrency cap", "no cap is set"},
		{"connect", "ns", "conn - (permitted, or else dispatched): the wait for a connection", "there is no connection, as in one process"},
		{"stream_wait", "ns", "writing - conn: of upload, the wait for a stream of a shared connection (HTTP/2)", "there is no connection, as in one process"},
		{"upload", "ns", "wrote - (conn, or else permitted, or else dispatched): what writing the request took", "it was not wholly written"},
		{"ttft", "ns", "first_token - intended: what a user who pressed enter at the intended time waits, so a late generator hides nothing", "no token arrived"},
		{"ttft_send", "ns", "first_token - writing: counted from the first byte of the request, as vLLM's client does", "no token arrived"},
		{"ttfv", "ns", "first_content - intended: the first token that the user sees, after any reasoning", "no content arrived"},
		{"tpot", "ns", "(last_token - first_token) / (output_tokens - 1), with the server's count of tokens, or else the client's", "output_tokens < 2, or all came with one read: nothing was seen of the time between them"},
		{"itl", "ns", "gap between consecutive chunks that carry tokens; tokens bundled in one chunk add no zero gaps", "fewer than two chunks"},
		{"itl_token", "ns", "gap / tokens of the chunk that ends it, weighted by these tokens", "tokens per chunk are unknown"},
		{"e2e", "ns", "last_token - intended; of an answer without tokens done - intended", "the request is not a success"},
		{"normalized", "ns", "e2e / output_tokens", "the request is not a success, or output_tokens = 0"},
		{"slo_met", "bool", "every clause of the SLO that applies to the request holds; failures, timeouts and drops miss it", "the request is censored or was given up on purpose, or no SLO is set"},
		{"goodput", "1/s", "requests of the window with slo_met, per second of the window", "no SLO is set"},
		{"attainment", "ratio", "requests of the window with slo_met / all requests scheduled in the window", "no SLO is set"},
		{"success", "bool", "outcome = ok: 2xx, no error in the stream, a finish reason, usage or tokens, the terminal marker, and the length that was asked for when it was enforced", ""},
		{"sct", "ns", "session completion time: last byte of the last step that something waits for - scheduled arrival of the session; model_time (requests) + wait_time (planned waits) + session_lag along the chain of steps that took longest", "a step of the session did not succeed"},
		{"slowdown", "ratio", "model_time of a session / that of the same session alone on one idle replica, with what earlier sessions left in its cache", "the session is not completed, or the load went to a URL"},
		{"turn_response", "ns", "from when a user's text was due to the last byte before the session waits for the user again", "a step of the turn did not succeed"},
		{"session_slo_met", "bool", "the session is completed, each of its steps met the SLO of a request, and it the clauses for sessions: sct, turn (each turn_response), slowdown", "the session is censored, no SLO is set, or it needs what is unknown"},
		{"server_frontend", "ns", "server_ttft - (server_queue + server_prefill): the way to the scheduler and the wait for its next turn; ttft = prior + lag + client_queue + connect + upload + d_ttft + server_frontend + server_queue + server_prefill, where a part that is null counts as 0", "the server's time is unknown"},
		{"server_spent", "ns", "the time in the server by cause, in columns server_spent_*; with server_preempted they sum to server_e2e", "the server's time is unknown"},
		{"d_ttft", "ns", "(first_token - wrote) - server_ttft: what lies between client and server before the first token", "the server's time is unknown"},
		{"d_e2e", "ns", "(done - wrote) - server_e2e", "the server's time is unknown"},
		{"d_tail", "ns", "d_e2e - d_ttft: what streaming added after the first token", "d_e2e or d_ttft is unknown"},
		{"d_tpot", "ns", "d_tail / (output_tokens - 1)", "d_tail is unknown, or output_tokens < 2"},
	}
}
