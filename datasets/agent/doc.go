// Package agent plans sessions of coding agents and chats: a tenant's prefix, user
// turns of tool steps whose context grows until it is compacted, waits for tools and
// people, and sub-agents that join again.
//
// A session is sampled wholly before it starts, from the seed and its number alone,
// with a stream of random numbers for each purpose, so that a change of one parameter
// leaves the choices of the others where they were. A plan holds content keys and
// lengths, never text.
//
// The numbers of the presets are fitted to published traces of agent sessions; the
// main thread alone has the mean lengths that the tests hold.
//
// It neither decides when sessions arrive nor runs them, and it does not know what a
// server makes of them.
package agent
