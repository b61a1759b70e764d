// Package evidence holds what others have measured and published: step times,
// latencies, throughput and KV block counts of real GPUs, each figure with its
// address, licence and configuration. It reads such tables strictly and embeds a
// condensed one.
//
// It predicts nothing and compares nothing; how a prediction for a row is made is
// in fakeengine/accuracy.
package evidence
