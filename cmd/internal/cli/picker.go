package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goodput/fakeengine/proxy"
	"goodput/fakeengine/proxy/extproc"
	"goodput/fakeengine/router"
)

// pickerOptions are the flags about an endpoint picker.
type pickerOptions struct {
	addr     string
	timeout  time.Duration
	open     bool
	requests bool
}

func (o *pickerOptions) add(c *cobra.Command) {
	c.Flags().StringVar(&o.addr, "ext-proc", "", "ask the endpoint picker at this address (Envoy's external processing over gRPC) instead of --router: HOST:PORT, or tls://HOST:PORT, whose certificate is not checked")
	c.Flags().DurationVar(&o.timeout, "ext-proc-timeout", time.Second, "how long a picker may owe something before the request fails with 504, or its answer is broken off")
	c.Flags().BoolVar(&o.open, "ext-proc-fail-open", false, "send requests by --router of which the picker could not be asked, instead of refusing them")
	c.Flags().BoolVar(&o.requests, "ext-proc-requests-only", false, "show the picker no answers")
}

// client is for the picker; nil: there is none.
func (o *pickerOptions) client(backends []string) (*extproc.Client, error) {
	if o.addr == "" {
		if o.open || o.requests {
			return nil, errors.New("--ext-proc-fail-open, --ext-proc-requests-only: there is no picker: give its address with --ext-proc, too")
		}
		return nil, nil
	}
	if o.timeout < time.Millisecond {
		return nil, fmt.Errorf("--ext-proc-timeout: %v is below 1ms", o.timeout)
	}
	endpoints, err := proxy.Endpoints(backends)
	if err != nil {
		return nil, fmt.Errorf("--backend: %w", err)
	}
	c, err := extproc.New(extproc.Config{Addr: o.addr, Timeout: o.timeout, Endpoints: endpoints, Requests: o.requests})
	if err != nil {
		return nil, fmt.Errorf("--ext-proc: %w", err)
	}
	c.Connect()
	return c, nil
}

// text says who picks.
func (o *pickerOptions) text(policy router.Policy) string {
	switch {
	case o.addr == "":
		return "router " + policy.String()
	case o.open:
		return "picker " + o.addr + ", router " + policy.String() + " where it fails"
	}
	return "picker " + o.addr
}

// pickerCounts says what became of the requests.
func pickerCounts(c *extproc.Client, p *proxy.Proxy) string {
	var out []string
	for _, n := range extproc.Counters() {
		if v := c.Count(n); v > 0 || n <= extproc.Picked {
			out = append(out, fmt.Sprintf("%d %s", v, n))
		}
	}
	picks := p.Picks()
	for _, x := range []struct {
		n    int64
		what string
	}{
		{picks.FellBack, "sent to a further endpoint"},
		{picks.Outside, "endpoints that are no backend"},
		{picks.Opened, "sent by the rule"},
		{picks.Cut, "answers broken off"},
	} {
		if x.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return "picker: " + strings.Join(out, ", ")
}
