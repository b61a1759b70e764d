// Package diagnose looks in the figures of a run for what is known to go wrong between
// a client and engines: a router that buffers, delays or cuts streams, retries, work
// for clients that left, replicas that draw load by failing, herding, defeated caches,
// and what bounds the engines or the generator. Each finding has its evidence and what
// to do about it.
//
// It reads no files, and judges neither a run's validity (package health) nor whether
// users got what they were promised (SLOs and gates). What the figures do not show is
// not found: no finding is no proof.
package diagnose
