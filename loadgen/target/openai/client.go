package openai

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

// Limits of the connections. They bound what a misbehaving server can cost.
const (
	connectTimeout = 30 * time.Second
	idleTimeout    = 4 * time.Second
	maxHeaderBytes = 64 << 10
	maxErrorBytes  = 4 << 10
	maxWholeBytes  = 64 << 20
	// maxSaidBytes bounds an answer that is quoted: some 200,000 tokens.
	maxSaidBytes = 1 << 20
	// minSecret is the length from which a header's value is struck from messages.
	minSecret = 8
)

// Client sends attempts to its base URLs in turn. Start, Cancel and Close belong to the
// loop's goroutine; each attempt has a goroutine of its own, which reports its
// events and then posts its End into the loop.
type Client struct {
	cfg       Config
	endpoints []*endpoint
	header    http.Header
	host      string // of the Host header; "" is the URL's
	secrets   *strings.Replacer
	format    *wire.Format
	trailers  []string // of the header that asks for them

	// Owned by the loop's goroutine.
	live        map[*target.Request]*attempt
	ttft, total clock.Deadlines

	scanners  sync.Pool // of *wire.Scanner that no answer is read with
	running   sync.WaitGroup
	exhausted exhausted
}

var (
	_ target.Target   = (*Client)(nil)
	_ target.Canceler = (*Client)(nil)
)

// New checks cfg and returns a client; it does not connect.
func New(cfg Config) (*Client, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	endpoints, err := newEndpoints(&cfg)
	if err != nil {
		return nil, err
	}
	header, err := cfg.header()
	if err != nil {
		return nil, err
	}
	format, err := wire.NewFormat(cfg.API, cfg.Model, cfg.Extra...)
	if err != nil {
		return nil, err
	}
	if cfg.ContinuousUsage {
		format.Continuous()
	}
	if cfg.Whole {
		format.Unstreamed()
	}
	if cfg.Structured {
		format.Structured()
	}
	c := &Client{
		cfg: cfg, endpoints: endpoints, header: header, host: header.Get("Host"),
		secrets: secrets(&cfg), format: format, trailers: []string{"trailers"},
		live: map[*target.Request]*attempt{},
	}
	header.Del("Host")
	c.ttft.Init(cfg.Loop, uint64(target.CauseTTFTTimeout))
	c.total.Init(cfg.Loop, uint64(target.CauseTotalTimeout))
	return c, nil
}

// secrets strikes the API key and the values of the user's headers from messages.
func secrets(cfg *Config) *strings.Replacer {
	var pairs []string
	hide := func(s string) {
		if len(s) >= minSecret {
			pairs = append(pairs, s, "[secret]")
		}
	}
	hide(cfg.APIKey)
	for _, values := range cfg.Header {
		for _, v := range values {
			hide(v)
			if _, token, ok := strings.Cut(v, " "); ok {
				hide(token)
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// Start sends r and reports to s. See target.Target.
func (c *Client) Start(r *target.Request, s target.Sink) {
	ctx, cancel := context.WithCancelCause(context.Background())
	a := &attempt{c: c, to: c.endpoint(r), req: r, sink: s, ctx: ctx, cancel: cancel, probe: wire.Probe{API: c.cfg.API}}
	if r.Quoted {
		a.said = &wire.Said{API: c.cfg.API, TokenIDs: c.cfg.TokenIDs, Limit: maxSaidBytes}
	}
	c.live[r] = a
	if d := c.cfg.TTFTTimeout; d > 0 {
		c.ttft.Add(&a.ttft, r.Intended.Add(r.Later+d), a)
	}
	if d := c.cfg.RequestTimeout; d > 0 {
		c.total.Add(&a.total, r.Intended.Add(d), a)
	}
	c.running.Go(a.run)
}

// Cancel gives up the attempt at r, if it is still running.
func (c *Client) Cancel(r *target.Request) {
	if a := c.live[r]; a != nil {
		a.cancel(giveUp{cause: target.CauseCanceled})
	}
}

// ended forgets an attempt. It runs on the loop's goroutine.
func (c *Client) ended(a *attempt) {
	delete(c.live, a.req)
	c.ttft.Remove(&a.ttft)
	c.total.Remove(&a.total)
}

// scanner takes one that has served before, if there is one.
func (c *Client) scanner() *wire.Scanner {
	if s, ok := c.scanners.Get().(*wire.Scanner); ok {
		return s
	}
	return wire.NewScanner(0)
}

// Close cancels what is still running, waits until every attempt's goroutine is
// gone, and closes the idle connections. The Ends of those attempts are posted,
// so they are delivered only if the loop runs on. A closed client can be used
// again.
func (c *Client) Close() {
	for _, a := range c.live {
		a.cancel(giveUp{cause: target.CauseCanceled})
	}
	c.running.Wait()
	for _, e := range c.endpoints {
		e.transport.CloseIdleConnections()
	}
}

// stamp reads the clock.
func (c *Client) stamp() clock.Time { return c.cfg.Stamp.Stamp() }
