// Package datasets says what is asked: it plans the content of every request
// (spans of prompt content, lengths, groups, recorded arrival times) or of every
// session (threads of steps that wait for each other), from generators (here, and
// package agent) or from trace files (package trace), as a pure function of the
// parameters and the seed. It also says what a plan holds: its lengths, and the
// prefix reuse that a cache can get out of it at best. Package describe says what a
// trace file holds.
//
// The generators here differ in what prompts share: prefix_repetition (groups with a
// prefix), shared_prefix (levels of prefixes above each other, conversations), rag
// (documents in an order that caches like or not) and random (nothing, or one prefix).
// Which group, document or prefix a prompt has follows a Zipf law where asked for.
//
// It neither sends nor times anything, and it holds no prompt text: text is
// made from content keys when a body is written (package prompt).
package datasets
