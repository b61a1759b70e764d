package evidence

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Error is what is wrong with a table, and where.
type Error struct {
	File  string
	Line  int    // 1 is the header
	Field string // the column; empty: the line as a whole
	Why   string
}

// Error says file:line: field: reason.
func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Why)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Field, e.Why)
}

// Parse reads a table: comma-separated, with a header that names the columns in
// any order. An unknown column is an error, because it may be a known one in
// another unit. So is a row without the figures that its kind has; the first
// error is returned, as an *Error. file is for messages.
func Parse(file string, r io.Reader) ([]Point, error) {
	rows := csv.NewReader(r)
	rows.ReuseRecord = true
	header, err := rows.Read()
	if err != nil {
		return nil, unreadable(file, 1, err)
	}
	cols, err := match(file, header)
	if err != nil {
		return nil, err
	}
	var out []Point
	seen := map[string]int{}
	for {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, unreadable(file, len(out)+2, err)
		}
		line, _ := rows.FieldPos(0)
		p := Point{File: file, Line: line}
		for i := range cols {
			if why := cols[i].read(&p, cells[i]); why != nil {
				return nil, &Error{file, line, cols[i].name, why.Error()}
			}
		}
		if field, why := p.check(); why != "" {
			return nil, &Error{file, line, field, why}
		}
		if first, twice := seen[p.ID]; twice {
			return nil, &Error{file, line, "id", fmt.Sprintf("%q is in line %d already: need each once", p.ID, first)}
		}
		seen[p.ID] = line
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, &Error{file, 1, "", "no rows behind the header: need at least one"}
	}
	return out, nil
}

func (c *column) read(p *Point, cell string) error {
	if !utf8.ValidString(cell) {
		return errors.New("not valid UTF-8")
	}
	return c.set(p, strings.TrimSpace(cell))
}

func unreadable(file string, line int, err error) error {
	if errors.Is(err, io.EOF) {
		return &Error{file, 1, "", "the file is empty: need a header and at least one row"}
	}
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		why := p.Err.Error()
		if errors.Is(p.Err, csv.ErrFieldCount) {
			why = "another number of fields than the header"
		}
		return &Error{file, p.Line, "", why}
	}
	return fmt.Errorf("%s:%d: %w", file, line, err)
}

// match finds the columns of a header.
func match(file string, header []string) ([]column, error) {
	known := columns()
	var out []column
	seen := map[string]bool{}
	for i, name := range header {
		if i == 0 {
			name = strings.TrimPrefix(name, "\ufeff")
		}
		name = strings.TrimSpace(name)
		c := find(known, name)
		switch {
		case c == nil:
			return nil, &Error{file, 1, name, "no such column" + nearest(known, name)}
		case seen[name]:
			return nil, &Error{file, 1, name, "the column is there twice: need it once"}
		}
		seen[name] = true
		out = append(out, *c)
	}
	for i := range known {
		if known[i].required && !seen[known[i].name] {
			return nil, &Error{file, 1, known[i].name, "the column is missing"}
		}
	}
	return out, nil
}

func find(known []column, name string) *column {
	for i := range known {
		if known[i].name == name {
			return &known[i]
		}
	}
	return nil
}

// nearest hints at columns that begin like name.
func nearest(known []column, name string) string {
	stem, _, _ := strings.Cut(name, "_")
	var like []string
	for i := range known {
		if s, _, _ := strings.Cut(known[i].name, "_"); stem != "" && s == stem {
			like = append(like, known[i].name)
		}
	}
	if len(like) == 0 {
		return ": goodput profile validate --print-points shows a table to start from"
	}
	return ": use " + strings.Join(like, ", ") + " (times in ms, rates per second)"
}

// check names the first field that the kind of p needs and does not have, or that
// contradicts another one.
func (p *Point) check() (field, why string) {
	for _, f := range []struct{ name, value string }{
		{"id", p.ID},
		{"source", p.Source},
		{"url_or_repo_path", p.Address},
		{"license", p.License},
		{"gpu", p.GPU},
	} {
		if f.value == "" {
			return f.name, "is missing"
		}
	}
	if p.MetricName != "" || p.Metric > 0 || p.Unit != "" {
		if field, why = p.checkMetric(); why != "" {
			return field, why
		}
	}
	if p.Kind == Op {
		if p.Op == "" {
			return "op", "is missing: need the kernel"
		}
		if p.Step == 0 && p.Metric == 0 {
			return "step_time_ms", "is missing: need it, or a metric_value"
		}
		return "", ""
	}
	if field = p.lacking(); field != "" {
		return field, fmt.Sprintf("is missing: a row of kind %s needs it", p.Kind)
	}
	return p.contradiction()
}

