package trace

import (
	"fmt"
	"math"

	"goodput/datasets"
)

// mooncakeRow is one line of a Mooncake trace. It is reused from line to line.
type mooncakeRow struct {
	// What the dialect fixes: the tokens of a block, the ns of a unit of time, and
	// whether there can be a fraction of it.
	block, unit int64
	fractions   bool
	// names are what the fields are called, in the order of mooncakeFields.
	names [len(mooncakeFields)]string

	timestamp, in, out int64 // timestamp in ns
	ids                []int64
}

// mooncakeFields are the keys of a row; all of them must be there.
var mooncakeFields = [...]string{"timestamp", "input_length", "output_length", "hash_ids"}

// parse fills the row from a line and checks all of it.
func (m *mooncakeRow) parse(l *lines, line []byte) error {
	s := jsonScanner{rest: line}
	if !s.accept('{') {
		return l.errorf("row", "found %s, expected a JSON object", s.found())
	}
	var seen [len(mooncakeFields)]bool
	for more := !s.accept('}'); more; {
		if err := m.parseField(l, &s, &seen); err != nil {
			return err
		}
		if more = s.accept(','); !more && !s.accept('}') {
			return l.errorf("row", "found %s, expected a comma or the end of the object", s.found())
		}
	}
	if !s.end() {
		return l.errorf("row", "found %s after the object, expected one object per line", s.found())
	}
	for i, ok := range seen {
		if !ok {
			return l.errorf(m.names[i], "found none, expected it in every row")
		}
	}
	if blocks := (m.in + m.block - 1) / m.block; int64(len(m.ids)) != blocks {
		return l.errorf(m.names[3], "found %d ids, expected %d, one for each block of %d tokens of an %s of %d",
			len(m.ids), blocks, m.block, m.names[1], m.in)
	}
	return nil
}

// parseField reads a key and its value, and marks the key as seen.
func (m *mooncakeRow) parseField(l *lines, s *jsonScanner, seen *[len(mooncakeFields)]bool) error {
	key, ok := s.key()
	if !ok {
		return l.errorf("row", "found %s, expected a key in quotes and a colon", s.found())
	}
	field := -1
	for i, name := range m.names {
		if string(key) != name {
			continue
		}
		if field = i; seen[i] {
			return l.errorf(name, "found it twice, expected it once")
		}
		seen[i] = true
	}
	var err error
	switch field {
	case 0:
		err = m.parseTime(l, s)
	case 1:
		m.in, err = parseInt(l, s, m.names[1], 1, datasets.MaxTokens)
	case 2:
		m.out, err = parseInt(l, s, m.names[2], 1, datasets.MaxTokens)
	case 3:
		err = m.parseIDs(l, s)
	default:
		only := fmt.Sprintf("expected %s, %s, %s and %s only", m.names[0], m.names[1], m.names[2], m.names[3])
		if name := string(key); name == "session_id" || name == "delay" {
			return l.errorf(name, "found a row of the dialect with sessions, where %s counts only new tokens, %s", m.names[1], only)
		}
		err = l.errorf("row", "found field %s, %s", quote(key), only)
	}
	return err
}

func (m *mooncakeRow) parseTime(l *lines, s *jsonScanner) error {
	if !m.fractions {
		units, err := parseInt(l, s, m.names[0], 0, math.MaxInt64/m.unit)
		m.timestamp = units * m.unit
		return err
	}
	before := *s
	raw, ok := s.number()
	if ok {
		m.timestamp, ok = parseDecimal(raw, m.unit)
	}
	if !ok || m.timestamp < 0 {
		return l.errorf(m.names[0], "found %s, expected a number of seconds that is not negative", before.found())
	}
	return nil
}

func (m *mooncakeRow) parseIDs(l *lines, s *jsonScanner) error {
	m.ids = m.ids[:0]
	if !s.accept('[') {
		return l.errorf(m.names[3], "found %s, expected an array of whole numbers", s.found())
	}
	for more := !s.accept(']'); more; {
		id, err := parseInt(l, s, m.names[3], 0, math.MaxInt64)
		if err != nil {
			return err
		}
		m.ids = append(m.ids, id)
		if more = s.accept(','); !more && !s.accept(']') {
			return l.errorf(m.names[3], "found %s, expected a comma or the end of the array", s.found())
		}
	}
	return nil
}

// parseInt reads a whole number within low..high.
func parseInt(l *lines, s *jsonScanner, field string, low, high int64) (int64, error) {
	before := *s
	if v, ok := s.int(); ok && low <= v && v <= high {
		return v, nil
	}
	return 0, l.errorf(field, "found %s, expected a whole number from %d to %d", before.found(), low, high)
}
