package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"goodput/loadgen/plan"
	"goodput/loadgen/record"
	"goodput/loadgen/telemetry/genai"
)

// export reads the run back and exports it. That the collector takes it or not changes
// nothing of the run.
func (s *session) export(env *Env) {
	if s.plan.OTLPExport == "" {
		return
	}
	counted, err := exportRun(env, s.dir, &s.plan, s.interrupts)
	if counted != nil {
		fmt.Fprintf(s.log, "spans      %d exported to %s\n", counted[genai.CounterSpans], s.plan.OTLPExport)
		err = errors.Join(err, record.Afterwards(s.dir, counted))
	}
	if err != nil {
		fmt.Fprintf(s.log, "goodput: --otlp-export: %v\n", err)
	}
}

// exportRun exports the run in dir, and counts what became of it.
func exportRun(env *Env, dir string, p *plan.Plan, interrupts <-chan os.Signal) (map[string]int64, error) {
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := genai.Parse(p.Semconv)
	if err != nil {
		return nil, err
	}
	stopped := func() bool {
		select {
		case <-interrupts:
			return true
		default:
			return false
		}
	}
	return genai.Export(run, exportSource(&run.Manifest, p, names), p.OTLPExport, exportHeaders(env), stopped)
}

// exportSource is what the rows of a run do not tell.
func exportSource(m *record.Manifest, p *plan.Plan, names genai.Conventions) genai.Source {
	s := genai.Source{
		Conventions: names, RunID: m.RunID, Epoch: m.Epoch(), Operation: "text_completion", Model: m.Target[record.TargetModel],
		Streamed: !p.NoStream && p.Backend != "openai-embeddings",
	}
	switch p.Backend {
	case "openai-chat", "openai-responses":
		s.Operation = "chat"
	case "openai-embeddings":
		s.Operation = "embeddings"
	}
	if s.Model == "" && p.Model != "" {
		s.Model = p.Model
	}
	if s.Model == "" && p.InPool() {
		s.Model = p.EngineModel
	}
	for _, base := range p.BaseURL {
		s.Servers = append(s.Servers, serverOf(base))
	}
	return s
}

// serverOf is the host and port of a base URL.
func serverOf(base string) genai.Server {
	u, err := url.Parse(base)
	if err != nil {
		return genai.Server{}
	}
	if u.Scheme == "unix" {
		return genai.Server{Address: u.Path}
	}
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		host, port = u.Host, map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		n = 0
	}
	return genai.Server{Address: host, Port: n}
}

// exportHeaders are those that OTEL_EXPORTER_OTLP_HEADERS asks for: NAME=VALUE, by commas,
// the values encoded as in URLs.
func exportHeaders(env *Env) map[string]string {
	out := map[string]string{}
	for item := range strings.SplitSeq(env.Getenv("OTEL_EXPORTER_OTLP_HEADERS"), ",") {
		name, value, found := strings.Cut(item, "=")
		if name = strings.TrimSpace(name); !found || name == "" {
			continue
		}
		if text, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
			out[strings.ToLower(name)] = text
		}
	}
	return out
}
