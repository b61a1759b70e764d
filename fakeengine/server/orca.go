package server

import (
	"net/http"
	"strconv"
	"strings"
)

// The headers of a load report of ORCA, as vLLM's API server has them: who asks names the
// format, and the answer's header tells the load of the engine when it took the request.
const (
	headerLoadFormat = "Endpoint-Load-Metrics-Format"
	headerLoad       = "Endpoint-Load-Metrics"
)

// loadReport is the load of a replica.
type loadReport struct {
	asked   bool // somebody wants it
	kvUsed  float64
	waiting int
}

// tellLoad adds the report to the header, in the format that was asked for; one that is
// unknown gets none.
func tellLoad(h http.Header, format string, l *loadReport) {
	kv, waiting := strconv.FormatFloat(l.kvUsed, 'g', -1, 64), strconv.Itoa(l.waiting)
	switch strings.ToUpper(format) {
	case "TEXT":
		h[headerLoad] = []string{"TEXT named_metrics.kv_cache_usage_perc=" + kv + ", named_metrics.num_requests_waiting=" + waiting}
	case "JSON":
		h[headerLoad] = []string{`JSON {"named_metrics":{"kv_cache_usage_perc":` + kv + `,"num_requests_waiting":` + waiting + `}}`}
	}
}
