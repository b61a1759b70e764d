package steptime

// Bill is a step's time by cause, in picoseconds.
type Bill struct {
	Matmul, KV, Attention, Elementwise, AllReduce, Head int64
	// Launch is per layer and step, Sequences per sequence.
	Launch, Sequences int64
	// Host is what the GPU waits for.
	Host int64
}

// Total is the duration of the step.
func (b *Bill) Total() int64 {
	return b.Matmul + b.KV + b.Attention + b.Elementwise + b.AllReduce + b.Head + b.Launch + b.Sequences + b.Host
}

// Bill breaks Step(b) down; its Total is exactly Step(b).
func (a *Analytic) Bill(b *Batch) Bill {
	bill := Bill{
		Matmul:      a.matmul(b.Tokens),
		KV:          a.context(b),
		Attention:   a.pairs(b) + a.nearby(b.Tokens),
		Elementwise: a.elementwise(b.Tokens),
		AllReduce:   a.allReduce(b.Tokens),
		Head:        a.outputHead(b.Emit),
		Launch:      a.launch(),
		Sequences:   a.gpuSeq * int64(b.Seqs),
	}
	bill.Host = a.exposed(bill.Total()-bill.KV, b.Seqs)
	return bill
}
