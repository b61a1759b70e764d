package openai

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/target"
	"goodput/loadgen/wire"
)

// Config says where requests go and how.
type Config struct {
	// BaseURLs are the roots of the servers, each such as http://127.0.0.1:8000, or the
	// path of a socket, such as unix:///run/server.sock. Requests go to them in turn.
	BaseURLs []string
	// HTTP2 sends requests as streams of shared connections: over TLS, or at once, with
	// prior knowledge (RFC 9113, section 3.3), where the URL is http. A server that
	// speaks HTTP/1.1 only is not served.
	HTTP2 bool
	// TLS says whom to trust; nil: whom the system trusts.
	TLS *tls.Config
	// Endpoint is the path of the API below each base URL; "" is the usual one.
	Endpoint string
	// API is what to speak; the zero value is completions.
	API wire.API
	// Whole asks for answers in one piece, of which no token has a time.
	Whole bool
	// ContinuousUsage asks for token counts in every chunk of a completion or chat, so
	// that it is known how many tokens a chunk holds.
	ContinuousUsage bool
	// Model is the name on the wire; "" leaves it out.
	Model string
	// Extra are fields of each body beside those that the load decides.
	Extra []wire.Extra
	// Header is sent with each request. Its values never appear in errors.
	Header http.Header
	// APIKey is sent as a bearer token; "" is none. It never appears in errors.
	APIKey string

	// Load, if not nil, is told what an engine says of itself in the header of an answer
	// (ORCA), which is then asked for, and who it was; attempts call it at the same time.
	Load func(replica string, at clock.Time, l wire.Load)

	// Prompt makes the text of planned content, and of answers among it that were given.
	// Attempts call it at the same time, each on its own goroutine.
	Prompt func([]target.Span, ...target.Quote) wire.Prompt
	// TokenIDs quotes answers by the numbers of their tokens, which the body has to ask
	// for (return_token_ids).
	TokenIDs bool
	// Structured says that Prompt makes JSON values in place of text (wire.Format).
	Structured bool
	// Loop is where attempts are started, timed out and ended; Stamp reads the
	// clock of the same zero point for everything else.
	Loop  clock.Loop
	Stamp clock.Stamper

	// TTFTTimeout and RequestTimeout count from the intended time of a request:
	// until the first token, and until the end. 0 is none.
	TTFTTimeout    time.Duration
	RequestTimeout time.Duration
}

// reserved are the headers that the client sets itself, or that would change how
// a request is framed or repeated, each with what to do instead.
var reserved = map[string]string{
	"Accept":            "it is set by the client",
	"Accept-Encoding":   "a compressed stream cannot be timed",
	"Content-Encoding":  "the body is sent as it is",
	"Content-Length":    "it is set by the client",
	"Content-Type":      "it is set by the client",
	"Expect":            "it would hold back the body",
	"Idempotency-Key":   "it invites repetition out of sight",
	"Traceparent":       "each attempt has its own",
	"Transfer-Encoding": "it is set by the client",
	"X-Idempotency-Key": "it invites repetition out of sight",
	"X-Request-Id":      "each attempt has its own",
}

// urls checks a base URL and returns it, and those of the API and of the model list.
func (c *Config) urls(text string) (base, api, models *url.URL, err error) {
	base, err = url.Parse(text)
	switch {
	case err != nil:
		return nil, nil, nil, errors.New("base URL is not a URL; write it as http://HOST:PORT")
	case base.User != nil:
		return nil, nil, nil, errors.New("base URL holds a user name or password; give an Authorization header instead")
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, nil, nil, fmt.Errorf("base URL %q: write it as http://HOST:PORT or https://HOST", text)
	case base.RawQuery != "" || base.Fragment != "":
		return nil, nil, nil, fmt.Errorf("base URL %q has a query or a fragment; leave out what follows the path", text)
	}
	path := c.Endpoint
	if path == "" {
		path = c.API.Path()
	}
	root := strings.TrimRight(base.Path, "/")
	switch {
	case !strings.HasPrefix(path, "/"):
		return nil, nil, nil, fmt.Errorf("endpoint %q: write it as a path, such as %s", path, c.API.Path())
	case strings.HasSuffix(root, "/v1") && strings.HasPrefix(path, "/v1/"):
		return nil, nil, nil, fmt.Errorf("base URL %q ends in /v1, as the endpoint %s begins; leave it out of the base URL", text, path)
	}
	stem := path
	for _, end := range []string{"/completions", "/chat", "/responses", "/embeddings"} {
		stem = strings.TrimSuffix(stem, end)
	}
	if stem == path {
		stem = "/v1" // an endpoint of the user's own
	}
	at := func(path string) *url.URL {
		return &url.URL{Scheme: base.Scheme, Host: base.Host, Path: root + path}
	}
	return base, at(path), at(stem + "/models"), nil
}

// header is what each request carries besides its identity.
func (c *Config) header() (http.Header, error) {
	h := http.Header{}
	for key, values := range c.Header {
		name := textproto.CanonicalMIMEHeaderKey(key)
		if why, taken := reserved[name]; taken {
			return nil, fmt.Errorf("header %s cannot be given: %s", name, why)
		}
		if !isToken(key) {
			return nil, fmt.Errorf("header name %q: use letters, digits and hyphens only", key)
		}
		for _, v := range values {
			if !isText(v) {
				return nil, fmt.Errorf("value of header %s holds a control character, such as a line break", name)
			}
		}
		h[name] = append(h[name], values...)
	}
	if c.APIKey != "" {
		if !isText(c.APIKey) {
			return nil, errors.New("API key holds a control character; look for a line break at its end")
		}
		if h.Get("Authorization") != "" {
			return nil, errors.New("both an API key and an Authorization header are given; leave one out")
		}
		h.Set("Authorization", "Bearer "+c.APIKey)
	}
	h.Set("Accept-Encoding", "identity")
	h.Set("User-Agent", "goodput")
	if ua := c.Header.Get("User-Agent"); ua != "" {
		h.Set("User-Agent", ua)
	}
	return h, nil
}

// isToken reports whether s can be a header's name (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for _, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return false
		}
	}
	return s != ""
}

func isText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// streams reports whether answers come as streams of events.
func (c *Config) streams() bool { return c.API.Streams() && !c.Whole }

func (c *Config) validate() error {
	switch {
	case c.Whole && c.ContinuousUsage:
		return errors.New("openai client: answers in one piece have no chunks whose tokens could be counted: leave ContinuousUsage out")
	case c.Whole && c.TTFTTimeout > 0:
		return errors.New("openai client: when an answer in one piece has its first token is not known: leave the TTFT timeout out")
	case c.Loop == nil || c.Stamp == nil || c.Prompt == nil:
		return errors.New("openai client: Loop, Stamp and Prompt must be set")
	case c.TTFTTimeout < 0:
		return fmt.Errorf("TTFT timeout %v is negative; 0 means none", c.TTFTTimeout)
	case c.RequestTimeout < 0:
		return fmt.Errorf("request timeout %v is negative; 0 means none", c.RequestTimeout)
	}
	return nil
}
