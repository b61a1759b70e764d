package wire

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// The headers of a load report of ORCA (Open Request Cost Aggregation, of the xDS
// protocol), as the API server of vLLM has them: who asks names the format, TEXT or JSON,
// and the answer tells the load of the engine when its header was made.
const (
	LoadFormatHeader = "Endpoint-Load-Metrics-Format"
	LoadHeader       = "Endpoint-Load-Metrics"
)

// The named metrics of vLLM.
const (
	loadKVUsed  = "kv_cache_usage_perc"
	loadWaiting = "num_requests_waiting"
)

// mostLoad is the longest report that is read, in bytes.
const mostLoad = 4096

// Load is what an engine says of itself beside an answer. NaN is unknown.
type Load struct {
	KVUsed  float64 // share of the KV blocks, 0 to 1
	Waiting float64 // requests
}

// Text is the report in the format TEXT, and JSON in JSON, both with their names before
// them. Unknown metrics are left out.
func (l Load) Text() string {
	var parts []string
	l.each(func(name string, v float64) {
		parts = append(parts, "named_metrics."+name+"="+strconv.FormatFloat(v, 'g', -1, 64))
	})
	return "TEXT " + strings.Join(parts, ", ")
}

// JSON is Text in the other format.
func (l Load) JSON() string {
	var parts []string
	l.each(func(name string, v float64) {
		parts = append(parts, `"`+name+`":`+strconv.FormatFloat(v, 'g', -1, 64))
	})
	return `JSON {"named_metrics":{` + strings.Join(parts, ",") + `}}`
}

func (l Load) each(f func(name string, v float64)) {
	if !math.IsNaN(l.KVUsed) {
		f(loadKVUsed, l.KVUsed)
	}
	if !math.IsNaN(l.Waiting) {
		f(loadWaiting, l.Waiting)
	}
}

// ParseLoad reads the value of LoadHeader, in either format, and with its name before it
// or, as some servers send it, without. ok is false if it tells none of the metrics, or one
// that can't be.
func ParseLoad(value string) (l Load, ok bool) {
	l = Load{math.NaN(), math.NaN()}
	value = strings.TrimSpace(value)
	if len(value) > mostLoad {
		return l, false
	}
	format, rest, named := strings.Cut(value, " ")
	switch {
	case named && strings.EqualFold(format, "JSON"), strings.HasPrefix(value, "{"):
		if !strings.HasPrefix(value, "{") {
			value = rest
		}
		var report struct {
			Named map[string]float64 `json:"named_metrics"`
		}
		if json.Unmarshal([]byte(value), &report) != nil {
			return l, false
		}
		for name, v := range report.Named {
			l.take(name, v)
		}
	default:
		if named && strings.EqualFold(format, "TEXT") {
			value = rest
		}
		for item := range strings.SplitSeq(value, ",") {
			name, text, _ := strings.Cut(item, "=")
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if name, found := strings.CutPrefix(strings.TrimSpace(name), "named_metrics."); found && err == nil {
				l.take(name, v)
			}
		}
	}
	return l, l.possible()
}

func (l *Load) take(name string, v float64) {
	switch {
	case strings.EqualFold(name, loadKVUsed):
		l.KVUsed = v
	case strings.EqualFold(name, loadWaiting):
		l.Waiting = v
	}
}

// possible reports that something is known, and nothing is what it can't be.
func (l *Load) possible() bool {
	const most = 1 << 24
	kv, waiting := !math.IsNaN(l.KVUsed), !math.IsNaN(l.Waiting)
	return (kv || waiting) && (!kv || l.KVUsed >= 0 && l.KVUsed <= 1) && (!waiting || l.Waiting >= 0 && l.Waiting <= most)
}
