package trace

import (
	"math"

	"goodput/datasets"
)

// mooncakeRow is one line of a Mooncake trace. It is reused from line to line.
type mooncakeRow struct {
	// What the dialect fixes: the tokens of a block, the ns of a unit of time, and
	// whether there can be a fraction of it.
	block, unit int64
	fractions   bool

	timestamp, in, out int64 // timestamp in ns
	ids                []int64
}

// mooncakeFields are the keys of a row; all of them must be there.
var mooncakeFields = [...]string{"timestamp", "input_length", "output_length", "hash_ids"}

// onlyFields ends the message about a key that is none of them.
const onlyFields = "expected timestamp, input_length, output_length and hash_ids only"

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
			return l.errorf(mooncakeFields[i], "found none, expected it in every row")
		}
	}
	if blocks := (m.in + m.block - 1) / m.block; int64(len(m.ids)) != blocks {
		return l.errorf("hash_ids", "found %d ids, expected %d, one for each block of %d tokens of an input_length of %d",
			len(m.ids), blocks, m.block, m.in)
	}
	return nil
}

// parseField reads a key and its value, and marks the key as seen.
func (m *mooncakeRow) parseField(l *lines, s *jsonScanner, seen *[len(mooncakeFields)]bool) error {
	key, ok := s.key()
	if !ok {
		return l.errorf("row", "found %s, expected a key in quotes and a colon", s.found())
	}
	for i, name := range mooncakeFields {
		if string(key) != name {
			continue
		}
		if seen[i] {
			return l.errorf(name, "found it twice, expected it once")
		}
		seen[i] = true
	}
	var err error
	switch string(key) {
	case "timestamp":
		err = m.parseTime(l, s)
	case "input_length":
		m.in, err = parseInt(l, s, "input_length", 1, datasets.MaxTokens)
	case "output_length":
		m.out, err = parseInt(l, s, "output_length", 1, datasets.MaxTokens)
	case "hash_ids":
		err = m.parseIDs(l, s)
	case "session_id", "delay":
		err = l.errorf(string(key), "found a row of the dialect with sessions, where input_length counts only new tokens, "+onlyFields)
	default:
		err = l.errorf("row", "found field %s, "+onlyFields, quote(key))
	}
	return err
}

func (m *mooncakeRow) parseTime(l *lines, s *jsonScanner) error {
	if !m.fractions {
		units, err := parseInt(l, s, "timestamp", 0, math.MaxInt64/m.unit)
		m.timestamp = units * m.unit
		return err
	}
	before := *s
	raw, ok := s.number()
	if ok {
		m.timestamp, ok = parseDecimal(raw, m.unit)
	}
	if !ok || m.timestamp < 0 {
		return l.errorf("timestamp", "found %s, expected a number of seconds that is not negative", before.found())
	}
	return nil
}

func (m *mooncakeRow) parseIDs(l *lines, s *jsonScanner) error {
	m.ids = m.ids[:0]
	if !s.accept('[') {
		return l.errorf("hash_ids", "found %s, expected an array of whole numbers", s.found())
	}
	for more := !s.accept(']'); more; {
		id, err := parseInt(l, s, "hash_ids", 0, math.MaxInt64)
		if err != nil {
			return err
		}
		m.ids = append(m.ids, id)
		if more = s.accept(','); !more && !s.accept(']') {
			return l.errorf("hash_ids", "found %s, expected a comma or the end of the array", s.found())
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
