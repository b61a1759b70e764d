package steptime

// Bill is a step's time by cause, in picoseconds.
type Bill struct {
	Matmul, KV, Attention, Elementwise, AllReduce, Head, Launch int64
	// Step and Sequences are the host's.
	Step, Sequences int64
}

// Total is the duration of the step.
func (b *Bill) Total() int64 {
	return b.Matmul + b.KV + b.Attention + b.Elementwise + b.AllReduce + b.Head + b.Launch + b.Step + b.Sequences
}

// Bill breaks Step(b) down; its Total is exactly Step(b).
func (a *Analytic) Bill(b *Batch) Bill {
	return Bill{
		Matmul:      a.matmul(b.Tokens),
		KV:          a.context(b),
		Attention:   a.pairs(b) + a.nearby(b.Tokens),
		Elementwise: a.elementwise(b.Tokens),
		AllReduce:   a.allReduce(b.Tokens),
		Head:        a.outputHead(b.Emit),
		Launch:      a.launch(),
		Step:        a.host(),
		Sequences:   a.seq * int64(b.Seqs),
	}
}
