package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"goodput/fakeengine/proxy/extproc"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
)

// Config says what stands behind a proxy. Policy, Backends and Stamp are required.
type Config struct {
	// Policy picks the backend. It belongs to the proxy from then on.
	Policy router.Policy
	// Backends are base URLs, such as http://127.0.0.1:9001.
	Backends []string
	// Stamp tells the time.
	Stamp clock.Stamper
	// Scrape is how often /metrics of each backend is read, if the policy reads what
	// engines report; 0: each second.
	Scrape time.Duration
	// Cooldown is how long a backend that could not be connected to is left out; 0: 5 s.
	Cooldown time.Duration
	// Picker is asked where each request should go; nil: Policy says. With it, Policy is
	// only for requests of which the picker could not be asked, if FailOpen.
	Picker *extproc.Client
	// FailOpen sends requests by Policy of which the picker could not be asked, instead of
	// refusing them.
	FailOpen bool
	// ID names this proxy among those that a request may pass; it must be unlike those
	// of others.
	ID string
	// Passages, if not nil, takes those of requests with a traceparent that is sampled. The
	// backend then finds the proxy's hop in it, as its parent; otherwise what came.
	Passages Passages
}

// Proxy is an http.Handler. Its methods may be called from any goroutine.
type Proxy struct {
	backends  []backend
	transport *http.Transport
	stamp     clock.Stamper
	cooldown  time.Duration
	id        string
	picker    *extproc.Client // nil: none
	failOpen  bool
	picks     picks

	mu    sync.Mutex // of all below: the rules are made for one goroutine
	fleet *router.Fleet
	seen  []report
	loads bool         // the rule reads what backends report
	until []clock.Time // a backend is left out before this
	names adapters

	passages Passages // nil: nobody wants them
	spans    rng.Family
	passed   atomic.Uint64
	rule     string

	stop  context.CancelFunc
	stops []func() // of the scrapes
}

// backend is where a request may go.
type backend struct {
	base *url.URL
	name string // its number, for the response header
	addr string // host and port, by which pickers know it
}

// report is what a backend said of itself last.
type report struct {
	waiting, running int
	kv               float64
	at               clock.Time // clock.Never: nothing yet
}

const (
	// headerReplica tells the client which backend answered.
	headerReplica = "X-Goodput-Replica"
	// headerVia lists the proxies that a request has passed.
	headerVia = "X-Goodput-Via"
	// maxHops is how many there may be.
	maxHops = 8
)

// New returns a proxy. Close ends its scrapes.
func New(c Config) (*Proxy, error) {
	switch {
	case len(c.Backends) == 0:
		return nil, errors.New("a proxy needs at least one backend")
	case c.Stamp == nil:
		return nil, errors.New("a proxy needs a clock")
	case c.ID == "" || strings.ContainsAny(c.ID, ", \t\r\n"):
		return nil, fmt.Errorf("%q can't name a proxy: need a word", c.ID)
	case c.Scrape < 0 || c.Cooldown < 0:
		return nil, errors.New("the interval of scrapes and the cool-down can't be negative")
	}
	p := &Proxy{
		picker: c.Picker, failOpen: c.FailOpen,
		passages: c.Passages, spans: spanIDs(c.ID),
		stamp: c.Stamp, cooldown: c.Cooldown, id: c.ID, seen: make([]report, len(c.Backends)), until: make([]clock.Time, len(c.Backends)),
		transport: &http.Transport{
			MaxIdleConnsPerHost: 1024, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
			ResponseHeaderTimeout: 0, MaxResponseHeaderBytes: 256 << 10,
		},
	}
	if p.cooldown == 0 {
		p.cooldown = 5 * time.Second
	}
	for i, text := range c.Backends {
		base, err := parseBackend(text)
		if err != nil {
			return nil, err
		}
		p.backends = append(p.backends, backend{base, strconv.Itoa(i), hostPort(base)})
		p.seen[i].at = clock.Never
	}
	var err error
	if p.fleet, err = router.NewFleet(c.Policy, len(c.Backends), p.observe); err != nil {
		return nil, fmt.Errorf("setting up the router of the proxy: %w", err)
	}
	p.rule = p.fleet.String()
	if p.fleet.Reads(router.EngineCache | router.EngineAdapters) {
		return nil, fmt.Errorf("router rule %s wants to be told what engines have in their caches or which adapters they hold, which no backend tells over HTTP: use one that keeps an index of its own, such as index=approx", p.fleet)
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	if p.loads = p.fleet.Reads(router.EngineLoad); p.loads {
		every := c.Scrape
		if every == 0 {
			every = time.Second
		}
		for i := range p.backends {
			p.stops = append(p.stops, p.scrapeAll(ctx, i, every))
		}
	}
	return p, nil
}

// parseBackend reads a base URL.
func parseBackend(text string) (*url.URL, error) {
	base, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.User != nil {
		return nil, fmt.Errorf("%q is not the URL of a backend: write it as http://127.0.0.1:9001", text)
	}
	return base, nil
}

// Close ends the scrapes and closes idle connections. Requests under way go on.
func (p *Proxy) Close() {
	p.stop()
	for _, stop := range p.stops {
		stop()
	}
	p.transport.CloseIdleConnections()
}

// Loads is what the router believes of each backend now.
func (p *Proxy) Loads() []router.Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]router.Load, len(p.backends))
	for i := range out {
		out[i] = p.fleet.Load(i)
	}
	return out
}

// hostPort is where a URL leads.
func hostPort(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Host
	case u.Scheme == "https":
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// Endpoints are the addresses of backends by which pickers know them.
func Endpoints(backends []string) ([]string, error) {
	out := make([]string, len(backends))
	for i, text := range backends {
		base, err := parseBackend(text)
		if err != nil {
			return nil, err
		}
		out[i] = hostPort(base)
	}
	return out, nil
}

// observe is what the router sees of a backend; mu is held.
func (p *Proxy) observe(i int, _ *router.Request, l *router.Load) {
	s := p.seen[i]
	l.Waiting, l.Running, l.KVUsed, l.AsOf = s.waiting, s.running, s.kv, s.at
}

// pick chooses a backend; router.None if there is none, for so long, as far as the rule can
// tell.
func (p *Proxy) pick(r *router.Request) (id int, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.At = p.stamp.Stamp()
	for i, until := range p.until {
		p.fleet.SetUp(i, r.At >= until)
	}
	if id = p.fleet.Pick(r); id == router.None {
		wait = p.fleet.RetryAfter(r.At)
	}
	return id, wait
}

// answered tells the router that an answer began.
func (p *Proxy) answered(r *router.Request, id int) clock.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.stamp.Stamp()
	p.fleet.FirstToken(r, id, now)
	return now
}

// elsewhere reports whether the rule has a refused request go to another backend.
func (p *Proxy) elsewhere(r *router.Request, id, status int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fleet.Again(r, id, status)
}

// done takes a request off the router's books.
func (p *Proxy) done(r *router.Request, id int, e router.End) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.At = p.stamp.Stamp()
	p.fleet.Done(r, id, e)
}

// leaveOut keeps requests from a backend that could not be connected to.
func (p *Proxy) leaveOut(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until[id] = p.stamp.Stamp().Add(p.cooldown)
}
