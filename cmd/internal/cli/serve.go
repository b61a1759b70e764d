package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"goodput/fakeengine/router"
	"goodput/fakeengine/server"
	"goodput/loadgen/clock"
	"goodput/loadgen/plan"
)

// shutdownGrace is how long running streams may go on after the first signal.
const shutdownGrace = 10 * time.Second

// serveOptions are the flags that only serve has.
type serveOptions struct {
	listen    string
	perPort   bool
	timeScale float64
	truth     string
	traces    string
	stages    bool
	model     string
	seed      uint64
	maxQueue  int
	loras     []string
}

func newServe(env *Env) *cobra.Command {
	var o serveOptions
	var flags *planFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "serve fake engines over HTTP, as vLLM would",
		Long: `Serve runs fake engines in real time behind an OpenAI-compatible API: behind one
port and the rule of --router, or one port a replica for a router under test.
It prints a line for each address that listens, and stops in good order on
Ctrl-C or SIGTERM.`,
		Example: `  goodput serve --replicas 4 --listen 127.0.0.1:9000
  goodput serve --replicas 4 --listen 127.0.0.1:9001 --per-replica-ports
  echo '- {at: 60s, for: 30s, replica: 3, slow: 2.0}' > faults.yaml; goodput serve --replicas 4 --faults faults.yaml
  curl -N http://127.0.0.1:9000/v1/completions -d '{"prompt": "once upon a time", "max_tokens": 8, "stream": true}'`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if flags.flag("router") == routerList {
				return writeRouters(env.Stdout)
			}
			p, err := flags.resolve(env, (*plan.Plan).ValidatePool)
			if err != nil {
				return err
			}
			return serve(env, p, o)
		},
	}
	c.Flags().StringVar(&o.listen, "listen", "127.0.0.1:9000", "address to listen on; port 0 takes a free one")
	c.Flags().BoolVar(&o.perPort, "per-replica-ports", false, "one port a replica, counting up from that of --listen, instead of one for all")
	c.Flags().Float64Var(&o.timeScale, "time-scale", 1, "engine seconds per wall second")
	c.Flags().StringVar(&o.truth, "truth-log", "", "file for a JSON line per request with what the engine knows of it")
	c.Flags().StringVar(&o.traces, "otlp-traces-endpoint", "", "export a span of each answer as vLLM does, to the URL of an OpenTelemetry collector, or of goodput run --otlp-listen: http://HOST:4317 over gRPC, http://HOST:4318/v1/traces over HTTP")
	c.Flags().BoolVar(&o.stages, "otlp-stages", false, "export a span each for queue, prefill and decode, too, below that of the answer; vLLM does not")
	c.Flags().StringVar(&o.model, "model", "", "model name on the wire; empty: that of --engine-model")
	c.Flags().Uint64Var(&o.seed, "seed", 0, "root of random choices: of the router, of --engine.step-jitter, and which drafts are accepted")
	c.Flags().IntVar(&o.maxQueue, "max-queue", 0, "requests that may wait at a replica before it answers 429; 0: no bound")
	c.Flags().StringArrayVar(&o.loras, "lora-modules", nil, "LoRA adapter that the engines start with, as NAME or NAME=PATH (nothing is read from there); NAME*N stands for NAME1 to NAMEN; repeatable")
	flags = newPlanFlags(c, "hardware", "pool", "engine")
	flags.also = []string{"listen", "per-replica-ports", "time-scale", "truth-log", "otlp-traces-endpoint", "otlp-stages", "model", "seed"}
	return c
}

