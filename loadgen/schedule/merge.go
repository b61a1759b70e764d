package schedule

// Merge superposes sources: arrivals in order of time, those of one instant in the
// order of the sources. Arrival k of source i gets Class i+1, the next Seq, and
// offset[i] added to its Item. Each source must be at its start.
func Merge(sources []Source, offset []uint64) Source {
	m := &merged{sources: sources, offset: offset, next: make([]Arrival, len(sources)), more: make([]bool, len(sources))}
	for i, s := range sources {
		m.next[i], m.more[i] = s.Next()
	}
	return m
}

// merged picks from a handful of sources by looking at each.
type merged struct {
	sources []Source
	offset  []uint64
	next    []Arrival
	more    []bool
	seq     uint64
}

var _ Source = (*merged)(nil)

// String names the process.
func (m *merged) String() string { return "superposition" }

// Next returns the next arrival of all sources.
func (m *merged) Next() (Arrival, bool) {
	first := -1
	for i := range m.next {
		if m.more[i] && (first < 0 || m.next[i].At < m.next[first].At) {
			first = i
		}
	}
	if first < 0 {
		return Arrival{}, false
	}
	a := m.next[first]
	m.next[first], m.more[first] = m.sources[first].Next()
	a.Seq, a.Class, a.Item = m.seq, uint16(first+1), a.Item+m.offset[first]
	m.seq++
	return a, true
}
