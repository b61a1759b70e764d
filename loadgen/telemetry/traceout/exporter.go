package traceout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"goodput/loadgen/clock"
)

const (
	tracesPath  = "/v1/traces"
	metricsPath = "/v1/metrics"

	batch           = 512
	queue           = 1 << 14
	defaultPatience = 10 * time.Second
)

// Config says where spans go and as whose.
type Config struct {
	// Endpoint is the URL of a collector: of HTTP if its path ends in /v1/traces, of
	// gRPC otherwise.
	Endpoint string
	// Service is service.name, Scope the name of the instrumentation, Schema the URL of
	// the conventions that attributes follow.
	Service, Scope, Schema string
	// Headers go with each export, such as a key that the collector asks for.
	Headers map[string]string
	// Delay is how long a span waits for others to go with; 0: a second.
	Delay time.Duration

	patience time.Duration // for one batch, retries included; 0: the default
}

// Exporter sends spans in batches, on a goroutine of its own. Span never waits.
type Exporter struct {
	cfg    Config
	client otlptrace.Client
	spans  chan *tracepb.Span
	done   chan struct{}

	sent, dropped, failed atomic.Int64
	mu                    sync.Mutex
	err                   error // the first one
}

// New returns an exporter. It connects when there is something to send.
func New(c Config) (*Exporter, error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no URL of the form http://127.0.0.1:4317 (gRPC) or http://127.0.0.1:4318/v1/traces (HTTP)", c.Endpoint)
	}
	e := &Exporter{cfg: c, spans: make(chan *tracepb.Span, queue), done: make(chan struct{})}
	e.cfg.Delay, e.cfg.patience = cmp.Or(c.Delay, time.Second), cmp.Or(c.patience, defaultPatience)
	if strings.HasSuffix(u.Path, tracesPath) {
		opts := []otlptracehttp.Option{otlptracehttp.WithEndpointURL(c.Endpoint), otlptracehttp.WithCompression(otlptracehttp.GzipCompression)}
		if len(c.Headers) > 0 {
			opts = append(opts, otlptracehttp.WithHeaders(c.Headers))
		}
		e.client = otlptracehttp.NewClient(opts...)
	} else {
		opts := []otlptracegrpc.Option{otlptracegrpc.WithEndpoint(u.Host), otlptracegrpc.WithCompressor("gzip")}
		if len(c.Headers) > 0 {
			opts = append(opts, otlptracegrpc.WithHeaders(c.Headers))
		}
		if u.Scheme == "http" {
			opts = append(opts, otlptracegrpc.WithInsecure())
		}
		e.client = otlptracegrpc.NewClient(opts...)
	}
	if err := e.client.Start(context.Background()); err != nil {
		return nil, fmt.Errorf("setting up the export of spans to %s: %w", c.Endpoint, err)
	}
	go e.run()
	return e, nil
}

// Span takes a span, which is the exporter's from then on. If the queue is full the
// span is dropped, and counted.
func (e *Exporter) Span(s *tracepb.Span) {
	select {
	case e.spans <- s:
	default:
		e.dropped.Add(1)
	}
}

// Put is Span for callers that would rather wait than lose one.
func (e *Exporter) Put(s *tracepb.Span) { e.spans <- s }

func (e *Exporter) run() {
	defer close(e.done)
	tick := make(chan struct{}, 1)
	defer clock.Every(e.cfg.Delay, func() {
		select {
		case tick <- struct{}{}:
		default:
		}
	})()
	var held []*tracepb.Span
	for {
		select {
		case s, ok := <-e.spans:
			if !ok {
				e.upload(held)
				return
			}
			if held = append(held, s); len(held) == batch {
				e.upload(held)
				held = nil
			}
		case <-tick:
			e.upload(held)
			held = nil
		}
	}
}

// resource says whose the spans and metrics are.
func (c *Config) resource() *resource.Resource {
	return &resource.Resource{Attributes: []*common.KeyValue{{
		Key: "service.name", Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: c.Service}},
	}}}
}

func (e *Exporter) upload(spans []*tracepb.Span) {
	if len(spans) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.patience)
	defer cancel()
	err := e.client.UploadTraces(ctx, []*tracepb.ResourceSpans{{
		Resource:   e.cfg.resource(),
		ScopeSpans: []*tracepb.ScopeSpans{{Scope: &common.InstrumentationScope{Name: e.cfg.Scope}, Spans: spans, SchemaUrl: e.cfg.Schema}},
		SchemaUrl:  e.cfg.Schema,
	}})
	if err == nil {
		e.sent.Add(int64(len(spans)))
		return
	}
	e.failed.Add(int64(len(spans)))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = err
	}
}

// Close sends what is left. Span must not be called any more. The error says how many
// spans did not arrive, and why.
func (e *Exporter) Close() error {
	close(e.spans)
	<-e.done
	ctx, cancel := context.WithTimeout(context.Background(), e.cfg.patience)
	defer cancel()
	err := e.client.Stop(ctx)
	if n := e.failed.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("exporting spans to %s: %d of %d did not arrive: %w", e.cfg.Endpoint, n, n+e.sent.Load(), e.err))
	}
	if n := e.dropped.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("exporting spans to %s: %d found the queue full", e.cfg.Endpoint, n))
	}
	return err
}

// Sent is the number of spans that arrived so far, Lost of those that did not, whether
// they found the queue full or the collector took none.
func (e *Exporter) Sent() int64 { return e.sent.Load() }

// Lost is told by Sent.
func (e *Exporter) Lost() int64 { return e.failed.Load() + e.dropped.Load() }
