package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"goodput/loadgen/record"
	"goodput/loadgen/telemetry/otlpin"
)

// spanIntake takes the spans that the server under test exports.
type spanIntake struct {
	receiver *otlpin.Receiver
	server   *otlpin.Server
}

// takeSpans begins to receive spans, if the plan wants them.
func (s *session) takeSpans() error {
	if s.plan.OTLPListen == "" && s.plan.OTLPHTTPListen == "" {
		return nil
	}
	r := otlpin.New()
	server, err := r.Listen(s.plan.OTLPListen, s.plan.OTLPHTTPListen)
	if err != nil {
		return fmt.Errorf("--otlp-listen, --otlp-http-listen: %w", err)
	}
	s.spans = &spanIntake{r, server}
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

// awaitSpans waits until there is a span of each success, for up to the drain's time:
// exporters send them in batches, seconds after the requests.
func (s *session) awaitSpans() {
	if s.spans == nil {
		return
	}
	c := s.dispatcher.Counts()
	ctx, cancel := context.WithTimeout(context.Background(), s.plan.Drain)
	defer cancel()
	go func() {
		select {
		case <-s.interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	fmt.Fprintf(s.log, "goodput: waiting up to %v for the server's spans of %d successes; interrupt to do without the rest\n", s.plan.Drain, c.Completed())
	s.spans.receiver.Wait(ctx, c.Completed())
}

// writeSpans stops receiving, and writes and counts what came.
func (s *session) writeSpans(counters map[string]int64) error {
	if s.spans == nil {
		return nil
	}
	stopped := s.spans.server.Close()
	spans, counted := s.spans.receiver.Finish()
	maps.Copy(counters, counted)
	return errors.Join(stopped, record.WriteSpans(s.dir, spans))
}
