package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"

	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/telemetry/otlpin"
	"goodput/loadgen/telemetry/traceout"
)

// spanIntake takes the spans that the server under test exports.
type spanIntake struct {
	receiver *otlpin.Receiver
	server   *otlpin.Server
	tee      *traceout.Tee // nil: none
}

// takeSpans begins to receive spans, if the plan wants them.
func (s *session) takeSpans(env *Env) error {
	if s.plan.OTLPListen == "" && s.plan.OTLPHTTPListen == "" {
		return nil
	}
	r := otlpin.New()
	var tee *traceout.Tee
	if s.plan.OTLPTee != "" {
		var err error
		if tee, err = traceout.NewTee(traceout.Config{Endpoint: s.plan.OTLPTee, Headers: exportHeaders(env)}); err != nil {
			return fmt.Errorf("--otlp-tee: %w", err)
		}
		r.Forward(tee.Forward)
	}
	server, err := r.Listen(s.plan.OTLPListen, s.plan.OTLPHTTPListen)
	if err != nil {
		return fmt.Errorf("--otlp-listen, --otlp-http-listen: %w", err)
	}
	s.spans = &spanIntake{r, server, tee}
	s.target = r.Watch(s.target)
	return nil
}

// describeSpans says where spans are to be sent.
func describeSpans(w io.Writer, s *session) {
	if s.spans == nil {
		return
	}
	overGRPC, overHTTP := s.spans.server.Addrs()
	if overGRPC != nil {
		fmt.Fprintf(w, "spans      taken over gRPC at http://%s\n", overGRPC)
	}
	if overHTTP != nil {
		fmt.Fprintf(w, "spans      taken over HTTP at http://%s/v1/traces\n", overHTTP)
	}
}

// firstSpans is how long after the load a first span is waited for. Exporters of vLLM and
// of OpenTelemetry's SDKs send every 5 s: who has sent nothing by then sends none.
const firstSpans = 7 * time.Second

// awaitSpans waits until there is a span of each success, for up to the drain's time:
// exporters send them in batches, seconds after the requests. Where the client gave up all
// of them, it waits for those that engines went on with, but no longer than for a first
// one: there need be none.
func (s *session) awaitSpans() {
	if s.spans == nil {
		return
	}
	c := s.dispatcher.Counts()
	n, left := c.Completed(), c.Outcomes[record.Canceled]+c.Outcomes[record.TimeoutTTFT]+c.Outcomes[record.TimeoutTotal]
	switch {
	case n == 0 && left == 0:
		return
	case n == 0:
		patience := min(firstSpans, s.plan.Drain)
		fmt.Fprintf(s.log, "goodput: waiting up to %v for spans of the %d requests that were given up; interrupt to do without\n", patience, left)
		awaitSpans(s.spans.receiver, left, patience, s.interrupts)
		return
	}
	fmt.Fprintf(s.log, "goodput: waiting up to %v for the server's spans of %d successes, %v for the first; interrupt to do without the rest\n",
		s.plan.Drain, n, min(firstSpans, s.plan.Drain))
	awaitSpans(s.spans.receiver, n, s.plan.Drain, s.interrupts)
}

// awaitSpans returns when the receiver has spans of n requests, after the drain, after
// firstSpans without any span at all, or at an interrupt.
func awaitSpans(r *otlpin.Receiver, n int64, drain time.Duration, interrupts <-chan os.Signal) {
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	first, giveUp := context.WithTimeout(ctx, firstSpans)
	defer giveUp()
	go func() {
		defer cancel()
		select {
		case <-r.Alive():
		case <-first.Done():
			return
		case <-interrupts:
			return
		}
		select {
		case <-interrupts:
		case <-ctx.Done():
		}
	}()
	r.Wait(ctx, n)
}

// checkSpansOf finds out, before a comparison begins, whether its runs can take spans: one
// after the other at the same address.
func checkSpansOf(p *plan.Plan) error {
	for _, addr := range []string{p.OTLPListen, p.OTLPHTTPListen} {
		if strings.HasSuffix(addr, ":0") {
			return errors.New("--otlp-listen, --otlp-http-listen: port 0 is another one in each run, and the server would not know: name a port")
		}
	}
	server, err := otlpin.New().Listen(p.OTLPListen, p.OTLPHTTPListen)
	if err != nil {
		return fmt.Errorf("--otlp-listen, --otlp-http-listen: %w", err)
	}
	return server.Close()
}

// writeSpans stops receiving, and writes and counts what came.
func (s *session) writeSpans(counters map[string]int64) error {
	if s.spans == nil {
		return nil
	}
	stopped := s.spans.server.Close()
	spans, counted := s.spans.receiver.Finish()
	maps.Copy(counters, counted)
	if s.spans.tee != nil {
		sent, lost, err := s.spans.tee.Close()
		counters["otlp_tee_spans"], counters["otlp_tee_spans_lost"] = sent, lost
		if err != nil {
			fmt.Fprintf(s.log, "goodput: --otlp-tee: %v\n", err)
		}
	}
	return errors.Join(stopped, record.WriteSpans(s.dir, spans))
}
