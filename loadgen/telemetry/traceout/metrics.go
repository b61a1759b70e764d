package traceout

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // the compressor that UseCompressor names
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// maxReply is how much of an answer is read, in bytes.
const maxReply = 64 << 10

// Metrics sends metrics once, to the endpoint of the spans, or, over HTTP, to the one
// of metrics beside it. It waits for the answer.
func Metrics(ctx context.Context, c Config, list []*metrics.Metric) error {
	if len(list) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, defaultPatience)
	defer cancel()
	in := &collector.ExportMetricsServiceRequest{ResourceMetrics: []*metrics.ResourceMetrics{{
		Resource:     c.resource(),
		ScopeMetrics: []*metrics.ScopeMetrics{{Scope: &common.InstrumentationScope{Name: c.Scope}, Metrics: list, SchemaUrl: c.Schema}},
		SchemaUrl:    c.Schema,
	}}}
	u, err := url.Parse(c.Endpoint)
	if err != nil {
		return fmt.Errorf("exporting metrics: %w", err)
	}
	out := &collector.ExportMetricsServiceResponse{}
	if path, overHTTP := strings.CutSuffix(u.Path, tracesPath); overHTTP {
		u.Path = path + metricsPath
		err = post(ctx, u.String(), c.Headers, in, out)
	} else {
		err = call(ctx, u, c.Headers, in, out)
	}
	if err != nil {
		return fmt.Errorf("exporting metrics to %s: %w", c.Endpoint, err)
	}
	if p := out.GetPartialSuccess(); p.GetRejectedDataPoints() > 0 {
		return fmt.Errorf("exporting metrics to %s: %d points were refused: %s", c.Endpoint, p.GetRejectedDataPoints(), p.GetErrorMessage())
	}
	return nil
}

// call is one export over gRPC.
func call(ctx context.Context, u *url.URL, headers map[string]string, in *collector.ExportMetricsServiceRequest, out *collector.ExportMetricsServiceResponse) error {
	creds := insecure.NewCredentials()
	if u.Scheme == "https" {
		creds = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	conn, err := grpc.NewClient(u.Host, grpc.WithTransportCredentials(creds))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx = metadata.NewOutgoingContext(ctx, metadata.New(headers))
	got, err := collector.NewMetricsServiceClient(conn).Export(ctx, in, grpc.UseCompressor("gzip"), grpc.WaitForReady(true))
	if err == nil {
		proto.Merge(out, got)
	}
	return err
}

// post is one export over HTTP.
func post(ctx context.Context, to string, headers map[string]string, in, out proto.Message) error {
	body, err := proto.Marshal(in)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for k, v := range headers {
		q.Header.Set(k, v)
	}
	q.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	switch {
	case err != nil:
		return err
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	return proto.Unmarshal(text, out)
}
