package openai

import (
	"io"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	"goodput/loadgen/clock"
)

// upload is the request on its way: the body, and the instants that net/http's
// own goroutines report, which may happen at any time until the body is closed,
// or even after. The attempt reads them; nobody else does.
type upload struct {
	stamp clock.Stamper

	// Of type clock.Time; clock.Never until known.
	streamed  atomic.Int64 // a stream of a shared connection was there, and is about to be written to
	handed    atomic.Int64 // the last piece of the body goes into its write
	wrote     atomic.Int64 // that write has returned
	firstByte atomic.Int64

	sent atomic.Int64 // bytes of the body
	size int64

	mu     sync.Mutex // keeps Read and Close apart
	body   io.Reader
	open   bool
	closed chan struct{}
}

func newUpload(body io.Reader, size int64, stamp clock.Stamper) *upload {
	u := &upload{stamp: stamp, body: body, size: size, open: true, closed: make(chan struct{})}
	u.streamed.Store(int64(clock.Never))
	u.handed.Store(int64(clock.Never))
	u.wrote.Store(int64(clock.Never))
	u.firstByte.Store(int64(clock.Never))
	return u
}

// Read takes part of the body, as much as p holds: net/http writes each piece to
// the socket as it is. After Close it touches the prompt no more.
func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.open {
		return 0, io.ErrClosedPipe
	}
	n, err := io.ReadFull(u.body, p)
	if err == io.ErrUnexpectedEOF {
		err = nil // the next Read tells
	}
	if sent := u.sent.Add(int64(n)); n > 0 && sent == u.size {
		u.handed.Store(int64(u.stamp.Stamp()))
	}
	return n, err
}

// Close ends the use of the body. net/http calls it once for every request,
// however that ends, but perhaps after the response is complete.
func (u *upload) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open {
		u.open = false
		close(u.closed)
	}
	return nil
}

// wroteBefore is the instant of the last write, if it was not after first, the
// first byte of the answer. A write may have returned before the answer came and
// yet be noticed after it; then its beginning is the best instant known.
func (u *upload) wroteBefore(first clock.Time) (clock.Time, bool) {
	for _, v := range []*atomic.Int64{&u.wrote, &u.handed} {
		if at := clock.Time(v.Load()); at.Known() && at <= first {
			return at, true
		}
	}
	return clock.Never, false
}

// hooks are called by net/http; gotConn on the attempt's goroutine, the others
// on the connection's.
func (u *upload) hooks(gotConn func(httptrace.GotConnInfo), http2 bool) *httptrace.ClientTrace {
	hooks := &httptrace.ClientTrace{
		GotConn: gotConn,
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				u.wrote.Store(int64(u.stamp.Stamp()))
			}
		},
		GotFirstResponseByte: func() {
			u.firstByte.CompareAndSwap(int64(clock.Never), int64(u.stamp.Stamp()))
		},
	}
	if http2 {
		// Called when the stream has its number, before its first frame goes out.
		hooks.WroteHeaderField = func(string, []string) {
			if !clock.Time(u.streamed.Load()).Known() {
				u.streamed.Store(int64(u.stamp.Stamp()))
			}
		}
	}
	return hooks
}
