package trace

import (
	"encoding/json"
	"io"
)

// ragPulse reads the JSONL of the RAGPulse trace. Its ids name the components of a
// prompt, whose lengths are in other files, so that prompts share nothing here. The
// published file has a blank line, and is not in order of time.
type ragPulse struct {
	l     *lines
	blank int
}

func newRAGPulse(r io.Reader, path string, _ Options) (source, error) {
	return &ragPulse{l: newLines(r, path)}, nil
}

func (*ragPulse) traits() Traits { return Traits{Timed: true, Recorded: true} }

func (p *ragPulse) dropped() (int, string) { return p.blank, "blank lines" }

// ragRow is a line of the trace.
type ragRow struct {
	Timestamp *string            `json:"timestamp"`
	In        *int               `json:"input_length"`
	Out       *int               `json:"output_length"`
	IDs       map[string][]int64 `json:"hash_ids"`
	Session   *string            `json:"session_id"`
}

func (p *ragPulse) next(r *Row) error {
	line, err := p.l.next()
	for ; err == nil && blank(line); line, err = p.l.next() {
		p.blank++
	}
	if err != nil {
		return err
	}
	var row ragRow
	if err := p.l.object(line, &row); err != nil {
		return err
	}
	if err := p.l.lengths(row.In, row.Out, "input_length", "output_length"); err != nil {
		return err
	}
	if row.Timestamp == nil || row.IDs == nil || row.Session == nil {
		return p.l.errorf("row", "found %s, expected timestamp, hash_ids and session_id in every row", quote(line))
	}
	r.alone()
	r.Line, r.In, r.Out, r.Session = p.l.n, *row.In, *row.Out, *row.Session
	var ok bool
	if r.At, ok = parseDecimal([]byte(*row.Timestamp), 1e9); !ok || r.At < 0 {
		return p.l.errorf("timestamp", "found %s, expected a number of seconds in quotes", quote(json.RawMessage(*row.Timestamp)))
	}
	return nil
}
