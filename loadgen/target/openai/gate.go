package openai

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync"
)

// gate lets one request at a time choose its connection of HTTP/2 and begin on it. How
// many streams a connection may have is known only when the server's SETTINGS are (RFC
// 9113, section 6.5.2). Until then net/http takes a hundred for granted: of requests that
// meet on a fresh connection the server refuses those beyond its limit, and if its SETTINGS
// come meanwhile, each of them waits for ever for the place that another one has reserved.
// So the first request on a connection keeps the gate until its limit is known. A nil gate
// is open.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

// enter waits for the gate. leave may be called several times, by any goroutine.
func (g gate) enter(ctx context.Context) (leave func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	select {
	case g <- struct{}{}:
		return sync.OnceFunc(func() { <-g }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// watch adds the hook that leaves the gate early to t: when the request's header is
// written, on a connection whose limit is known; or when it becomes known, if the
// connection can tell. One under TLS cannot: its first request leaves with the header of
// its answer.
func (g gate) watch(t *httptrace.ClientTrace, leave func()) {
	if g == nil {
		return
	}
	known := false
	gotConn := t.GotConn
	t.GotConn = func(info httptrace.GotConnInfo) {
		gotConn(info)
		known = info.Reused
		if c, ok := info.Conn.(*settling); ok {
			known = c.settled(leave)
		}
	}
	t.WroteHeaders = func() {
		if known {
			leave()
		}
	}
}

// settling is a connection of HTTP/2 in the clear that notices when net/http has read the
// server's SETTINGS, which are its first frame. Read is for one goroutine.
type settling struct {
	net.Conn
	head [frameHead]byte
	got  int // bytes read so far

	lock sync.Mutex
	done bool
	then func() // to be called once; nil: nobody waits
}

// frameHead is the size of a frame's header, which begins with the size of the rest.
const frameHead = 9

// Read reads more only when net/http has made use of all that it had.
func (c *settling) Read(p []byte) (int, error) {
	if c.got >= frameHead && c.got >= frameHead+int(c.head[0])<<16+int(c.head[1])<<8+int(c.head[2]) {
		c.settle()
	}
	n, err := c.Conn.Read(p)
	if c.got < frameHead {
		copy(c.head[c.got:], p[:n])
	}
	c.got += n
	if err != nil {
		c.settle()
	}
	return n, err
}

func (c *settling) settle() {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.done = true; c.then != nil {
		c.then()
		c.then = nil
	}
}

// settled reports whether the SETTINGS are known; if not, then is called when they are,
// or when the connection is lost.
func (c *settling) settled(then func()) bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	if !c.done {
		c.then = then
	}
	return c.done
}
