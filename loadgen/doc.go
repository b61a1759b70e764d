// Package loadgen is the client side of the wire: when requests are sent, sending
// them, what was observed, and the record of the run. This page is a reading guide;
// the code is in the folders.
//
// # The pipeline
//
//	plan ──> schedule ──> dispatch ──> target ──> observe ──> record
//	              (when)     │   (who answers)   (what was seen)  (what stays)
//	datasets ────────────────┘                       └──> monitor (what is shown)
//	         (what is asked)
//
// Read them in this order:
//
//   - clock: Time, Loop and Event. Everything below is written against Loop, so
//     that the same code runs in virtual time and on the wall clock.
//   - rng: named streams of random numbers; nothing else is random.
//   - plan: the description of a run. Pure data.
//   - schedule: when each request is due, fixed before the run.
//   - target: the seam. A Request goes in, Events come out.
//   - wire, target/openai: request bodies and streams of an OpenAI-compatible
//     server, and the client that drives one.
//   - observe: one attempt's Events become one row, and a verdict.
//   - dispatch: the open loop that ties them together, sessions whose steps wait for
//     each other, the drain and the account.
//   - record: rows on disk, the manifest, and reading them back.
//   - monitor: the live picture, lossy by contract.
//   - telemetry: spans that servers send, those of the fake one, and metrics pages.
//   - vitals: how the process fares meanwhile, for the manifest.
//
// # Invariants
//
// Each has a test that names it; the missing numbers are the engine's.
//
//   - 1, conservation: scheduled = completed + failed + dropped + censored + in
//     flight, at every instant. A target that never answers cannot break it.
//   - 2, causality: intended <= dispatched <= wrote <= first byte <= first token <=
//     last token <= closed, as far as they were seen.
//   - 3: arrivals are a function of plan, seed and shard. A target ten times as
//     slow changes no intended instant and no prompt.
//   - 5: in virtual time, the same seed, plan and binary give the same rows, byte
//     by byte.
//   - 6: the real loop under a fake wall clock and the virtual loop run the same
//     events in the same order.
//   - 11: what was dropped, clamped, late or not understood has a counter. What was
//     not observed is null, never 0.
//   - 12: whoever watches never slows the load.
//
// # Goroutines
//
// schedule and dispatch live on the loop's goroutine and hold no lock. A target may
// use goroutines of its own: it stamps what it sees where it sees it, and posts the
// end of an attempt into the loop.
//
// # Faults of others
//
// FAULTS.md lists what load generators are known to measure wrongly, with what is done
// here and the tests that show it; telemetry/PITFALLS.md does so for what can go wrong
// when a client's times are held against a server's.
//
// # Dependencies
//
// loadgen imports neither the fake engine nor the reports; of our own packages it
// uses only datasets. Each dependency from outside has one home: parquet-go in
// record, HdrHistogram in record, net/http in target/openai. The wall clock is read
// in clock and nowhere else.
package loadgen
