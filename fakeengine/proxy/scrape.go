package proxy

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"goodput/loadgen/clock"
	"goodput/loadgen/wire"
)

// maxMetrics is the largest page of metrics that is read.
const maxMetrics = 8 << 20

// Names of the gauges, by engine.
var (
	runningNames = [...]string{"vllm:num_requests_running", "sglang:num_running_reqs"}
	waitingNames = [...]string{"vllm:num_requests_waiting", "sglang:num_queue_reqs"}
	kvNames      = [...]string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"}
)

// scrapeAll reads a backend's metrics now and again until ctx ends, and returns what
// waits for that.
func (p *Proxy) scrapeAll(ctx context.Context, id int, every time.Duration) (stop func()) {
	timeout := max(every, time.Second)
	p.scrape(ctx, id, timeout)
	return clock.Every(every, func() { p.scrape(ctx, id, timeout) })
}

// scrape reads a backend's metrics once. One that fails changes nothing: the age of
// the last one shows.
func (p *Proxy) scrape(ctx context.Context, id int, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.backends[id].base.String()+"/metrics", nil)
	if err != nil {
		return
	}
	resp, err := p.transport.RoundTrip(req)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return
	}
	r, err := parseMetrics(io.LimitReader(resp.Body, maxMetrics))
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.at = p.stamp.Stamp()
	p.seen[id] = r
}

// heard takes the load that a backend tells with an answer (ORCA), which is newer than what
// was scraped, and keeps it from a client that has not asked. How many requests run it
// does not tell.
func (x *exchange) heard(answer http.Header, in *http.Request) {
	p := x.proxy
	if !p.loads {
		return
	}
	load, ok := wire.ParseLoad(answer.Get(wire.LoadHeader))
	if in.Header[wire.LoadFormatHeader] == nil {
		answer.Del(wire.LoadHeader)
	}
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &p.seen[x.id]
	if !math.IsNaN(load.KVUsed) {
		r.kv = load.KVUsed
	}
	if !math.IsNaN(load.Waiting) {
		r.waiting = int(load.Waiting)
	}
	r.at = p.stamp.Stamp()
}

// parseMetrics reads the gauges of one engine: requests are added up over label sets
// (models), KV usage is the largest. It returns an error if the page can't be read,
// says nothing of requests, or says what can't be.
func parseMetrics(page io.Reader) (report, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(page)
	if err != nil {
		return report{}, fmt.Errorf("reading metrics: %w", err)
	}
	running, ok1 := gauge(families, runningNames[:], false)
	waiting, ok2 := gauge(families, waitingNames[:], false)
	kv, _ := gauge(families, kvNames[:], true)
	const most = 1 << 24
	switch {
	case !ok1 || !ok2:
		return report{}, fmt.Errorf("metrics without the gauges of running and waiting requests: need those of vLLM or SGLang")
	case !(running >= 0 && running <= most && waiting >= 0 && waiting <= most) || !(kv >= 0 && kv <= 1):
		return report{}, fmt.Errorf("metrics of %v running and %v waiting requests and a KV usage of %v can't be", running, waiting, kv)
	}
	return report{running: int(running), waiting: int(waiting), kv: kv}, nil
}

// gauge is the sum, or the largest, of the first family that is there.
func gauge(families map[string]*dto.MetricFamily, names []string, largest bool) (v float64, ok bool) {
	for _, name := range names {
		f := families[name]
		if f == nil {
			continue
		}
		for _, m := range f.GetMetric() {
			value := m.GetGauge().GetValue()
			if m.Gauge == nil {
				value = m.GetUntyped().GetValue()
			}
			if largest {
				v = math.Max(v, value) // keeps NaN
			} else {
				v += value
			}
		}
		return v, true
	}
	return 0, false
}
