// Package wire knows the bytes of an OpenAI-compatible completion: it writes
// request bodies, cuts a server-sent event stream into payloads, and reads from
// a payload what a measurement needs (what kind of delta, finish reason, usage).
//
// It opens no connection, reads no clock and judges nothing; it imports no HTTP.
package wire
