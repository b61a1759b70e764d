// Package health says whether the generator itself was well enough for a run's
// figures to count. A late or starved generator is not a slow server, and its
// figures are called invalid rather than shown without comment.
//
// It does not judge the server: SLOs and gates do.
package health
