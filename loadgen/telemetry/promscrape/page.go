package promscrape

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"goodput/loadgen/record"
)

// What one page may have.
const (
	maxPage   = 16 << 20 // bytes, inflated
	maxLine   = 64 << 10 // bytes; a longer one is skipped
	maxSeries = 1 << 15  // of figures that are wanted
)

var (
	errTooLarge = errors.New("the page is too large")
	errCut      = errors.New("the page ends within a line: it came in part")
	errForeign  = errors.New("the page has no figure of an engine or router that is known here")
)

// faults counts what a page has that could not be used.
type faults struct {
	lines  int64 // of wanted figures, that could not be read
	values int64 // not finite, or negative
	twice  int64 // series of other ranks
}

// worker is one of those that share a page.
type worker struct {
	dialect string
	role    record.SampleRole
	key     string // what tells it from the others; "": there is one
	values  [record.NumSignals]float64
	rank    [record.NumSignals]int // of the alias that counts
}

// names is the index of all dialects by the name of a series.
type names map[string][]place

type place struct{ dialect, alias int }

// parser reads pages. It belongs to one goroutine.
type parser struct {
	dialects []dialect
	names    names
	text     expfmt.TextParser
	in       *bufio.Reader
}

func newParser() *parser {
	p := &parser{dialects: dialects(), names: names{}, text: expfmt.NewTextParser(model.UTF8Validation), in: bufio.NewReaderSize(nil, maxLine)}
	for d := range p.dialects {
		for a, x := range p.dialects[d].aliases {
			p.names[x.name] = append(p.names[x.name], place{d, a})
		}
	}
	return p
}

// page reads one page: its workers, in order of dialect and key.
func (p *parser) page(body io.Reader) (out []*worker, f faults, err error) {
	workers := map[[3]string]*worker{}
	limited := &io.LimitedReader{R: body, N: maxPage + 1}
	p.in.Reset(limited)
	var shared []sample // of the process, and so of all its workers
	series := 0
	for {
		line, err := p.line(&f)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, f, fmt.Errorf("reading the page: %w", err)
		}
		if limited.N == 0 {
			return nil, f, errTooLarge
		}
		if err != nil {
			if len(line) > 0 {
				return nil, f, errCut
			}
			break
		}
		at := p.names[string(name(line))]
		if len(at) == 0 {
			continue
		}
		if series++; series > maxSeries {
			return nil, f, errTooLarge
		}
		s, ok := p.sample(line)
		switch {
		case !ok:
			f.lines++
			continue
		case s.repeats():
			f.twice++
			continue
		}
		bad := math.IsNaN(s.value) || math.IsInf(s.value, 0) || s.value < 0
		if bad {
			f.values++
		}
		if p.dialects[at[0].dialect].aliases[at[0].alias].signal == record.SignalStarted {
			if !bad {
				shared = append(shared, s)
			}
			continue
		}
		p.take(workers, at, &s, bad)
	}
	return finish(workers, shared), f, nil
}

// line is the next line without its end; with io.EOF what is behind the last one.
func (p *parser) line(f *faults) ([]byte, error) {
	line, err := p.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		if len(p.names[string(name(line))]) > 0 {
			f.lines++
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = p.in.ReadSlice('\n')
		}
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), err
}

// name is that of the series of a line; empty for a comment.
func name(line []byte) []byte {
	end := bytes.IndexAny(line, "{ \t#")
	if end < 0 {
		return nil
	}
	return line[:end]
}

// sample is one series with its value.
type sample struct {
	labels map[string]string
	value  float64
}

// sample reads a line. An exemplar, which only OpenMetrics has, is left out.
func (p *parser) sample(line []byte) (sample, bool) {
	if i := bytes.LastIndex(line, []byte(" # {")); i >= 0 {
		line = line[:i]
	}
	families, err := p.text.TextToMetricFamilies(strings.NewReader(string(line) + "\n"))
	if err != nil || len(families) != 1 {
		return sample{}, false
	}
	var m *dto.Metric
	for _, fam := range families {
		if len(fam.GetMetric()) != 1 {
			return sample{}, false
		}
		m = fam.GetMetric()[0]
	}
	s := sample{labels: make(map[string]string, len(m.GetLabel())), value: m.GetUntyped().GetValue()}
	for _, l := range m.GetLabel() {
		s.labels[l.GetName()] = l.GetValue()
	}
	return s, true
}

// repeats reports that the series is of a rank that says of a replica what its first rank
// says, too: tensor and pipeline ranks work on the same requests.
func (s *sample) repeats() bool {
	for _, l := range []string{"tp_rank", "pp_rank", "attn_tp_rank", "moe_ep_rank"} {
		if v := s.labels[l]; v != "" && v != "0" {
			return true
		}
	}
	return false
}

// key is what tells workers of a page apart: data-parallel ranks, and what collectors
// that show several servers add. The second result is the role that this means.
func (s *sample) key() (string, record.SampleRole) {
	var parts []string
	for _, l := range []string{"server", "pod", "instance", "worker", "worker_id", "engine", "engine_index", "dp_rank"} {
		if v := s.labels[l]; v != "" {
			parts = append(parts, v)
		}
	}
	role := record.SampleEngine
	// The router of vLLM's production stack shows the engines' figures under their own
	// names, by server.
	if s.labels["server"] != "" {
		role = record.SampleRouter
	}
	return strings.Join(parts, "/"), role
}

// take adds a series to its worker.
func (p *parser) take(workers map[[3]string]*worker, at []place, s *sample, bad bool) {
	for _, x := range at {
		d := &p.dialects[x.dialect]
		a := &d.aliases[x.alias]
		if a.label != "" && s.labels[a.label] != a.value {
			continue
		}
		key, role := s.key()
		if d.role == record.SampleRouter {
			role = d.role
		}
		id := [3]string{d.name, string(role), key}
		w := workers[id]
		if w == nil {
			w = &worker{dialect: d.name, role: role, key: key}
			for i := range w.values {
				w.values[i], w.rank[i] = math.NaN(), math.MaxInt
			}
			workers[id] = w
		}
		w.add(a, x.alias, s.value, bad)
	}
}

// add takes the value of a series, one of several of the signal that differ in what does
// not matter here, such as how requests ended. One that is bad makes the sum unknown.
func (w *worker) add(a *alias, rank int, v float64, bad bool) {
	if bad {
		v = math.NaN()
	}
	to, have := &w.values[a.signal], w.rank[a.signal]
	switch {
	case rank > have:
	case rank < have:
		*to, w.rank[a.signal] = v, rank
	case a.highest:
		*to = math.Max(*to, v)
	default:
		*to += v
	}
}

func finish(workers map[[3]string]*worker, shared []sample) []*worker {
	out := make([]*worker, 0, len(workers))
	for _, w := range workers {
		for _, s := range shared {
			w.values[record.SignalStarted] = s.value
		}
		for i := range w.values {
			if math.IsInf(w.values[i], 0) { // of finite ones
				w.values[i] = math.NaN()
			}
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b *worker) int {
		return slices.Compare([]string{a.dialect, string(a.role), a.key}, []string{b.dialect, string(b.role), b.key})
	})
	return out
}
