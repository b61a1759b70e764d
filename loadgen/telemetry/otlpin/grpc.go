package otlpin

import (
	"context"

	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // senders compress
	"google.golang.org/grpc/stats"
)

// GRPC is a server of OTLP over gRPC. The caller runs and stops it.
func (r *Receiver) GRPC() *grpc.Server {
	s := grpc.NewServer(grpc.MaxRecvMsgSize(maxInflated), grpc.StatsHandler(failures{r}))
	collector.RegisterTraceServiceServer(s, traceService{r: r})
	metrics.RegisterMetricsServiceServer(s, metricsService{})
	logs.RegisterLogsServiceServer(s, logsService{})
	return s
}

// failures counts calls that ended in an error, such as messages that could not be read.
type failures struct{ r *Receiver }

// TagRPC implements stats.Handler.
func (failures) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (f failures) HandleRPC(_ context.Context, s stats.RPCStats) {
	if end, ok := s.(*stats.End); ok && end.Error != nil {
		f.r.refused.Add(1)
	}
}

// TagConn implements stats.Handler.
func (failures) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (failures) HandleConn(context.Context, stats.ConnStats) {}

var _ stats.Handler = failures{}

type traceService struct {
	collector.UnimplementedTraceServiceServer
	r *Receiver
}

func (s traceService) Export(_ context.Context, in *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.r.take(in)
	return &collector.ExportTraceServiceResponse{}, nil
}

type metricsService struct {
	metrics.UnimplementedMetricsServiceServer
}

func (metricsService) Export(context.Context, *metrics.ExportMetricsServiceRequest) (*metrics.ExportMetricsServiceResponse, error) {
	return &metrics.ExportMetricsServiceResponse{}, nil
}

type logsService struct {
	logs.UnimplementedLogsServiceServer
}

func (logsService) Export(context.Context, *logs.ExportLogsServiceRequest) (*logs.ExportLogsServiceResponse, error) {
	return &logs.ExportLogsServiceResponse{}, nil
}
