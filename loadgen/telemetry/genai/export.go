package genai

import (
	"context"
	"errors"
	"fmt"

	"goodput/loadgen/record"
	"goodput/loadgen/telemetry/traceout"
)

// goneAfter is how many spans may get lost before any has arrived: the collector is then
// not there.
const goneAfter = 1024

// The counters of an export.
const (
	CounterSpans       = "otlp_export_spans"        // that arrived
	CounterSpansLost   = "otlp_export_spans_lost"   // that did not, those that were not tried included
	CounterRowsUnsent  = "otlp_export_rows_unsent"  // rows without a span, as nothing was sent for them
	CounterMetricsLost = "otlp_export_metrics_lost" // metrics that did not arrive
)

// errStopped ends the reading of a run whose export makes no sense any more.
var errStopped = errors.New("stopped")

// exporting is one run on its way to a collector.
type exporting struct {
	teller *Teller
	// ours takes the spans of the client and of sessions, engines those of the engines of
	// this process, which is another service.
	ours, engines *traceout.Exporter
	stopped       func() bool
	skipped       int64 // spans that were not tried
	over          bool
}

// Export sends what a run's rows tell to a collector (traceout.Config), and returns once
// that is over, with everything counted. It gives up when stopped reports true, and when
// the collector took none of the first spans. The error says what did not arrive.
func Export(run *record.Run, s Source, endpoint string, headers map[string]string, stopped func() bool) (map[string]int64, error) {
	c := traceout.Config{Endpoint: endpoint, Service: "goodput", Scope: "goodput", Schema: s.Conventions.Schema, Headers: headers}
	ours, err := traceout.New(c)
	if err != nil {
		return nil, err
	}
	of := c
	of.Service = "goodput-engine"
	engines, err := traceout.New(of)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	x := &exporting{teller: New(s), ours: ours, engines: engines, stopped: stopped}
	if err = x.run(run); errors.Is(err, errStopped) {
		err = fmt.Errorf("exporting spans to %s: given up; is a collector there?", endpoint)
	}
	err = errors.Join(err, ours.Close(), engines.Close())
	list := x.teller.Metrics()
	lost := 0
	switch {
	case x.over || x.gone():
		lost = len(list)
	default:
		if e := traceout.Metrics(context.Background(), c, list); e != nil {
			err, lost = errors.Join(err, e), len(list)
		}
	}
	return map[string]int64{
		CounterSpans:     ours.Sent() + engines.Sent(),
		CounterSpansLost: ours.Lost() + engines.Lost() + x.skipped, CounterRowsUnsent: x.teller.Unsent(),
		CounterMetricsLost: int64(lost),
	}, err
}

// run reads the rows and hands over their spans. Where it gives up, the spans of the row at
// hand and of those behind it are counted by the row.
func (x *exporting) run(run *record.Run) error {
	err := run.Requests(func(r *record.Request) error {
		x.over = x.over || x.stopped() || x.gone()
		if x.over {
			x.skipped++
			return nil
		}
		x.teller.Attempt(r, x.ours.Put, x.engines.Put)
		return nil
	})
	if err != nil {
		return err
	}
	if x.over {
		return errStopped
	}
	_, err = run.Sessions(func(s *record.Session) error {
		x.teller.Session(s, x.ours.Put)
		return nil
	})
	return err
}

// gone reports that the collector took none of many spans.
func (x *exporting) gone() bool {
	return x.ours.Sent()+x.engines.Sent() == 0 && x.ours.Lost()+x.engines.Lost() >= goneAfter
}
