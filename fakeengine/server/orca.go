package server

import (
	"net/http"
	"strings"

	"goodput/loadgen/wire"
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
	report := wire.Load{KVUsed: l.kvUsed, Waiting: float64(l.waiting)}
	switch strings.ToUpper(format) {
	case "TEXT":
		h[wire.LoadHeader] = []string{report.Text()}
	case "JSON":
		h[wire.LoadHeader] = []string{report.JSON()}
	}
}