func (p *Point) checkMetric() (field, why string) {
	unit := metricUnit(p.MetricName)
	switch {
	case unit == "":
		return "metric_name", fmt.Sprintf("%q is unknown: use benchmark_duration, throughput, tokens_per_second, bus_bandwidth, hbm_bandwidth, achieved_tflops or kv_blocks", p.MetricName)
	case p.Unit != unit:
		return "metric_unit", fmt.Sprintf("%q: %s needs %s", p.Unit, p.MetricName, unit)
	case p.Metric == 0:
		return "metric_value", "is missing beside its name"
	}
	return "", ""
}

// lacking is the first field that the kind needs; empty: all are there.
func (p *Point) lacking() string {
	type need struct {
		name string
		has  bool
	}
	needs := []need{
		{"tp", p.TP > 0},
		{"model_key", p.ModelKey != ""},
		{"dtype", p.DType != "" || p.Unfit},
		{"engine", p.Engine != ""},
	}
	switch {
	case p.Kind == KVBlocks:
		needs = append(needs, need{"metric_value", p.MetricName == "kv_blocks"})
	case p.Kind == StepDecode:
		needs = append(needs, need{"batch_or_concurrency", p.Batch > 0}, need{"context_len", p.ContextLen > 0}, need{"step_time_ms", p.Step > 0})
	case p.Kind == StepPrefill:
		needs = append(needs, need{"batch_or_concurrency", p.Batch > 0}, need{"prefill_tokens", p.PrefillTokens > 0}, need{"step_time_ms", p.Step > 0})
	default:
		needs = append(needs, need{"load_mode", p.Load != ""})
		if !p.Unfit {
			needs = append(needs, need{"batch_or_concurrency", p.Batch > 0 || p.RequestRate > 0},
				need{"input_len", p.InputLen > 0}, need{"output_len", p.OutputLen > 0})
		}
		needs = append(needs, need{"tpot_ms_mean", p.measured()})
	}
	for _, n := range needs {
		if !n.has {
			return n.name
		}
	}
	return ""
}

// measured: at least one figure is there.
func (p *Point) measured() bool {
	return p.Step > 0 || p.E2EMean > 0 || p.TTFT.Typical() > 0 || p.TPOT.Typical() > 0 || p.ITL.Typical() > 0 ||
		p.OutputTokS > 0 || p.TotalTokS > 0 || p.RequestS > 0 || p.Metric > 0
}

// contradiction finds figures that cannot be true together, which usually means
// that one is in another unit.
func (p *Point) contradiction() (field, why string) {
	const shortest = 0.5 // ms; no step of a whole model is shorter
	switch {
	case (p.Kind == StepDecode || p.Kind == StepPrefill) && p.Step < shortest:
		return "step_time_ms", fmt.Sprintf("%v is too short for a step of a whole model: need %v ms or more; is it in seconds?", p.Step, shortest)
	case p.TotalTokS > 0 && p.OutputTokS > p.TotalTokS*1.01:
		return "total_tok_s", fmt.Sprintf("%v is less than output_tok_s, %v: it counts prompt tokens too", p.TotalTokS, p.OutputTokS)
	case p.GPUs > 0 && p.TP > p.GPUs:
		return "tp", fmt.Sprintf("%d is more than num_gpus, %d", p.TP, p.GPUs)
	}
	if p.Load != ClosedLoop || p.Unfit {
		return "", ""
	}
	// A client gives one token per TPOT at most, so Batch clients Batch of them.
	if most := 1e3 * float64(p.Batch) / p.TPOT.Mean; p.TPOT.Mean > 0 && p.OutputTokS > 1.25*most {
		return "output_tok_s", fmt.Sprintf("%v is more than %d clients can get at a TPOT of %v ms, %.1f: are the units right?", p.OutputTokS, p.Batch, p.TPOT.Mean, most)
	}
	return "", ""
}
