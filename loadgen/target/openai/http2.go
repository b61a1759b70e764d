package openai

import (
	"errors"
	"strings"
)

// streamError is what net/http reports of a stream of HTTP/2 that was reset (RFC 9113,
// section 5.4.2). Its own type is not exported; its errors convert themselves into any
// with these fields.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

// Error is not used: the text is that of net/http's error.
func (streamError) Error() string { return "stream reset" }

// dropped reports whether err is the end of a stream, or of its connection, by the
// server's wish. A stream that this side resets is broken HTTP.
func dropped(err error) bool {
	var s streamError
	if errors.As(err, &s) {
		return s.Cause != nil && s.Cause.Error() == "received from peer"
	}
	text := err.Error()
	return strings.Contains(text, "http2: server sent GOAWAY") || strings.Contains(text, "http2: client connection lost")
}
