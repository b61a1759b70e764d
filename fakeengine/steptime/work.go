package steptime

// Work is what one of the GPUs computes and reads in a step, whatever time it takes:
// the two numbers of a roofline. What Batch does not tell, such as contexts shorter
// than a sliding window, is left out, and so is what is written.
type Work struct {
	// Matrices is the arithmetic of the layers' matrix products and Rest that of
	// attention and the output head, in FLOP. They have different peak rates if the
	// weights are FP8.
	Matrices, Rest float64
	// Read is the bytes of weights and KV cache.
	Read float64
}

// FLOPs is all arithmetic.
func (w Work) FLOPs() float64 { return w.Matrices + w.Rest }

// Work computes what b takes.
func (a *Analytic) Work(b *Batch) Work {
	m, layers, tp := &a.model, float64(a.model.Layers), float64(a.tp)
	w := Work{
		Matrices: layers * 2 * float64(m.ActiveLayerWeights()) / tp * float64(b.Tokens),
		Rest: 2*float64(m.HeadWeights())/tp*float64(b.Emit) +
			a.pairFLOPs(m.FullLayers())*(float64(b.PrefillPairs2)/2+float64(b.DecodeCtx)),
		Read: layers*m.LayerBytes(b.Tokens)/tp + float64(m.KVBytesPerToken(a.tp))*float64(b.DecodeCtx+b.PrefillHist),
	}
	if b.Emit > 0 {
		w.Read += m.HeadBytes() / tp
	}
	return w
}
