package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goodput/fakeengine/proxy"
	"goodput/fakeengine/router"
	"goodput/loadgen/clock"
	"goodput/loadgen/rng"
	"goodput/loadgen/telemetry/traceout"
)

// proxyOptions are the flags of proxy.
type proxyOptions struct {
	listen, router   string
	backends         []string
	scrape, cooldown time.Duration
	seed             uint64
	picker           pickerOptions
	traces           string
}

func newProxy(env *Env) *cobra.Command {
	var o proxyOptions
	c := &cobra.Command{
		Use:   "proxy",
		Short: "put a selection rule before real servers",
		Long: `Proxy is a streaming reverse proxy for OpenAI-compatible servers that picks the
backend by a rule of --router, the same ones that run and serve have. It buffers no
answer, passes traceparent on as it came (unless it exports spans), and breaks a stream off where the backend
did. It stops in good order on Ctrl-C or SIGTERM.

Prompts are compared by their text, 64 bytes to a block. Sessions are told by the
header X-Session-Id. Loads of engines come from the /metrics of vLLM or SGLang.

With --ext-proc an endpoint picker chooses instead, such as the llm-d router: it is
asked as Envoy would, and may pick among the backends, whose addresses it is told.`,
		Example: `  goodput proxy --router prefix-hash --backend http://127.0.0.1:9001 --backend http://127.0.0.1:9002
  goodput proxy --ext-proc 127.0.0.1:9002 --backend http://127.0.0.1:9001 --backend http://127.0.0.1:9002
  goodput proxy --router kv-queue:own=1 --scrape-interval 200ms --backend http://127.0.0.1:9001 --backend http://127.0.0.1:9002`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if o.router == routerList {
				return writeRouters(env.Stdout)
			}
			return runProxy(env, o)
		},
	}
	c.Flags().StringVar(&o.listen, "listen", "127.0.0.1:8080", "address to listen on; port 0 takes a free one")
	c.Flags().StringVar(&o.router, "router", "least-outstanding", "rule that picks the backend; list prints all with their parameters")
	c.Flags().StringArrayVar(&o.backends, "backend", nil, "base URL of a server, such as http://127.0.0.1:9001; repeatable")
	c.Flags().DurationVar(&o.scrape, "scrape-interval", time.Second, "how often the backends' /metrics are read, for rules that look at them")
	c.Flags().DurationVar(&o.cooldown, "cooldown", 5*time.Second, "how long a backend that can't be connected to is left out")
	o.picker.add(c)
	c.Flags().Uint64Var(&o.seed, "seed", 0, "root of the rule's random choices")
	c.Flags().StringVar(&o.traces, "otlp-traces-endpoint", "", "export spans of each request with a sampled traceparent, of the whole, of the choice and of the wait for the backend, to the URL of an OpenTelemetry collector, or of goodput run --otlp-listen: http://HOST:4317 over gRPC, http://HOST:4318/v1/traces over HTTP")
	c.Flags().SortFlags = false
	return c
}

func runProxy(env *Env, o proxyOptions) (err error) {
	switch {
	case len(o.backends) == 0:
		return errors.New("--backend: where should requests go? give at least one, such as --backend http://127.0.0.1:9001")
	case o.scrape < 10*time.Millisecond:
		return fmt.Errorf("--scrape-interval: %v is below 10ms", o.scrape)
	case o.cooldown < 0:
		return fmt.Errorf("--cooldown: %v is negative", o.cooldown)
	}
	policy, err := router.New(o.router, o.seed)
	if err != nil {
		return fmt.Errorf("--router: %w", err)
	}
	loop, err := clock.NewReal(clock.Speed(1))
	if err != nil {
		return err
	}
	picker, err := o.picker.client(o.backends)
	if err != nil {
		return err
	}
	if picker != nil {
		defer func() { _ = picker.Close() }() // nobody asks it any more
	}
	traced := &proxySpans{}
	if o.traces != "" {
		service := cmp.Or(env.Getenv("OTEL_SERVICE_NAME"), "goodput-proxy")
		if traced.out, err = traceout.New(traceout.Config{Endpoint: o.traces, Service: service, Scope: "goodput"}); err != nil {
			return fmt.Errorf("--otlp-traces-endpoint: %w", err)
		}
		defer closeSpans(env.Stderr, traced.out)
	}
	listeners, err := listen(o.listen, false, 1)
	if err != nil {
		return err
	}
	l := listeners[0]
	epoch := loop.Start(0)
	traced.epoch = epoch
	id := rng.New(o.seed, l.Addr().String()+epoch.String(), 0)
	c := proxy.Config{
		Policy: policy, Backends: o.backends, Stamp: loop, Scrape: o.scrape, Cooldown: o.cooldown,
		Picker: picker, FailOpen: o.picker.open,
		ID: strconv.FormatUint(id.Uint64(), 36),
	}
	if traced.out != nil {
		c.Passages = traced
	}
	p, err := proxy.New(c)
	if err != nil {
		return errors.Join(fmt.Errorf("--backend, --router: %w", err), l.Close())
	}
	defer p.Close()
	fmt.Fprintf(env.Stdout, "%d backends: %s, %s\n", len(o.backends), strings.Join(o.backends, " "), o.picker.text(policy))
	err = proxyUntilSignal(env, p, l)
	if picker != nil {
		fmt.Fprintln(env.Stdout, pickerCounts(picker, p))
	}
	return err
}

// proxySpans exports the ways of requests.
type proxySpans struct {
	out   *traceout.Exporter
	epoch time.Time
}

// Passage implements proxy.Passages.
func (s *proxySpans) Passage(p proxy.Passage) {
	wall := func(at clock.Time) time.Time {
		if !at.Known() {
			return time.Time{}
		}
		return s.epoch.Add(time.Duration(at))
	}
	s.out.Passage(traceout.Passage{
		Trace: p.Caller.Trace, Parent: p.Caller.Parent, Own: p.Own, Hop: p.Hop,
		From: wall(p.From), To: wall(p.To), Asked: wall(p.Asked), Answered: wall(p.Answered),
		Method: p.Method, Path: p.Path, Status: p.Status, Backend: p.Backend, Policy: p.Policy, Candidates: p.Candidates,
	})
}

var _ proxy.Passages = (*proxySpans)(nil)

// proxyUntilSignal serves until a signal comes or the listener fails.
func proxyUntilSignal(env *Env, p *proxy.Proxy, l net.Listener) error {
	interrupts, release := env.interrupts()
	defer release()
	s := &http.Server{Handler: p, ReadHeaderTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	fmt.Fprintf(env.Stdout, "listening on http://%s\n", l.Addr())
	var cause error
	select {
	case cause = <-failed:
	case <-interrupts:
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	go func() { // a second signal cuts the running streams
		select {
		case <-interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := s.Shutdown(ctx)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = s.Close()
	}
	return errors.Join(cause, err)
}
