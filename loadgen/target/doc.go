// Package target is the seam between the load generator and whatever answers:
// a Request goes in, Events come out. A URL (package openai), the in-process
// pool of fake engines and the null target all stand behind the same two
// one-method interfaces.
//
// It holds no policy: timeouts, retries and judgement of the outcome are made
// elsewhere, from the evidence that the events carry.
package target
