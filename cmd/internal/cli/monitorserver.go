package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"goodput/loadgen/clock"
	"goodput/loadgen/monitor"
	"goodput/report/tui"
)

// monitorServer tells the state of a run to whoever asks.
type monitorServer struct {
	source tui.Source
	http   http.Server
	ln     net.Listener
	over   chan struct{}
	once   sync.Once
}

// listenMonitor serves source at addr.
func listenMonitor(addr string, source tui.Source) (*monitorServer, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--monitor-listen: %w: give an address and a free port, such as 127.0.0.1:9100", err)
	}
	s := &monitorServer{source: source, ln: ln, over: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /snapshot", s.snapshot)
	mux.HandleFunc("GET /stream", s.stream)
	mux.HandleFunc("GET /metrics", s.metrics)
	s.http.Handler, s.http.ReadHeaderTimeout = mux, 5*time.Second
	go func() { _ = s.http.Serve(ln) }()
	return s, nil
}

func (s *monitorServer) url() string { return "http://" + s.ln.Addr().String() }

// close ends all answers.
func (s *monitorServer) close() {
	s.once.Do(func() { close(s.over) })
	_ = s.http.Close()
}

// asked is the query of a request: ?window=60s&filter=class=x.
func asked(r *http.Request) (monitor.Query, error) {
	q := monitor.Query{Window: time.Minute, Filter: monitor.ParseFilter(r.FormValue("filter"))}
	text := r.FormValue("window")
	if text == "" {
		return q, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second || d > monitor.MaxWindow {
		return q, fmt.Errorf("window %q is no time from 1s to %v: use window=60s", text, monitor.MaxWindow)
	}
	q.Window = d
	return q, nil
}

func (s *monitorServer) picture(w http.ResponseWriter, r *http.Request) (p monitor.Picture, ok bool) {
	q, err := asked(r)
	if err == nil {
		p, err = s.source.Picture(q)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return p, err == nil
}

func (s *monitorServer) snapshot(w http.ResponseWriter, r *http.Request) {
	if p, ok := s.picture(w, r); ok {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&p)
	}
}

// stream is one picture a second, a line each.
func (s *monitorServer) stream(w http.ResponseWriter, r *http.Request) {
	q, err := asked(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	ticks := make(chan struct{}, 1)
	ticks <- struct{}{}
	stop := clock.Every(time.Second, func() {
		select {
		case ticks <- struct{}{}:
		default:
		}
	})
	defer stop()
	flush := http.NewResponseController(w)
	for {
		select {
		case <-s.over:
			return
		case <-r.Context().Done():
			return
		case <-ticks:
		}
		p, err := s.source.Picture(q)
		if err != nil || json.NewEncoder(w).Encode(&p) != nil || flush.Flush() != nil {
			return
		}
	}
}

// metrics is the picture as Prometheus text. What is unknown is left out.
func (s *monitorServer) metrics(w http.ResponseWriter, r *http.Request) {
	p, ok := s.picture(w, r)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(metricsText(&p))
}

// metricsText writes each family with its type.
func metricsText(p *monitor.Picture) []byte {
	var b bytes.Buffer
	family := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	gauge := func(name, help string, v monitor.Number) {
		if v.Known() {
			family(name, "gauge", help)
			fmt.Fprintf(&b, "%s %v\n", name, float64(v))
		}
	}
	family("goodput_requests_sent_total", "counter", "Requests that were sent.")
	fmt.Fprintf(&b, "goodput_requests_sent_total %d\n", p.Sent)
	family("goodput_requests_ended_total", "counter", "Requests that ended, by outcome.")
	for _, c := range p.Outcomes {
		fmt.Fprintf(&b, "goodput_requests_ended_total{outcome=%q} %d\n", c.Name, c.N)
	}
	family("goodput_output_tokens_total", "counter", "Output tokens of requests whose count is known.")
	fmt.Fprintf(&b, "goodput_output_tokens_total %d\n", p.OutputTokens)
	if p.InFlight.Known() {
		gauge("goodput_requests_in_flight", "Requests that were sent and have not ended.", monitor.Number(p.InFlight))
	}
	gauge("goodput_offered_rps", "Requests sent per second, over the window.", p.Offered)
	gauge("goodput_achieved_rps", "Successes per second, over the window.", p.Achieved)
	gauge("goodput_good_rps", "Requests per second that met the SLO, over the window.", p.Good)
	gauge("goodput_attainment", "Share of requests that met the SLO, over the window.", p.Attainment)
	gauge("goodput_cpu_cores", "Processors that the generator takes.", p.CPU)
	for _, m := range []struct {
		name, help string
		q          monitor.Quantiles
	}{
		{"ttft", "Time to the first token from the intended instant", p.TTFT},
		{"tpot", "Time per output token", p.TPOT},
		{"e2e", "Latency from the intended instant", p.E2E},
		{"lag", "Lateness of the generator", p.Lag},
	} {
		quantileText(&b, "goodput_"+m.name+"_seconds", m.help+", over the window.", m.q)
	}
	return b.Bytes()
}

func quantileText(b *bytes.Buffer, name, help string, q monitor.Quantiles) {
	if q.N == 0 {
		return
	}
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
	for _, x := range []struct {
		q string
		v monitor.Nanos
	}{{"0.5", q.P50}, {"0.95", q.P95}, {"0.99", q.P99}} {
		fmt.Fprintf(b, "%s{quantile=\"%s\"} %v\n", name, x.q, float64(x.v)/1e9)
	}
}

// remote asks such a server.
type remote struct {
	base   string
	client http.Client
	last   *monitor.Picture // nil: none came yet
}

// Picture implements tui.Source. When a run has ended its server is gone, and the last
// picture stays.
func (r *remote) Picture(q monitor.Query) (monitor.Picture, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(r.base, "/")+"/snapshot", nil)
	if err != nil {
		return monitor.Picture{}, err
	}
	v := req.URL.Query()
	v.Set("window", q.Window.String())
	v.Set("filter", q.Filter.String())
	req.URL.RawQuery = v.Encode()
	var p monitor.Picture
	if err := r.fetch(req, &p); err != nil {
		if r.last == nil {
			return p, fmt.Errorf("asking %s: %w: is a run with --monitor-listen under way there?", r.base, err)
		}
		p = *r.last
		p.State = "gone"
		return p, nil
	}
	r.last = &p
	return p, nil
}

func (r *remote) fetch(req *http.Request, p *monitor.Picture) error {
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostProgress+1))
	if err != nil {
		return err
	}
	if len(b) > mostProgress {
		return fmt.Errorf("the answer is longer than %d MiB", mostProgress>>20)
	}
	*p, err = monitor.ParsePicture(b)
	return err
}
