package record

import (
	"errors"
	"iter"
	"maps"
	"slices"

	"goodput/loadgen/clock"
)

// copy writes what the parts hold.
func (m *Merge) copy(w *Writer, out *Merged) error {
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if err := w.WriteFile(name, m.Files[name]); err != nil {
			return err
		}
	}
	// Rows as they were written: what spans tell of them is found anew by each reader.
	rows := each(m.Parts, func(r *Run, f func(*Request) error) error {
		all := make([]bool, len(r.cols))
		for i, c := range r.cols {
			all[i] = c.needs == nil
		}
		for _, p := range r.parts {
			if err := r.readPart(p, all, f); err != nil {
				return err
			}
		}
		return nil
	})
	err := inOrder(rows, (*Request).ended, func(_ int, q *Request) error {
		w.Write(q)
		out.Rows++
		return w.Err()
	})
	if err == nil {
		err = m.copySessions(out)
	}
	if err == nil {
		err = m.copySpans(out)
	}
	if err == nil {
		err = m.copySamples(out)
	}
	return err
}

func (m *Merge) copySessions(out *Merged) error {
	found := false
	for _, r := range m.Parts {
		parts, err := listSessions(r.Dir)
		if err != nil {
			return err
		}
		found = found || len(parts) > 0
	}
	if !found {
		return nil
	}
	l, err := NewSessionLog(m.Dir, true, nil)
	if err != nil {
		return err
	}
	sessions := each(m.Parts, func(r *Run, f func(*Session) error) error {
		_, err := r.Sessions(f)
		return err
	})
	err = inOrder(sessions, func(s *Session) clock.Time { return s.Ended }, func(_ int, s *Session) error {
		l.Write(s)
		out.Sessions++
		return nil
	})
	_, e := l.Close()
	return errors.Join(err, e)
}

// copySpans copies the spans of all parts, in the order of these.
func (m *Merge) copySpans(out *Merged) (err error) {
	d, err := spanFiles().open(m.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	n := 0
	var held []Span
	flush := func() error {
		if len(held) == 0 {
			return nil
		}
		n++
		err := writeRows(spanFiles(), d, n, held, (*Span).row)
		held = held[:0]
		return err
	}
	for _, r := range m.Parts {
		if _, err := r.Spans(func(s *Span) error {
			out.Spans++
			if held = append(held, *s); len(held) < spanSegment {
				return nil
			}
			return flush()
		}); err != nil {
			return err
		}
	}
	return flush()
}

// copySamples copies what engines said of themselves. Two parts that asked one replica
// would make its counters go back and forth, so that the first part's samples stand.
func (m *Merge) copySamples(out *Merged) error {
	type source struct {
		replica string
		role    SampleRole
		source  SampleSource
	}
	key := func(s *EngineSample) source { return source{s.Replica, s.Role, s.Source} }
	owner := map[source]int{}
	for i, r := range m.Parts {
		if _, err := r.Engines(func(s *EngineSample) error {
			if _, ok := owner[key(s)]; !ok {
				owner[key(s)] = i
			}
			return nil
		}); err != nil {
			return err
		}
	}
	samples := each(m.Parts, func(r *Run, f func(*EngineSample) error) error {
		_, err := r.Engines(f)
		return err
	})
	l := NewEngineLog(m.Dir, true)
	err := inOrder(samples, func(s *EngineSample) clock.Time { return s.At }, func(i int, s *EngineSample) error {
		if owner[key(s)] != i {
			out.sampledTwice++
			return nil
		}
		l.Write(s)
		out.Samples++
		return nil
	})
	_, e := l.Close()
	return errors.Join(err, e)
}

// errEnough ends a reading whose rest nobody wants.
var errEnough = errors.New("enough")

// each turns a reading of each part by callback into a sequence. A value is valid until
// the next one is asked for.
func each[T any](parts []*Run, read func(*Run, func(*T) error) error) []iter.Seq2[*T, error] {
	var out []iter.Seq2[*T, error]
	for _, r := range parts {
		out = append(out, func(yield func(*T, error) bool) {
			err := read(r, func(v *T) error {
				if !yield(v, nil) {
					return errEnough
				}
				return nil
			})
			if err != nil && !errors.Is(err, errEnough) {
				yield(nil, err)
			}
		})
	}
	return out
}

// inOrder calls take for the values of all sequences in order of time, as far as each of
// them is, and those of one instant in the order of the sequences.
func inOrder[T any](from []iter.Seq2[*T, error], at func(*T) clock.Time, take func(i int, v *T) error) error {
	type head struct {
		v    *T
		next func() (*T, error, bool)
	}
	heads := make([]head, len(from))
	advance := func(h *head) (err error) {
		v, err, ok := h.next()
		if h.v = v; !ok {
			h.v = nil
		}
		return err
	}
	for i, s := range from {
		next, stop := iter.Pull2(s)
		defer stop()
		heads[i].next = next
		if err := advance(&heads[i]); err != nil {
			return err
		}
	}
	for {
		first := -1
		for i := range heads {
			if v := heads[i].v; v != nil && (first < 0 || at(v) < at(heads[first].v)) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		if err := take(first, heads[first].v); err != nil {
			return err
		}
		if err := advance(&heads[first]); err != nil {
			return err
		}
	}
}
