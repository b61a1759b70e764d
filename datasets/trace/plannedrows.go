package trace

import "goodput/datasets"

// plannedRows is what a table knows of planned rows beside their lengths, keys and
// threads: one entry per row, and one mark per span.
type plannedRows struct {
	outKeys       []uint64
	reasoning     []int32
	prefixes      []uint64
	conversations []uint64
	turns         []uint16
	marks         []mark
	last          uint64 // the largest conversation
}

// mark is what a planned span has beside its key and length.
type mark struct {
	role    datasets.Role
	calls   uint8
	private bool
}

func (p *plannedRows) add(r *Row) {
	p.outKeys = append(p.outKeys, r.OutKey)
	p.reasoning = append(p.reasoning, int32(r.Reasoning))
	p.prefixes = append(p.prefixes, r.Prefix)
	p.conversations = append(p.conversations, r.Conversation)
	p.turns = append(p.turns, r.Turn)
	p.last = max(p.last, r.Conversation)
	for _, s := range r.Append {
		p.marks = append(p.marks, mark{s.Role, s.Calls, s.Private})
	}
}

// place fills in the group and the conversation of row i, which has no session.
func (p *plannedRows) place(i int, dst *datasets.Item) {
	dst.Prefix, dst.Session, dst.Turn = p.prefixes[i], p.conversations[i], p.turns[i]
}

// span fills in what span j has beside its key and length.
func (p *plannedRows) span(j int, s *datasets.Span) {
	m := p.marks[j]
	s.Role, s.Calls, s.Private = m.role, m.calls, m.private
}

// reorder moves row order[i] to place i; span tells the spans of a row before.
func (p *plannedRows) reorder(order []int, span func(i int) (begin, end int)) {
	marks := make([]mark, 0, len(p.marks))
	for _, from := range order {
		begin, end := span(from)
		marks = append(marks, p.marks[begin:end]...)
	}
	p.marks = marks
	p.outKeys, p.reasoning = permuted(p.outKeys, order), permuted(p.reasoning, order)
	p.prefixes, p.conversations, p.turns = permuted(p.prefixes, order), permuted(p.conversations, order), permuted(p.turns, order)
}
