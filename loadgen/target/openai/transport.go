package openai

import (
	"context"
	"crypto/tls"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"goodput/loadgen/clock"
	"goodput/loadgen/target"
)

// unixScheme begins a base URL that is the path of a socket.
const unixScheme = "unix://"

// newTransport makes connections for one client: to the socket at path, or, if that is
// empty, to where the URL says.
func newTransport(path string, conf *tls.Config, http2 bool) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	protocols.SetUnencryptedHTTP2(http2)
	dial := (&net.Dialer{Timeout: connectTimeout}).DialContext
	if path != "" {
		inner := dial
		dial = func(ctx context.Context, _, _ string) (net.Conn, error) { return inner(ctx, "unix", path) }
	}
	if http2 {
		plain := dial
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := plain(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &settling{Conn: c}, nil
		}
	}
	return &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        conf,
		TLSHandshakeTimeout:    connectTimeout,
		Protocols:              &protocols,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    math.MaxInt32,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// socketOf splits a base URL that names a socket into its path and a URL for requests.
func socketOf(base string) (path, url string) {
	if path, ok := strings.CutPrefix(base, unixScheme); ok {
		return path, "http://localhost"
	}
	return "", base
}

// span is one part of making a connection, as net/http's own goroutines report it. They
// may do so after the attempt is over: a connection that was dialled for it may come too
// late and serve others.
type span struct{ from, took atomic.Int64 }

func (s *span) reset() {
	s.from.Store(int64(clock.Never))
	s.took.Store(target.Unknown)
}

func (s *span) begin(now clock.Time) { s.from.CompareAndSwap(int64(clock.Never), int64(now)) }

func (s *span) end(now clock.Time) {
	if from := clock.Time(s.from.Load()); from.Known() {
		s.took.Store(int64(now - from))
	}
}

// making is how the attempt's own connection came about.
type making struct{ dns, dial, tls span }

// watch adds the hooks of making a connection to t.
func (m *making) watch(t *httptrace.ClientTrace, stamp clock.Stamper) {
	m.dns.reset()
	m.dial.reset()
	m.tls.reset()
	t.DNSStart = func(httptrace.DNSStartInfo) { m.dns.begin(stamp.Stamp()) }
	t.DNSDone = func(httptrace.DNSDoneInfo) { m.dns.end(stamp.Stamp()) }
	t.ConnectStart = func(string, string) { m.dial.begin(stamp.Stamp()) }
	t.ConnectDone = func(_, _ string, err error) {
		if err == nil {
			m.dial.end(stamp.Stamp())
		}
	}
	t.TLSHandshakeStart = func() { m.tls.begin(stamp.Stamp()) }
	t.TLSHandshakeDone = func(_ tls.ConnectionState, err error) {
		if err == nil {
			m.tls.end(stamp.Stamp())
		}
	}
}

// net is the account of a connection that was not in use before.
func (m *making) net(url int) *target.Net {
	return &target.Net{URL: url, DNS: m.dns.took.Load(), Dial: m.dial.took.Load(), TLS: m.tls.took.Load()}
}