func serve(env *Env, p plan.Plan, o serveOptions) (err error) {
	if !(o.timeScale > 0 && o.timeScale <= plan.MaxSpeed) {
		return fmt.Errorf("--time-scale: %v is outside 0 (excluded) to %v", o.timeScale, plan.MaxSpeed)
	}
	if o.stages && o.traces == "" {
		return errors.New("--otlp-stages: there is nowhere to export to: give --otlp-traces-endpoint, too")
	}
	p.Seed = o.seed
	setup, err := newEngineSetup(&p)
	if err != nil {
		return err
	}
	policy, err := router.New(p.Router, o.seed)
	if err != nil {
		return fmt.Errorf("--router: %w", err)
	}
	loop, err := clock.NewReal(clock.Speed(o.timeScale))
	if err != nil {
		return fmt.Errorf("--time-scale: %w", err)
	}
	c := server.Config{
		Model: o.model, Replicas: answering(&p), Engine: setup.config, Vary: setup.mix.vary(), Step: setup.step, Policy: policy, Loop: loop,
		BlockBytes: setup.blockBytes,
	}
	if c.Scale, err = scaling(&p); err != nil {
		return err
	}
	if c.Scale != nil && o.perPort {
		return errors.New("--autoscale: the replicas of one router are scaled: leave out --per-replica-ports")
	}
	if c.Model == "" {
		c.Model = p.EngineModel
	}
	if setup.derived {
		c.KVFull = func(i int) {
			fmt.Fprintf(env.Stderr, "goodput: the KV cache of replica %d is full, and its %d blocks are only derived from the GPU's memory: no input matters more now; give a measured number with --engine.num-gpu-blocks\n",
				i, setup.mix.blocks(i, &setup.config))
		}
	}
	if c.Prefill, err = newPrefill(&p, &setup); err != nil {
		return err
	}
	if c.Prefill != nil && o.perPort {
		return errors.New("--per-replica-ports: prefill and decode replicas work together behind one port: leave out one of the two")
	}
	if c.Release, err = server.ParseRelease(p.Engine); err != nil {
		return fmt.Errorf("--engine: %w", err)
	}
	c.Version, c.MaxQueue = versionText(), o.maxQueue
	if c.Adapters, err = adapterNames(&p, o.loras); err != nil {
		return err
	}
	c.Faults = setup.faults
	if o.truth != "" {
		f, err := os.Create(o.truth)
		if err != nil {
			return fmt.Errorf("--truth-log: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		c.Truth = f
	}
	var epoch time.Time // set before the first request
	if o.traces != "" {
		out, err := newEngineSpans(o.traces, env.Getenv("OTEL_SERVICE_NAME"))
		if err != nil {
			return err
		}
		defer closeSpans(env.Stderr, out)
		c.Spans, c.Stages = out, o.stages
	}
	c.Wall = func(t clock.Time) time.Time { return epoch.Add(time.Duration(float64(t) / o.timeScale)) }
	engines, err := server.New(c)
	if err != nil {
		return err
	}
	listeners, err := listen(o.listen, o.perPort, p.Replicas)
	if err != nil {
		return err
	}
	epoch = loop.Start(0)
	loopDone := make(chan struct{})
	go func() {
		defer close(loopDone)
		loop.Run()
	}()
	fmt.Fprintf(env.Stdout, "%d engines: %s%s\n", p.Replicas, setup.text, splitText(&p, &setup)+scaleText(&p))
	err = serveUntilSignal(env, engines, listeners, o.perPort)
	loop.Stop()
	<-loopDone
	return err
}

// adapterNames are the names in the flag --lora-modules of serve.
func adapterNames(p *plan.Plan, items []string) ([]string, error) {
	if len(items) > 0 && !p.EngineEnableLora {
		return nil, errors.New("--lora-modules: the engines have no places for adapters: add --engine.enable-lora")
	}
	names := make([]string, len(items))
	for i, item := range items {
		names[i], _, _ = strings.Cut(item, "=")
	}
	out, err := plan.Adapters(names)
	if err != nil {
		return nil, fmt.Errorf("--lora-modules: %w", err)
	}
	return out, nil
}

// listen opens all listeners, or none.
func listen(addr string, perPort bool, replicas int) ([]net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	first, perr := strconv.Atoi(port)
	n := 1
	if perPort {
		n = replicas
	}
	if err != nil || perr != nil || host == "" || first < 0 || first+n-1 > 65535 {
		return nil, fmt.Errorf("--listen: %q is not an address of the form 127.0.0.1:9000 with room for %d ports", addr, n)
	}
	var out []net.Listener
	for i := range n {
		at := first
		if first != 0 {
			at += i
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(at)))
		if err != nil {
			for _, l := range out {
				err = errors.Join(err, l.Close())
			}
			return nil, fmt.Errorf("--listen: %w (choose another port, or 0 for a free one)", err)
		}
		out = append(out, l)
	}
	return out, nil
}

// serveUntilSignal serves on all listeners until a signal comes or one fails.
func serveUntilSignal(env *Env, engines *server.Server, listeners []net.Listener, perPort bool) error {
	interrupts, release := env.interrupts()
	defer release()
	failed := make(chan error, len(listeners))
	var servers []*http.Server
	for i, l := range listeners {
		h, what := engines.Handler(), "all replicas"
		if perPort {
			h, what = engines.Replica(i), fmt.Sprintf("replica %d", i)
		}
		s := &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10, Protocols: new(http.Protocols), ConnContext: server.ConnContext}
		s.Protocols.SetHTTP1(true)
		s.Protocols.SetUnencryptedHTTP2(true) // for those who know that it is spoken
		servers = append(servers, s)
		go func() { failed <- s.Serve(l) }()
		fmt.Fprintf(env.Stdout, "listening on http://%s (%s)\n", l.Addr(), what)
	}
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
	err := engines.Close(ctx)
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		err = nil // streams were cut, as announced
	}
	for _, s := range servers {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(cause, err)
}
