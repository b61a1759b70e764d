package cli

import (
	"cmp"
	"fmt"
	"io"

	"goodput/loadgen/telemetry/traceout"
)

// newEngineSpans exports spans of engines. service names them; empty: goodput-serve.
func newEngineSpans(endpoint, service string) (*traceout.Exporter, error) {
	out, err := traceout.New(traceout.Config{
		Endpoint: endpoint, Service: cmp.Or(service, "goodput-serve"), Scope: "vllm.llm_engine",
	})
	if err != nil {
		return nil, fmt.Errorf("--otlp-traces-endpoint: %w", err)
	}
	return out, nil
}

// closeSpans sends the last spans. A collector that is gone is no failure of the server,
// but it is told.
func closeSpans(w io.Writer, out *traceout.Exporter) {
	if err := out.Close(); err != nil {
		fmt.Fprintf(w, "goodput: %v\n", err)
	}
}
