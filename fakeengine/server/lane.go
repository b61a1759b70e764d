package server

import (
	"context"
	"net"
	"net/http"
	"syscall"
)

// lane is a connection that can be written to past net/http, and without waiting for
// the one that reads it.
type lane interface {
	// try writes as much as the connection takes at once, n bytes of p.
	try(p []byte) (n int, err error)
	// write writes all of p, and waits as long as that takes.
	write(p []byte) error
}

// ConnContext is for the field of that name of an http.Server. With it, streams over
// HTTP/1.1 and plain TCP are sent by a few goroutines for all of them, instead of one
// each that has to be woken for each token. A handler of this package must then not
// be behind others that change what it writes.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return ctx
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return ctx
	}
	return withLane(ctx, newSocket(c, raw))
}

type laneKey struct{}

func withLane(ctx context.Context, l lane) context.Context {
	if l == nil {
		return ctx
	}
	return context.WithValue(ctx, laneKey{}, l)
}

// laneOf is the lane of a request; nil: it has none. Only HTTP/1.1 has the frames of
// a stream in the clear and to itself: a flush leaves nothing behind in net/http, which then
// adds nothing before the handler returns, and only the end of the chunks afterwards.
func laneOf(r *http.Request) lane {
	if r.ProtoMajor != 1 || r.ProtoMinor != 1 || r.TLS != nil {
		return nil
	}
	l, _ := r.Context().Value(laneKey{}).(lane)
	return l
}

// frameHead is the room before the data of an HTTP chunk: its length in up to 8
// hexadecimal digits, and a line break.
const frameHead = 10

// frame makes an HTTP chunk of buf, whose data begin behind frameHead. It may grow buf.
func frame(buf []byte) (grown, chunk []byte) {
	const digits = "0123456789abcdef"
	n, at := len(buf)-frameHead, frameHead-2
	buf[at], buf[at+1] = '\r', '\n'
	for ; n > 0; n >>= 4 {
		at--
		buf[at] = digits[n&15]
	}
	buf = append(buf, '\r', '\n')
	return buf, buf[at:]
}
