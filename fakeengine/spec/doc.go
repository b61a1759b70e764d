// Package spec says how many drafted tokens a target model accepts: the chance in
// speculative decoding.
//
// An engine that speculates has k tokens drafted for a sequence and verifies them
// in one step, which yields the accepted ones and one of the target's own. How many
// are accepted depends on the text. Three things are told apart here:
//
//   - the position: Acceptance.Rates are the shares that vLLM's counters
//     spec_decode_num_accepted_tokens_per_pos show over a run;
//   - the request: each has a rate of its own, drawn from a beta distribution of
//     standard deviation Acceptance.Spread, so that some answers fly and some crawl.
//     That is also why measured rates rise with the position: who gets far is an
//     easy one. Measured rates of n-gram drafts for code edits follow the beta
//     distribution to within 0.02 (see Workload);
//   - the step: one draw for each output position of each sequence.
//
// The draws are counter-based: the verdict on the drafts that follow output token n
// of sequence s is a function of (seed, s, n) alone. What else the engine runs, in
// which order, and what it preempts moves no draw of another sequence.
//
// It schedules nothing, knows no blocks and no time, and makes no tokens. What
// drafting costs is in package steptime.
package spec
