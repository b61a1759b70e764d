package openai

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"

	"goodput/loadgen/target"
)

// endpoint is one base URL: where its parts are, and the connections to it.
type endpoint struct {
	number    int // as in Net.URL
	base      *url.URL
	api       *url.URL
	models    *url.URL
	transport *http.Transport
	gate      gate // nil: each request has a connection of its own
}

// newEndpoints makes those of all base URLs, each with connections of its own.
func newEndpoints(cfg *Config) ([]*endpoint, error) {
	if len(cfg.BaseURLs) == 0 {
		return nil, fmt.Errorf("no base URL is given; write it as http://HOST:PORT")
	}
	out := make([]*endpoint, len(cfg.BaseURLs))
	for i, text := range cfg.BaseURLs {
		socket, text := socketOf(text)
		base, api, models, err := cfg.urls(text)
		if err != nil {
			return nil, err
		}
		e := &endpoint{number: i, base: base, api: api, models: models}
		if len(cfg.BaseURLs) == 1 {
			e.number = target.Unknown
		}
		var trust *tls.Config
		if cfg.TLS != nil {
			trust = cfg.TLS.Clone() // a transport adds the protocols that it speaks
		}
		if cfg.HTTP2 {
			e.gate = newGate()
		}
		e.transport = newTransport(socket, trust, cfg.HTTP2)
		out[i] = e
	}
	return out, nil
}

// endpoint is the one that r goes to: each request in turn, and each further attempt one
// place on. It depends on nothing that happens during the run, so that a second run asks
// the same servers the same things.
func (c *Client) endpoint(r *target.Request) *endpoint {
	return c.endpoints[(r.Seq+uint64(r.Attempt))%uint64(len(c.endpoints))]
}
