package router

// edf is Envoy's scheduler by earliest deadline: the entry with the earliest deadline
// is taken, and gets the deadline now + 1/weight, with the weight of that moment.
// Entries of equal deadlines are taken in the order in which they were put in.
type edf struct {
	now     float64
	entries []deadline
	order   uint64
}

type deadline struct {
	at    float64
	order uint64
	id    int
}

// sync makes the entries those of up: new ones start one turn behind now.
func (e *edf) sync(up []Load, weight func(id int) float64) {
	kept := e.entries[:0]
	for _, d := range e.entries {
		if indexOf(up, d.id) >= 0 {
			kept = append(kept, d)
		}
	}
	e.entries = kept
	if len(kept) == len(up) {
		return
	}
	for i := range up {
		if !e.has(up[i].ID) {
			e.put(up[i].ID, weight(up[i].ID))
		}
	}
}

func (e *edf) has(id int) bool {
	for _, d := range e.entries {
		if d.id == id {
			return true
		}
	}
	return false
}

func (e *edf) put(id int, weight float64) {
	e.order++
	e.entries = append(e.entries, deadline{e.now + 1/weight, e.order, id})
}

// next takes the entry with the earliest deadline. weight is asked for the entry's
// next turn.
func (e *edf) next(weight func(id int) float64) (id int) {
	first := 0
	for i, d := range e.entries {
		if f := e.entries[first]; d.at < f.at || d.at == f.at && d.order < f.order {
			first = i
		}
	}
	d := e.entries[first]
	e.now = d.at
	e.order++
	e.entries[first] = deadline{e.now + 1/weight(d.id), e.order, d.id}
	return d.id
}
